use std::net::Ipv4Addr;

use axum::body::Body;
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::*;
use crate::client::ClientIdentity;
use crate::config::Subnet;
use crate::directory::{BootTarget, DirectoryError, HostDirectory, Lease};
use crate::overlay::OverlayFile;
use crate::script::Urls;

const HOST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 160);
const BOOT: &str = "00000000000000000000000000000007";

/// Knows boot 7 of one address; boot 8 makes it fail.
struct OneBoot;

#[async_trait::async_trait]
impl HostDirectory for OneBoot {
    async fn boot_target(&self, _: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        Ok(BootTarget::Nothing)
    }

    async fn lease(
        &self,
        _: &ClientIdentity,
        _: &Subnet,
        _: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        Ok(None)
    }

    async fn overlay(&self, boot_id: &BootId) -> Result<BootFiles, DirectoryError> {
        let file = OverlayFile { path: "token".into(), mode: 0o600, content: "secret".into() };
        match boot_id.0 {
            7 => Ok(BootFiles::Ready(Overlay { files: vec![file], addresses: vec![HOST.into()] })),
            8 => Err(DirectoryError::new("the API is away")),
            _ => Ok(BootFiles::Unknown),
        }
    }
}

fn site(images_dir: Option<PathBuf>) -> Router {
    router(Site {
        scripts: Scripts::new(Urls("10.77.0.1:8080".parse().unwrap()), "quiet".into()).unwrap(),
        ipxe_efi: "ipxe".into(),
        kernel: "kernel".into(),
        ramdisk: "ramdisk".into(),
        images_dir,
        observer: Observer::new(Arc::new(OneBoot)),
        interface: "br0".into(),
    })
}

struct Answer {
    status: u16,
    headers: axum::http::HeaderMap,
    body: Bytes,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

async fn ask_as(peer: Ipv4Addr, site: &Router, method: &str, path: &str, range: Option<&str>) -> Answer {
    let mut request = Request::builder().method(method).uri(path).extension(Peer((peer, 1).into()));
    if let Some(range) = range {
        request = request.header("range", range);
    }
    let response = site.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}

async fn get_as_host(site: &Router, path: &str) -> Answer {
    ask_as(HOST, site, "GET", path, None).await
}

#[tokio::test]
async fn all_that_dhcp_and_scripts_name_is_served() {
    let site = site(None);
    let urls = Urls("10.77.0.1:8080".parse().unwrap());
    let script_url = urls.ramdisk_script(BootId(7));
    let path = |url: &str| url.strip_prefix("http://10.77.0.1:8080").unwrap().to_owned();
    let script = get_as_host(&site, &path(&script_url)).await;
    let script_text = String::from_utf8(script.body.to_vec()).unwrap();
    let named = script_text.split_whitespace().filter(|word| word.starts_with("http://")).map(path);
    let mut all: Vec<_> = named.collect();
    assert_eq!(all.len(), 2);
    all.extend([urls.ipxe_efi(), urls.local_script(), urls.hold_script(), script_url].map(|url| path(&url)));
    for path in all {
        let get = get_as_host(&site, &path).await;
        let head = ask_as(HOST, &site, "HEAD", &path, None).await;
        assert_eq!((get.status, head.status), (200, 200), "{path}");
        assert_eq!(get.header("content-length"), Some(get.body.len().to_string().as_str()), "{path}");
        assert_eq!(head.header("content-length"), get.header("content-length"), "{path}");
        assert!(head.body.is_empty());
    }
    assert_eq!(get_as_host(&site, &path(&urls.absent())).await.status, 404);
}

#[tokio::test]
async fn the_initrd_is_the_ramdisk_padding_and_the_overlay() {
    let site = site(None);
    let path = format!("/b/{BOOT}/initrd");
    let whole = get_as_host(&site, &path).await.body;
    assert!(whole.starts_with(b"ramdisk\x00070701"), "{whole:?}");
    assert_eq!(whole, get_as_host(&site, &path).await.body);
    let part = ask_as(HOST, &site, "GET", &path, Some("bytes=5-12")).await;
    assert_eq!((part.status, part.body.as_ref()), (206, &whole[5..13]));
    assert_eq!(part.header("content-range"), Some(format!("bytes 5-12/{}", whole.len()).as_str()));
    let beyond = ask_as(HOST, &site, "GET", &path, Some("bytes=9999-")).await;
    assert_eq!((beyond.status, beyond.header("content-length")), (416, Some("0")));
}

#[tokio::test]
async fn what_is_not_this_hosts_is_not_found() {
    let site = site(None);
    for path in [
        "/".to_owned(),
        "/b/00000000000000000000000000000009/initrd".to_owned(),
        "/b/7/initrd".to_owned(),
        format!("/b/{BOOT}"),
        format!("/b/{BOOT}/"),
        format!("/b/{BOOT}/token"),
        format!("//b/{BOOT}/initrd"),
        format!("/b/{BOOT}/..%2finitrd"),
        "/images/x".to_owned(),
    ] {
        let answer = get_as_host(&site, &path).await;
        assert_eq!((answer.status, answer.body.as_ref()), (404, b"not found\n".as_slice()), "{path}");
    }
    for file in ["boot.ipxe", "kernel", "initrd"] {
        let path = format!("/b/{BOOT}/{file}");
        assert_eq!(ask_as(Ipv4Addr::new(10, 77, 0, 161), &site, "GET", &path, None).await.status, 404);
        assert_eq!(ask_as(HOST, &site, "POST", &path, None).await.status, 405);
    }
    let away = get_as_host(&site, "/b/00000000000000000000000000000008/kernel").await;
    assert_eq!((away.status, away.header("retry-after")), (503, Some("2")));
}

#[tokio::test]
async fn images_are_plain_files_of_one_directory() {
    let outer = tempfile::tempdir().unwrap();
    let images = outer.path().join("images");
    std::fs::create_dir_all(images.join("sub")).unwrap();
    std::fs::write(outer.path().join("secret"), "s").unwrap();
    let content: Vec<u8> = (0u32..700_000).flat_map(u32::to_le_bytes).collect();
    std::fs::write(images.join("debian.raw"), &content).unwrap();
    std::fs::write(images.join(".hidden"), "h").unwrap();
    let site = site(Some(images));
    let image = get_as_host(&site, "/images/debian.raw").await;
    assert_eq!((image.status, image.header("content-length")), (200, Some("2800000")));
    assert_eq!(image.body, content);
    let part = ask_as(HOST, &site, "GET", "/images/debian.raw", Some("bytes=1000000-2799999")).await;
    assert_eq!((part.status, part.body.as_ref()), (206, &content[1_000_000..]));
    let head = ask_as(HOST, &site, "HEAD", "/images/debian.raw", None).await;
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, Some("2800000"), 0));
    for path in [
        "/images/",
        "/images/none",
        "/images/sub",
        "/images/.hidden",
        "/images/..%2fsecret",
        "/images/../secret",
        "/images/%2e%2e%2fsecret",
        "/images/x%00",
        "/images/..",
        "/images/%2e%2e",
    ] {
        assert_eq!(get_as_host(&site, path).await.status, 404, "{path}");
    }
}
