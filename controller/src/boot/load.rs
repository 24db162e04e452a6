//! From the configuration file to what the boot server takes: texts read, files fetched, interfaces looked up. All that
//! is wrong is said at once.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use bessemer_pxe::{
    BootServer, Config, FirmwareTls, Interface, InterfaceV6, Ipxe, Media, Mode, Pool, Prefix, Ramdisk, Reach, Route,
    Subnet, SubnetV6,
};
use bytes::Bytes;

use super::file::{BootFile, InterfaceFile, ModeFile, SubnetFile, SubnetV6File};
use super::interface;

/// How long an IPv6 address is valid unless told otherwise.
const VALID: Duration = Duration::from_secs(24 * 60 * 60);

/// What is in the way, each with its place in the file.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    fn keep<T>(&mut self, place: impl Display, result: Result<T, impl Display>) -> Option<T> {
        result.map_err(|error| self.0.push(format!("{place}: {error}"))).ok()
    }
}

impl Display for Problems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the boot server's configuration cannot be used:")?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for Problems {}

/// # Errors
/// Everything that is wrong with it.
pub(crate) async fn load(file: &BootFile) -> Result<Config, Problems> {
    let mut problems = Problems::default();
    let mut config = Config {
        http_port: file.http_port,
        images_dir: file.images_dir.clone(),
        media: Media { iso: file.iso.clone(), ..Media::default() },
        ..Config::default()
    };
    for wanted in &file.interfaces {
        config.interfaces.extend(load_interface(wanted, &mut problems).await);
    }
    for wanted in &file.subnets {
        config.subnets.extend(load_subnet(wanted, &mut problems));
    }
    for url in &file.controllers {
        let is_url = url.starts_with("https://") && url.len() > "https://".len();
        problems.keep("controllers", is_url.then_some(()).ok_or(format!("`{url}` is no https:// URL of a controller")));
    }
    if file.controllers.is_empty() {
        problems.0.push("controllers: none is named; agents need at least one, such as https://10.0.0.5:8444".into());
    }
    config.ramdisk = load_ramdisk("ramdisk", &file.ramdisk, file, &mut problems).await;
    if let Some(folder) = &file.arm64_ramdisk {
        config.media.arm64 = Some(load_ramdisk("arm64Ramdisk", folder, file, &mut problems).await);
    }
    if let Some(tls) = &file.tls {
        let certificate = read_text("tls.certificate", &tls.certificate, &mut problems).await;
        let key = read_text("tls.key", &tls.key, &mut problems).await;
        config.http.tls = Some(FirmwareTls { port: tls.port, certificate, key, ipxe: tls.ipxe });
    }
    config.ipxe = Ipxe {
        x64: read("ipxe.x64", &file.ipxe.x64, &mut problems).await,
        bios: read_if("ipxe.bios", file.ipxe.bios.as_deref(), &mut problems).await,
        arm64: read_if("ipxe.arm64", file.ipxe.arm64.as_deref(), &mut problems).await,
    };
    config.media.uki = read_if("uki", file.uki.as_deref(), &mut problems).await;
    let found = BootServer::check(&config).await;
    problems.0.extend(found.into_iter().map(|error| error.to_string()));
    if problems.0.is_empty() { Ok(config) } else { Err(problems) }
}

async fn load_interface(file: &InterfaceFile, problems: &mut Problems) -> Option<Interface> {
    let place = format!("interfaces: {}", file.name);
    let wanted = match &file.address {
        Some(address) => Some(problems.keep(&place, address.parse())?),
        None => None,
    };
    let found = problems.keep(&place, interface::address(&file.name, wanted).await)?;
    let subnets = file.subnets_v6.iter().filter_map(|subnet| load_subnet_v6(subnet, problems)).collect();
    Some(Interface {
        v6: InterfaceV6 {
            address: file.ipv6,
            answer_router_solicitations: file.router_advertisements,
            subnets,
            ..InterfaceV6::default()
        },
        ..Interface::new(&file.name, found.address)
    })
}

fn load_subnet(file: &SubnetFile, problems: &mut Problems) -> Option<Subnet> {
    let place = format!("subnets: {}", file.prefix);
    let prefix: Prefix = problems.keep(&place, file.prefix.parse())?;
    let reach = file.interface.clone().map_or(Reach::Relayed, Reach::OnLink);
    let mut subnet = Subnet {
        mode: match file.mode {
            ModeFile::Full => Mode::Full,
            ModeFile::Proxy => Mode::Proxy,
            ModeFile::Off => Mode::Off,
        },
        router: file.router,
        dns: file.dns.clone(),
        ntp: file.ntp.clone(),
        domain: file.domain.clone(),
        authoritative: file.authoritative,
        ..Subnet::new(prefix, reach)
    };
    if let Some(seconds) = file.lease_seconds {
        subnet.lease_time = Duration::from_secs(seconds);
    }
    if let Some(text) = &file.pool {
        let (first, last) = problems.keep(&place, range(text))?;
        subnet.pool = Some(problems.keep(&place, Pool::new(first, last))?);
    }
    if subnet.mode == Mode::Full && subnet.pool.is_none() {
        problems.0.push(format!("{place}: no pool of addresses is given; add `pool: FIRST-LAST`, or `mode: proxy` beside another DHCP server"));
        return None;
    }
    for route in &file.routes {
        subnet.routes.push(Route { to: problems.keep(&place, route.to.parse())?, via: route.via });
    }
    Some(subnet)
}

fn load_subnet_v6(file: &SubnetV6File, problems: &mut Problems) -> Option<SubnetV6> {
    let place = format!("subnetsV6: {}", file.prefix);
    let wrong = || format!("`{}` is no IPv6 network, such as fd77::/64", file.prefix);
    let parts = file.prefix.split_once('/').and_then(|(network, len)| Some((network.parse().ok()?, len.parse().ok()?)));
    let (network, prefix) = problems.keep(&place, parts.filter(|(_, len)| *len <= 128).ok_or_else(wrong))?;
    let pool = match &file.pool {
        Some(text) => Some(problems.keep(&place, range(text))?),
        None => None,
    };
    let valid = file.lease_seconds.map_or(VALID, Duration::from_secs);
    Some(SubnetV6 { network, prefix, pool, dns: file.dns.clone(), valid })
}

/// `FIRST-LAST`.
fn range<A: FromStr>(text: &str) -> Result<(A, A), String> {
    let wrong = || format!("`{text}` is no range of addresses, FIRST-LAST");
    let (first, last) = text.split_once('-').ok_or_else(wrong)?;
    let address = |text: &str| text.trim().parse::<A>().map_err(|_| wrong());
    Ok((address(first)?, address(last)?))
}

async fn load_ramdisk(what: &str, folder: &Path, file: &BootFile, problems: &mut Problems) -> Ramdisk {
    let kernel = read(what, &folder.join("vmlinuz"), problems).await;
    let initrd = read(what, &folder.join("initrd"), problems).await;
    Ramdisk { kernel, initrd, kernel_args: file.kernel_args.clone() }
}

async fn read_text(what: &str, path: &Path, problems: &mut Problems) -> String {
    let read =
        tokio::fs::read_to_string(path).await.map_err(|error| format!("cannot read {}: {error}", path.display()));
    problems.keep(what, read).unwrap_or_default()
}

async fn read_if(what: &str, path: Option<&Path>, problems: &mut Problems) -> Option<Bytes> {
    match path {
        Some(path) => Some(read(what, path, problems).await),
        None => None,
    }
}

async fn read(what: &str, path: &Path, problems: &mut Problems) -> Bytes {
    let read = tokio::fs::read(path).await.map_err(|error| format!("cannot read {}: {error}", path.display()));
    problems.keep(what, read).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<BootFile, String> {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_whole_file_becomes_a_configuration() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["vmlinuz", "initrd"] {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        let ipxe = "/usr/lib/ipxe/snponly.efi";
        if !Path::new(ipxe).exists() {
            println!("SKIP a_whole_file_becomes_a_configuration: no {ipxe}");
            return;
        }
        let text = format!(
            "interfaces:\n- name: lo\n  ipv6: fd77::1\n  subnetsV6: [{{prefix: 'fd77::/64', pool: 'fd77::10-fd77::ff'}}]\n\
             subnets:\n- {{prefix: 127.0.0.0/8, interface: lo, mode: proxy}}\n\
             - {{prefix: 10.78.0.0/24, pool: 10.78.0.9-10.78.0.20, router: 10.78.0.1, leaseSeconds: 600, routes: [{{to: 10.9.0.0/16, via: 10.78.0.2}}]}}\n\
             controllers: ['https://10.0.0.5:8444']\nramdisk: {}\n",
            dir.path().display()
        );
        let config = load(&parse(&text).unwrap()).await.unwrap();
        assert_eq!(config.interfaces.len(), 1);
        assert_eq!(
            config.interfaces[0].v6.subnets[0].pool,
            Some(("fd77::10".parse().unwrap(), "fd77::ff".parse().unwrap()))
        );
        let [beside, relayed] = &config.subnets[..] else { panic!("{:?}", config.subnets) };
        assert_eq!((beside.mode, &beside.reach), (Mode::Proxy, &Reach::OnLink("lo".into())));
        assert_eq!((relayed.mode, &relayed.reach, relayed.routes.len()), (Mode::Full, &Reach::Relayed, 1));
        assert_eq!(relayed.lease_time, Duration::from_secs(600));
        assert_eq!(config.http_port, 8080);
    }

    #[tokio::test]
    async fn all_that_is_wrong_is_said_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let page = dir.path().join("page");
        std::fs::write(&page, "<!DOCTYPE html>".repeat(5000)).unwrap();
        let text = format!(
            "interfaces:\n- name: bessemer-none\nsubnets:\n- {{prefix: 10.78.0.0/33}}\n- {{prefix: 10.79.0.0/24, pool: 10.79.0.9}}\n\
                    controllers: ['http://10.0.0.5']\nramdisk: /nonexistent\nipxe: {{x64: /nonexistent/ipxe.efi, bios: {page}}}\n\
                    uki: {page}\niso: {page}\ntls: {{port: 8443, certificate: {page}, key: {page}}}\n",
            page = page.display()
        );
        let said = load(&parse(&text).unwrap()).await.unwrap_err().to_string();
        for part in [
            "interfaces: bessemer-none: interface bessemer-none does not exist",
            "subnets: 10.78.0.0/33: `10.78.0.0/33` is no IPv4 network",
            "subnets: 10.79.0.0/24: `10.79.0.9` is no range",
            "controllers: `http://10.0.0.5` is no https:// URL",
            "ramdisk: cannot read /nonexistent/vmlinuz",
            "ipxe.x64: cannot read /nonexistent/ipxe.efi",
            "iPXE for BIOS is",
            "UKI",
            "ISO",
            "TLS",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    #[test]
    fn a_misspelt_key_is_refused() {
        let error = parse("interfaces: []\ncontrollers: []\nramdisk: x\nimageDir: /srv\n").unwrap_err();
        assert!(error.contains("imageDir"), "{error}");
    }
}
