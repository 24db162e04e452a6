//! Everything that can be known to be wrong before anything starts: all of it at once, each with its remedy.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use bessemer_pxe::Pool;
use bytes::Bytes;
use socket2::{Domain, Protocol, Socket, Type};

use super::lock::{self, StateLock};
use super::{Subnet, kubeconfig};
use crate::boot::interface;
use crate::cli::UpOptions;

/// UDP ports of the boot server, fixed by what firmware asks.
const DHCP: u16 = 67;
const TFTP: u16 = 69;

/// What was found.
pub(super) struct Ready {
    pub(super) lock: StateLock,
    /// What booting hosts needs, when that was asked for.
    pub(super) boot: Option<BootReady>,
}

/// What the boot server and the agents' endpoint need.
pub(super) struct BootReady {
    pub(super) interface: String,
    pub(super) subnet: Subnet,
    pub(super) pool: Pool,
    pub(super) kernel: Bytes,
    pub(super) ramdisk: Bytes,
    pub(super) ipxe: Bytes,
    /// iPXE for BIOS, where it lies beside the other.
    pub(super) bios: Option<Bytes>,
}

/// What is in the way.
#[derive(Debug)]
pub(super) struct Problems(Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot start:")?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for Problems {}

/// # Errors
/// Every problem found.
pub(super) async fn check(options: &UpOptions) -> Result<Ready, Problems> {
    let mut problems = Vec::new();
    let mut keep = |problem: String| problems.push(problem);

    let lock = lock::take(&options.state).map_err(|error| keep(error.to_string())).ok();
    let boot = match &options.interface {
        Some(interface) => boot(options, interface, &mut keep).await.map(Some),
        None => Some(None),
    };
    api_ports(options).into_iter().for_each(&mut keep);
    if let Some(Err(problem)) = options.kubeconfig.as_deref().map(kubeconfig::check) {
        keep(problem);
    }

    match (lock, boot) {
        (Some(lock), Some(boot)) if problems.is_empty() => Ok(Ready { lock, boot }),
        _ => Err(Problems(problems)),
    }
}

async fn boot(options: &UpOptions, interface: &str, keep: &mut impl FnMut(String)) -> Option<BootReady> {
    let subnet = interface::address(interface, options.address).await.map_err(|error| keep(error.to_string())).ok();
    let pool = subnet.and_then(|subnet| {
        let pool = options.pool.clone().or_else(|| subnet.default_pool());
        if pool.is_none() {
            keep(format!("no pool of addresses follows from {subnet}; give one with --pool FIRST-LAST"));
        }
        pool
    });
    let remedy = "build a ramdisk (`cargo xtask demo` does) and give its directory with --ramdisk";
    // The command line asks for a ramdisk together with an interface.
    let directory = options.ramdisk.clone().unwrap_or_default();
    let kernel = file(&directory.join("vmlinuz"), remedy).await.map_err(&mut *keep).ok();
    let ramdisk = file(&directory.join("initrd"), remedy).await.map_err(&mut *keep).ok();
    let remedy = "install iPXE (Debian's package ipxe) or give its path with --ipxe";
    let ipxe = file(&options.ipxe, remedy).await.map_err(&mut *keep).ok();
    if let Some(dir) = options.images_dir.as_ref().filter(|dir| !dir.is_dir()) {
        keep(format!("{} is no directory; make it or give another with --images-dir", dir.display()));
    }
    if let Some(iso) = options.iso.as_ref().filter(|iso| !iso.is_file()) {
        keep(format!("{} is no file; build an ISO (`cargo xtask image iso`) and give it with --iso", iso.display()));
    }
    if let Some(subnet) = subnet {
        boot_ports(options, interface, subnet).into_iter().for_each(&mut *keep);
    }
    Some(BootReady {
        interface: interface.to_owned(),
        subnet: subnet?,
        pool: pool?,
        kernel: kernel?,
        ramdisk: ramdisk?,
        ipxe: ipxe?,
        bios: tokio::fs::read(options.ipxe.with_file_name("undionly.kpxe")).await.ok().map(Bytes::from),
    })
}

async fn file(path: &Path, remedy: &str) -> Result<Bytes, String> {
    match tokio::fs::read(path).await {
        Ok(content) if content.is_empty() => Err(format!("{} is empty; {remedy}", path.display())),
        Ok(content) => Ok(content.into()),
        Err(error) => Err(format!("cannot read {}: {error}; {remedy}", path.display())),
    }
}

/// A port that was bound and let go again: an error here is one line, not a half-started program.
type Port = (&'static str, &'static str, SocketAddr, &'static str, io::Result<()>);

fn boot_ports(options: &UpOptions, interface: &str, subnet: Subnet) -> Vec<String> {
    let ours = |port| SocketAddr::from((subnet.address, port));
    let dhcp = SocketAddr::from((Ipv4Addr::UNSPECIFIED, DHCP));
    taken([
        ("DHCP", "UDP", dhcp, "", bind_udp(dhcp, Some(interface))),
        ("TFTP", "UDP", ours(TFTP), "", bind_udp(ours(TFTP), None)),
        (
            "boot files",
            "TCP",
            ours(options.http_port),
            " or choose another with --http-port",
            bind_tcp(ours(options.http_port)),
        ),
        (
            "agents",
            "TCP",
            ours(options.agent_port),
            " or choose another with --agent-port",
            bind_tcp(ours(options.agent_port)),
        ),
    ])
}

fn api_ports(options: &UpOptions) -> Vec<String> {
    let port = |what, address, choice| (what, "TCP", address, choice, bind_tcp(address));
    let api = port("the Kubernetes API", options.api, " or choose another with --api");
    let metrics = options.metrics.map(|address| port("metrics", address, " or choose another with --metrics"));
    taken(std::iter::once(api).chain(metrics))
}

/// The ports that cannot be had.
fn taken(ports: impl IntoIterator<Item = Port>) -> Vec<String> {
    let problem = |(what, protocol, address, choice, result): Port| {
        let error = result.err()?;
        let port = address.port();
        Some(match error.kind() {
            ErrorKind::AddrInUse => format!(
                "{protocol} port {address} for {what} is taken; end its owner (`ss -lnp 'sport = :{port}'` names it){choice}"
            ),
            ErrorKind::PermissionDenied => format!(
                "{protocol} port {address} for {what} needs the right to bind it; run as root or with CAP_NET_BIND_SERVICE and CAP_NET_RAW"
            ),
            _ => format!("{protocol} port {address} for {what} cannot be had: {error}"),
        })
    };
    ports.into_iter().filter_map(problem).collect()
}

fn bind_udp(address: SocketAddr, interface: Option<&str>) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    if let Some(interface) = interface {
        socket.bind_device(Some(interface.as_bytes()))?;
    }
    socket.bind(&address.into())
}

fn bind_tcp(address: SocketAddr) -> io::Result<()> {
    std::net::TcpListener::bind(address).map(drop)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn options(arguments: &[&str]) -> UpOptions {
        let base = ["bessemer", "up", "--interface", "lo", "--ramdisk", "/nonexistent"];
        let Command::Up(options) = Cli::parse_from(base.iter().chain(arguments)).command else { panic!("not up") };
        options
    }

    #[tokio::test]
    async fn all_problems_are_named_at_once_each_with_a_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (api, state) = (taken.local_addr().unwrap().to_string(), dir.path().to_str().unwrap());
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let metrics = other.local_addr().unwrap().to_string();
        let theirs = dir.path().join("config");
        std::fs::write(&theirs, "clusters: [{name: theirs}]").unwrap();
        let theirs = theirs.to_str().unwrap();
        let options = options(&[
            "--state",
            state,
            "--api",
            &api,
            "--metrics",
            &metrics,
            "--kubeconfig",
            theirs,
            "--ipxe",
            "/nonexistent/ipxe.efi",
            "--iso",
            "/nonexistent/agent.iso",
        ]);
        let problems = check(&options).await.err().unwrap().0;
        for (part, remedy) in [
            ("from 127.0.0.1/8", "--pool"),
            ("/nonexistent/vmlinuz", "--ramdisk"),
            ("/nonexistent/initrd", "--ramdisk"),
            ("/nonexistent/ipxe.efi", "--ipxe"),
            ("/nonexistent/agent.iso", "--iso"),
            (api.as_str(), "--api"),
            (metrics.as_str(), "--metrics"),
            (theirs, "--kubeconfig"),
        ] {
            let found = problems.iter().filter(|line| line.contains(part)).collect::<Vec<_>>();
            assert!(found.len() == 1 && found[0].contains(remedy), "{part}: {problems:#?}");
        }
    }
}
