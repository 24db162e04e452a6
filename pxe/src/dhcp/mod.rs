//! DHCPv4 (RFC 2131, 2132, 3396, 4578, 6842): codec, who is asking, what to answer, and the socket.
//!
//! `packet` and `options` know bytes, `client` knows firmware, `decide` is the pure rule from a request and the
//! directory's answers to a reply or a reason for silence, `server` moves packets.

mod boot_file;
mod client;
mod decide;
mod options;
mod packet;
mod server;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;

use crate::config::{Config, Interface, Mode, Reach};
use crate::error::Error;
use crate::script::Urls;
use crate::server::Parts;
use decide::Subnet;
use server::DhcpServer;

pub(crate) use boot_file::boot_file;
pub use options::Options;
pub use packet::{DecodeError, MessageType, Packet};

const PORT: u16 = 67;

/// A socket for each interface, in the configuration's order.
///
/// # Errors
/// [`Error`] names the interface that cannot be listened on.
pub(crate) fn bind(config: &Config) -> Result<Vec<UdpSocket>, Error> {
    let bind = |interface: &Interface| {
        socket(&interface.name)
            .map_err(|error| Error::listen("DHCP", "UDP", (Ipv4Addr::UNSPECIFIED, PORT).into(), &interface.name, error))
    };
    config.interfaces.iter().map(bind).collect()
}

/// Serves each interface that has a subnet; `http` says where each one's boot files are.
pub(crate) fn start(parts: &mut Parts, sockets: Vec<UdpSocket>, http: &[SocketAddrV4]) {
    let config = parts.config.clone();
    for ((interface, socket), http) in config.interfaces.iter().zip(sockets).zip(http) {
        let on_link = Reach::OnLink(interface.name.clone());
        let Some(subnet) = config.subnets.iter().find(|subnet| subnet.reach == on_link && subnet.mode == Mode::Full)
        else {
            continue;
        };
        let subnet =
            Subnet { server: interface.address, config: subnet.clone(), has_undionly: config.ipxe.bios.is_some() };
        let server = DhcpServer {
            socket,
            interface: interface.name.as_str().into(),
            subnet,
            urls: Urls::http(*http).offering(&config),
            observer: parts.observer.clone(),
        };
        parts.tasks.spawn(server.run(parts.cancel.clone()));
    }
}

/// Bound to the interface, so that two servers on two interfaces do not hear each other's clients. Without
/// `SO_REUSEADDR`: a second server on this interface is an error here instead of a riddle later.
fn socket(interface: &str) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind_device(Some(interface.as_bytes()))?;
    socket.set_broadcast(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)).into())?;
    UdpSocket::from_std(socket.into())
}
