//! DHCPv4 (RFC 2131, 2132, 3046, 3396, 3442, 3527, 4578, 5107, 6842) and PXE's proxyDHCP.
//!
//! `packet` and `options` know bytes, `client` knows firmware, `relay` and `place` know where a client is, `decide`
//! (with `reply` and `boot_file`) is the pure rule from a request and the directory's answers to an answer or a reason
//! for silence. `engine` puts them together without sockets; `socket`, `hardware` and `server` move packets.

mod boot_file;
mod client;
mod decide;
pub(crate) mod engine;
#[cfg(test)]
mod fixture;
mod fuzz;
#[cfg(test)]
mod golden_tests;
mod hardware;
mod options;
mod outbox;
mod packet;
mod place;
mod relay;
mod reply;
mod server;
mod socket;
mod sources;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use crate::config::{Config, Interface};
use crate::error::Error;
use crate::server::Parts;
use engine::{Engine, Port};

pub(crate) use boot_file::Programs;
pub use fuzz::fuzz;
pub use options::Options;
pub use packet::{DecodeError, MessageType, Packet};
pub(crate) use socket::Sockets;
pub(crate) use sources::Sources;

/// The sockets of each interface, in the configuration's order.
///
/// # Errors
/// [`Error`] names the interface that cannot be listened on.
pub(crate) fn bind(config: &Config) -> Result<Vec<Sockets>, Error> {
    let bind = |interface: &Interface| {
        Sockets::bind(interface).map_err(|(port, error)| {
            Error::listen("DHCP", "UDP", (Ipv4Addr::UNSPECIFIED, port).into(), &interface.name, error)
        })
    };
    config.interfaces.iter().map(bind).collect()
}

/// Serves each interface; `http` says where each one's boot files are.
pub(crate) fn start(parts: &mut Parts, sockets: Vec<Sockets>, http: &[SocketAddrV4]) {
    let config = parts.config.clone();
    for ((interface, sockets), http) in config.interfaces.iter().zip(sockets).zip(http) {
        let observer = parts.observer.clone();
        let engine =
            Engine::new(&interface.name, interface.address, config.clone(), Programs::new(&config, *http), observer);
        let (engine, sockets) = (Arc::new(engine), Arc::new(sockets));
        for port in [Port::BootServer, Port::Dhcp] {
            parts.tasks.spawn(server::serve(engine.clone(), sockets.clone(), port, parts.cancel.clone()));
        }
    }
}
