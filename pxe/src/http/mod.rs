//! The boot listener: what iPXE and HTTP boot firmware fetch, with the lengths, ranges and HEAD answers they rely on,
//! and OS images for sites without another server.
//!
//! An HTTP/1.1 of our own over tokio's sockets (docs/decisions/008): firmware needs strict answers, and files go out by
//! `sendfile`. Plain HTTP on the boot network authenticates nobody. What belongs to one boot is served to that boot's
//! addresses only, which keeps mistakes apart, not attackers.

mod boot;
mod connection;
mod content;
mod images;
mod limits;
mod listener;
mod path;
mod range;
mod reply;
mod request;
mod site;
#[cfg(feature = "firmware-tls")]
mod tls;
mod wire;

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tracing::info;

use crate::breaker::Breaker;
use crate::config::{Config, InvalidConfig};
use crate::error::Error;
use crate::media::{Iso, Uki};
use crate::programs;
use crate::script::{Scripts, paths};
use crate::server::Parts;
use boot::{Boots, System};
use content::Tagged;
use listener::{Listener, Shared, Speech};
use site::Site;

pub use limits::HttpLimits;

/// For fuzzing: a head is taken or refused, its path stays within the tree, its range within the file, and the answer
/// is as long as it says.
///
/// # Panics
/// If not.
#[doc(hidden)]
pub fn fuzz(data: &[u8]) {
    let Ok(Some((request, length))) = request::parse(data) else { return };
    assert!(length <= data.len());
    for part in path::segments(&request.target).unwrap_or_default() {
        assert!(!matches!(part.as_str(), "" | "." | "..") && !part.contains(['/', '\\', '\0', '\r', '\n']));
    }
    let content = content::Content::made(reply::TEXT, &Tagged::default(), [bytes::Bytes::from_static(b"0123456789")]);
    let reply = reply::to(&request, Ok(content));
    assert!(reply.body <= 10);
    assert_eq!(reply.pieces.iter().map(content::Piece::len).sum::<u64>(), reply.head + reply.body);
}

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// Listens on the addresses of each interface, and says where: the IPv4 address without TLS for each.
///
/// # Errors
/// [`Error`] names the address that cannot be listened on, or the file that cannot be served.
pub(crate) async fn start(parts: &mut Parts) -> Result<Vec<SocketAddrV4>, Error> {
    let config = parts.config.clone();
    let shared = Shared::new(site(&config, parts).await?, config.http.limits);
    let mut addresses = Vec::new();
    let mut listen = |address: IpAddr, port: u16, interface: &str, speech: Speech| {
        let wanted = SocketAddr::from((address, port));
        let error = |source| Error::listen("HTTP", "TCP", wanted, interface, source);
        let socket = bind(wanted).map_err(error)?;
        let port = socket.local_addr().map_err(error)?.port();
        let listener = Listener { socket, interface: interface.into(), speech };
        parts.tasks.spawn(listener.run(shared.clone(), parts.cancel.clone()));
        Ok::<_, Error>(port)
    };
    let tls = tls_speech(&config)?;
    for interface in &config.interfaces {
        let port = listen(interface.address.into(), config.http_port, &interface.name, Speech::Plain)?;
        addresses.push(SocketAddrV4::new(interface.address, port));
        let v6 = interface.v6.address.map(IpAddr::from);
        if let Some(address) = v6 {
            listen(address, port, &interface.name, Speech::Plain)?;
        }
        if let Some((port, speech)) = &tls {
            for address in [IpAddr::from(interface.address)].into_iter().chain(v6) {
                listen(address, *port, &interface.name, speech.clone())?;
            }
        }
    }
    Ok(addresses)
}

/// All that is wrong with what is to be served, so that it is said at once and not by a host's firmware.
pub(crate) async fn findings(config: &Config) -> Vec<Error> {
    let mut found: Vec<Error> =
        programs::findings(config).into_iter().map(|why| InvalidConfig::from(why).into()).collect();
    for ramdisk in [Some(&config.ramdisk), config.media.arm64.as_ref()].into_iter().flatten() {
        found.extend(System::new(ramdisk).err().map(|why| InvalidConfig::from(why).into()));
    }
    found.extend(config.media.uki.clone().and_then(|uki| Uki::parse(uki).err()).map(Into::into));
    found.extend(open_iso(config).await.err());
    found.extend(tls_speech(config).err());
    found
}

async fn open_iso(config: &Config) -> Result<Option<Iso>, Error> {
    let Some(path) = config.media.iso.clone() else { return Ok(None) };
    let opened = tokio::task::spawn_blocking(move || Iso::open(&path)).await;
    Ok(Some(opened.map_err(|error| Error::Internal(error.to_string()))??))
}

/// Reads and checks everything that is served.
async fn site(config: &Config, parts: &Parts) -> Result<Site, Error> {
    programs::findings(config).into_iter().next().map_or(Ok(()), Err).map_err(InvalidConfig::from)?;
    let ipxe = &config.ipxe;
    let programs = [
        (paths::IPXE_EFI, Some(&ipxe.x64)),
        (paths::UNDIONLY, ipxe.bios.as_ref()),
        (paths::IPXE_ARM64, ipxe.arm64.as_ref()),
    ];
    let uki = config.media.uki.clone().map(Uki::parse).transpose()?;
    if uki.as_ref().is_some_and(Uki::is_signed) {
        info!("the UKI is signed: it is served unchanged, and the agent's overlay does not travel with it");
    }
    let iso = open_iso(config).await?;
    let programs = programs.into_iter().filter_map(|(name, program)| Some((name, Tagged::from(program?.clone()))));
    Ok(Site {
        scripts: Scripts::new()?,
        programs: programs.collect(),
        boots: Boots {
            x64: System::new(&config.ramdisk).map_err(InvalidConfig::from)?,
            arm64: config.media.arm64.as_ref().map(System::new).transpose().map_err(InvalidConfig::from)?,
            uki_tag: Tagged::from(config.media.uki.clone().unwrap_or_default()).tag(),
            uki,
            iso,
            breaker: Breaker::new(config.http.loops),
        },
        images_dir: config.images_dir.clone(),
        observer: parts.observer.clone(),
    })
}

#[cfg(feature = "firmware-tls")]
fn tls_speech(config: &Config) -> Result<Option<(u16, Speech)>, Error> {
    let Some(https) = &config.http.tls else { return Ok(None) };
    Ok(Some((https.port, Speech::Tls(tls::Acceptor::new(https)?))))
}

#[cfg(not(feature = "firmware-tls"))]
fn tls_speech(config: &Config) -> Result<Option<(u16, Speech)>, Error> {
    match config.http.tls {
        None => Ok(None),
        Some(_) => Err(Error::Config(InvalidConfig::NoTls)),
    }
}

/// With a queue for a boot storm, and IPv6 for itself: IPv4 has a socket of its own.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // A server that starts again is not kept out by connections that are still closing.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
