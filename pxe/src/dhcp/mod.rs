//! DHCPv4 (RFC 2131, 2132, 3046, 3396, 3442, 3527, 4578, 5107, 6842) and PXE's proxyDHCP.
//!
//! `packet` and `options` know bytes, `client` knows firmware, `relay` and `place` know where a client is, `decide`
//! (with `reply` and `boot_file`) is the pure rule from a request and the directory's answers to an answer or a reason
//! for silence. `engine` puts them together without sockets; `socket`, `hardware` and `server` move packets.

mod beside;
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

use crate::config::{Config, Interface, Mode, Reach, Subnet};
use crate::error::Error;
use crate::server::Parts;
use engine::{Engine, Port};

pub(crate) use boot_file::Programs;
pub use fuzz::fuzz;
pub use options::Options;
pub use packet::{DecodeError, MessageType, Packet};
pub(crate) use socket::Sockets;
pub(crate) use sources::Sources;

/// The sockets of each interface, in the configuration's order; none where DHCP is off in all its subnets.
///
/// # Errors
/// [`Error`] names the interface that cannot be listened on.
pub(crate) fn bind(config: &Config) -> Result<Vec<Option<Sockets>>, Error> {
    let bind = |interface: &Interface| {
        if is_off(interface, config) {
            return Ok(None);
        }
        Sockets::bind(interface).map(Some).map_err(|(port, error)| {
            Error::listen("DHCP", "UDP", (Ipv4Addr::UNSPECIFIED, port).into(), &interface.name, error)
        })
    };
    config.interfaces.iter().map(bind).collect()
}

/// Another program may have the ports then. What relay agents forward may be heard on any interface.
fn is_off(interface: &Interface, config: &Config) -> bool {
    let subnets = || config.subnets.iter();
    let on_link = |subnet: &&Subnet| matches!(&subnet.reach, Reach::OnLink(name) if *name == interface.name);
    let is_served = |subnet: &Subnet| subnet.mode != Mode::Off;
    let relayed = subnets().any(|subnet| subnet.reach == Reach::Relayed && is_served(subnet));
    !relayed && subnets().any(|subnet| on_link(&subnet)) && !subnets().filter(on_link).any(is_served)
}

/// Serves each interface; `http` says where each one's boot files are.
pub(crate) fn start(parts: &mut Parts, sockets: Vec<Option<Sockets>>, http: &[SocketAddrV4]) {
    let config = parts.config.clone();
    for ((interface, sockets), http) in config.interfaces.iter().zip(sockets).zip(http) {
        let Some(sockets) = sockets else { continue };
        let observer = parts.observer.clone();
        let engine =
            Engine::new(&interface.name, interface.address, config.clone(), Programs::new(&config, *http), observer);
        let (engine, sockets) = (Arc::new(engine), Arc::new(sockets));
        for port in [Port::BootServer, Port::Dhcp] {
            parts.tasks.spawn(server::serve(engine.clone(), sockets.clone(), port, parts.cancel.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_dhcp_is_off_its_ports_are_left_to_others() {
        let subnet = |mode, reach| Subnet { mode, ..Subnet::new("10.77.0.0/24".parse().unwrap(), reach) };
        let here = || Reach::OnLink("br0".to_owned());
        for (subnets, off) in [
            (vec![subnet(Mode::Off, here())], true),
            (vec![subnet(Mode::Off, here()), subnet(Mode::Full, Reach::OnLink("br1".to_owned()))], true),
            (vec![subnet(Mode::Off, here()), subnet(Mode::Proxy, here())], false),
            (vec![subnet(Mode::Off, here()), subnet(Mode::Full, Reach::Relayed)], false),
            (vec![subnet(Mode::Off, here()), subnet(Mode::Off, Reach::Relayed)], true),
            (vec![subnet(Mode::Full, here())], false),
            (vec![], false),
        ] {
            let config = Config { subnets, ..Config::default() };
            assert_eq!(is_off(&Interface::new("br0", [10, 77, 0, 1].into()), &config), off, "{:?}", config.subnets);
        }
    }
}
