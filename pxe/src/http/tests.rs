//! The listener as clients meet it, over sockets.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::*;
use crate::client::ClientIdentity;
use crate::config::{LoopLimits, Ramdisk, Subnet};
use crate::directory::{BootTarget, DirectoryError, HostDirectory, Lease};
use crate::identity::BootId;
use crate::overlay::{BootFiles, Overlay, OverlayFile};
use crate::pe::tests::image;
use crate::trace::{Answer, Exchange, Observer};

#[path = "tests_abuse.rs"]
mod abuse;
#[path = "tests_boot.rs"]
mod boots;
#[cfg(feature = "firmware-tls")]
#[path = "tests_tls.rs"]
mod encrypted;

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Longer than any option of DHCP.
fn live() -> String {
    format!("https://10.77.0.9/{}/live.iso", "a".repeat(300))
}

fn boot(id: u128, file: &str) -> String {
    format!("/b/{}/{file}", BootId(id))
}

/// Boots by their ids: 7 is this machine's, 8 another's, 9 spent, 10 has no files, 11 fails, 12 is by media, 13 and 14
/// have scripts of their own (13's is wrong), 15 and 16 have no lease, 17 and 18 are live systems, 18 another machine's.
#[derive(Default)]
struct Boots {
    told: Mutex<Vec<Exchange>>,
    loops: Mutex<Vec<(BootId, u32)>>,
    /// Starts of any boot.
    started: Mutex<u32>,
    /// How often it cannot be told of a loop.
    deaf: Mutex<u32>,
}

#[async_trait::async_trait]
impl HostDirectory for Boots {
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
        let mine = Overlay { files: vec![file], addresses: vec![HERE.into()], ..Overlay::default() };
        Ok(BootFiles::Ready(match boot_id.0 {
            7 => mine,
            8 => Overlay { addresses: vec![[10, 77, 0, 9].into()], ..mine },
            9 => return Ok(BootFiles::Spent),
            10 => Overlay::default(),
            11 => return Err(DirectoryError::new("the API is away")),
            12 => Overlay { media: true, addresses: vec![[10, 77, 0, 9].into()], ..mine },
            13 => Overlay { script: Some("ftp:// bad".into()), ..mine },
            14 => Overlay { script: Some("#!ipxe\necho {{ kernel }}\n".into()), kernel_args: "a=1".into(), ..mine },
            15 | 16 => Overlay { addresses: vec![], ..mine },
            17 => return Ok(BootFiles::Live { url: live(), addresses: vec![HERE.into()] }),
            18 => return Ok(BootFiles::Live { url: live(), addresses: vec![[10, 77, 0, 9].into()] }),
            _ => return Ok(BootFiles::Unknown),
        }))
    }

    async fn started(&self, _: &BootId) -> Result<Option<u32>, DirectoryError> {
        let mut started = self.started.lock().unwrap();
        *started += 1;
        Ok(Some(*started))
    }

    async fn looping(&self, boot_id: &BootId, starts: u32) -> Result<(), DirectoryError> {
        let mut deaf = self.deaf.lock().unwrap();
        if let Some(left) = deaf.checked_sub(1) {
            *deaf = left;
            return Err(DirectoryError::new("conflict"));
        }
        self.loops.lock().unwrap().push((*boot_id, starts));
        Ok(())
    }

    fn observed(&self, exchange: &Exchange) {
        self.told.lock().unwrap().push(exchange.clone());
    }
}

struct Server {
    at: SocketAddr,
    directory: Arc<Boots>,
    bindings: Arc<crate::binding::Bindings>,
    _stop: DropGuard,
}

#[derive(Default)]
struct Settings {
    limits: Option<HttpLimits>,
    loops: LoopLimits,
    images_dir: Option<PathBuf>,
    iso: Option<PathBuf>,
    has_arm64: bool,
}

fn system(suffix: &str) -> Result<System, crate::script::InvalidValue> {
    let file = |name: &str| Bytes::from(format!("{name}{suffix}"));
    let (kernel, initrd) = (file("kernel"), file("ramdisk"));
    System::new(&Ramdisk { kernel, initrd, kernel_args: "quiet".into() })
}

fn serve(settings: Settings) -> Server {
    serve_by(Speech::Plain, settings)
}

fn serve_by(speech: Speech, settings: Settings) -> Server {
    let directory = Arc::<Boots>::default();
    let sections: [(&str, &[u8]); 2] = [(".linux", b"k"), (".initrd", b"ramdisk")];
    let uki = Bytes::from(image(crate::pe::MACHINE_X64, crate::pe::EFI_APPLICATION, &sections));
    let site = Site {
        scripts: Scripts::new().unwrap(),
        programs: BTreeMap::from([(paths::IPXE_EFI, Tagged::from(Bytes::from("an iPXE")))]),
        boots: super::Boots {
            x64: system("").unwrap(),
            arm64: settings.has_arm64.then(|| system("-arm64").unwrap()),
            uki_tag: Tagged::from(uki.clone()).tag(),
            uki: Some(Uki::parse(uki).unwrap()),
            iso: settings.iso.map(|path| Iso::open(&path).unwrap()),
            breaker: Breaker::new(settings.loops),
        },
        images_dir: settings.images_dir,
        observer: Observer::new(directory.clone(), &Config::default()),
    };
    let bindings = site.observer.bindings.clone();
    let socket = bind((HERE, 0).into()).unwrap();
    let at = socket.local_addr().unwrap();
    let cancel = CancellationToken::new();
    let listener = Listener { socket, interface: "lo".into(), speech };
    let shared = Shared::new(site, settings.limits.unwrap_or_default());
    tokio::spawn(listener.run(shared, cancel.clone()));
    Server { at, directory, bindings, _stop: cancel.drop_guard() }
}

#[derive(Debug, PartialEq)]
struct Reply {
    status: u16,
    fields: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Reply {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }
}

/// A client that keeps its connection.
struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Client {
    async fn connect(server: &Server) -> Self {
        Self { stream: TcpStream::connect(server.at).await.unwrap(), unread: Vec::new() }
    }

    async fn send(&mut self, octets: &[u8]) {
        self.stream.write_all(octets).await.unwrap();
    }

    /// One answer; as long as it says unless it is HEAD's.
    async fn reply(&mut self, is_head: bool) -> Reply {
        let end = loop {
            if let Some(end) = self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            assert_ne!(self.stream.read_buf(&mut self.unread).await.unwrap(), 0, "closed before an answer");
        };
        let head = String::from_utf8(self.unread.drain(..end).collect()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
        let fields: BTreeMap<_, _> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let len = if is_head { 0 } else { fields["content-length"].parse().unwrap() };
        while self.unread.len() < len {
            assert_ne!(self.stream.read_buf(&mut self.unread).await.unwrap(), 0, "a short answer");
        }
        Reply { status, fields, body: self.unread.drain(..len).collect() }
    }

    async fn ask(&mut self, method: &str, target: &str, fields: &str) -> Reply {
        self.send(format!("{method} {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n").as_bytes()).await;
        self.reply(method == "HEAD").await
    }

    async fn get(&mut self, target: &str) -> Reply {
        self.ask("GET", target, "").await
    }

    /// True if the server closes it without another octet.
    async fn closes(mut self) -> bool {
        let read = tokio::time::timeout(Duration::from_secs(5), self.stream.read_buf(&mut self.unread)).await;
        self.unread.is_empty() && matches!(read, Ok(Ok(0) | Err(_)))
    }
}

#[tokio::test]
async fn one_connection_serves_many_requests_even_sent_at_once() {
    let server = serve(Settings::default());
    let mut client = Client::connect(&server).await;
    client.send(b"GET /ipxe.efi HTTP/1.1\r\n\r\nHEAD /ipxe.efi HTTP/1.1\r\n\r\nGET /local.ipxe HTTP/1.1\r\n\r\n").await;
    let (get, head, script) = (client.reply(false).await, client.reply(true).await, client.reply(false).await);
    assert_eq!((get.status, get.body.as_slice()), (200, &b"an iPXE"[..]));
    assert_eq!((get.field("content-type"), get.field("content-length")), (Some("application/efi"), Some("7")));
    assert_eq!((head.status, &head.fields), (200, &get.fields));
    assert!(script.body.starts_with(b"#!ipxe\n"));
    assert_eq!(client.get("/none").await.status, 404);
    assert_eq!(client.ask("GET", "/ipxe.efi", "Connection: close\r\n").await.status, 200);
    assert!(client.closes().await);
}

#[tokio::test]
async fn v_a_doubled_slash_is_no_redirect() {
    let server = serve(Settings::default());
    let mut client = Client::connect(&server).await;
    for target in ["//ipxe.efi", "/./ipxe.efi", "/ipxe.efi/", "/%69pxe.efi", "/ipxe.efi?x=1", "http://x:80//ipxe.efi"] {
        assert_eq!(client.get(target).await.body, b"an iPXE", "{target}");
    }
    for target in ["/../ipxe.efi", "/%2e%2e/ipxe.efi", "/b/..", "/x\\..\\ipxe.efi", "/ipxe.efi%00", "*", "/"] {
        assert_eq!(client.get(target).await.status, 404, "{target}");
    }
}

#[tokio::test]
async fn c162_colons_in_a_path_are_no_scheme() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("52:54:00:12:34:56"), "own").unwrap();
    let server = serve(Settings { images_dir: Some(folder.path().into()), ..Settings::default() });
    let mut client = Client::connect(&server).await;
    assert_eq!(client.get("/images/52:54:00:12:34:56").await.body, b"own");
    assert_eq!(client.get("/boot/52:54:00:12:34:56/boot.ipxe").await.status, 404);
    let told = server.directory.told.lock().unwrap();
    assert_eq!(told[1].asked, "GET /boot/52:54:00:12:34:56/boot.ipxe");
}

#[tokio::test]
async fn images_are_plain_files_of_one_directory() {
    let outer = tempfile::tempdir().unwrap();
    let images = outer.path().join("images");
    std::fs::create_dir_all(images.join("sub")).unwrap();
    std::fs::write(outer.path().join("secret"), "s").unwrap();
    let content: Vec<u8> = (0u32..700_000).flat_map(u32::to_le_bytes).collect();
    std::fs::write(images.join("debian.raw"), &content).unwrap();
    std::fs::write(images.join("empty"), "").unwrap();
    std::fs::write(images.join(".hidden"), "h").unwrap();
    std::process::Command::new("mkfifo").arg(images.join("pipe")).status().unwrap();
    let server = serve(Settings { images_dir: Some(images.clone()), ..Settings::default() });
    let mut client = Client::connect(&server).await;
    let whole = client.get("/images/debian.raw").await;
    assert_eq!((whole.status, whole.field("content-length"), whole.body == content), (200, Some("2800000"), true));
    let tag = whole.field("etag").unwrap().to_owned();
    let fields = format!("Range: bytes=1000000-2799999\r\nIf-Range: {tag}\r\n");
    let part = client.ask("GET", "/images/debian.raw", &fields).await;
    assert_eq!((part.status, part.body == content[1_000_000..]), (206, true));
    assert_eq!(part.field("content-range"), Some("bytes 1000000-2799999/2800000"));
    std::fs::write(images.join("debian.raw"), &content[..100]).unwrap();
    let other = client.ask("GET", "/images/debian.raw", &fields).await;
    assert_eq!((other.status, other.body == content[..100]), (200, true), "If-Range of the file before");
    assert_eq!(client.get("/images/empty").await.field("content-length"), Some("0"));
    for target in [
        "/images/",
        "/images/none",
        "/images/sub",
        "/images/.hidden",
        "/images/..%2fsecret",
        "/images/../secret",
        "/images/%2e%2e%2fsecret",
        "/images/x%00",
        "/images/..",
        "/images/pipe",
    ] {
        assert_eq!(client.get(target).await.status, 404, "{target}");
    }
}

/// C107: ranges of an ISO or image of gigabytes are sent from the file, not through memory.
#[tokio::test]
async fn c107_ranges_of_a_large_file_need_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let large = std::fs::File::create(folder.path().join("large.iso")).unwrap();
    large.set_len(5 << 30).unwrap();
    let server = serve(Settings { images_dir: Some(folder.path().into()), ..Settings::default() });
    for (range, status, length) in [
        ("bytes=0-", 206, 5_u64 << 30),
        ("bytes=-10", 206, 10),
        ("bytes=5-4", 200, 5 << 30),
        ("bytes=0-1,5-6", 200, 5 << 30),
        ("bytes=99999999999-", 416, 0),
        ("bytes=4294967296-4294967305", 206, 10),
    ] {
        let mut client = Client::connect(&server).await;
        let asked = format!("GET /images/large.iso HTTP/1.1\r\nRange: {range}\r\n\r\n");
        client.send(asked.as_bytes()).await;
        let reply = client.reply(true).await;
        assert_eq!((reply.status, reply.fields["content-length"].parse()), (status, Ok(length)), "{range}");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 512 * 1024, "{peak} kB at the peak");
}
