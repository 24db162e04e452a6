//! The shortest answer to an IPv6 router solicitation: "there is no router here" (RFC 4861, section 4.2).
//!
//! iPXE configures IPv4 and IPv6 together and goes on when both are settled. On a link without any router
//! advertisement that takes it 14 to 19 seconds for each boot. An advertisement with lifetime zero, no prefix and no
//! flags settles it at once and configures nothing on anybody. Where another router advertises, this one is silent.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use crate::server::Parts;

const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
const SOLICITATION: u8 = 133;
const ADVERTISEMENT: u8 = 134;
/// Type, code, checksum (filled in by the kernel), hop limit "unspecified", no flags, lifetime 0, times "unspecified".
const NO_ROUTER: [u8; 16] = [ADVERTISEMENT, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// A router says something at least this often (RFC 4861, section 6.2.1: MaxRtrAdvInterval).
const FOREIGN_ROUTER_LASTS: Duration = Duration::from_secs(1800);

/// Starts it on the interfaces that ask for it. It only saves time: where it cannot start, the rest still works.
pub(crate) fn start(parts: &mut Parts) {
    for interface in parts.config.interfaces.iter().filter(|interface| interface.v6.answer_router_solicitations) {
        match RouterAdvertiser::bind(&interface.name) {
            Ok(advertiser) => drop(parts.tasks.spawn(advertiser.run(parts.cancel.clone()))),
            Err(error) => info!(interface = interface.name, %error, "router solicitations are not answered"),
        }
    }
}

/// What to do with a message heard.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Answer,
    ForeignRouter,
    Nothing,
}

/// Answers solicitations on one interface.
struct RouterAdvertiser {
    /// A raw ICMPv6 socket: receiving and sending work as for UDP, with 0 for a port.
    socket: UdpSocket,
    foreign_router_until: Option<Instant>,
}

impl RouterAdvertiser {
    /// Fails where the interface has no IPv6.
    fn bind(interface: &str) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
        socket.bind_device(Some(interface.as_bytes()))?;
        let index = rustix::net::netdevice::name_to_index(&socket, interface)?;
        socket.join_multicast_v6(&ALL_ROUTERS, index)?;
        // Receivers drop what passed a router (section 6.1.2).
        socket.set_unicast_hops_v6(255)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket: UdpSocket::from_std(socket.into())?, foreign_router_until: None })
    }

    /// Serves until cancelled.
    async fn run(mut self, cancel: CancellationToken) {
        loop {
            let heard = tokio::select! {
                () = cancel.cancelled() => return,
                heard = self.hear() => heard,
            };
            match heard {
                Ok((Heard::Answer, peer)) => self.answer(peer).await,
                Ok((Heard::ForeignRouter, peer)) => {
                    if self.foreign_router_until.is_none() {
                        info!(phase = "ra", router = %peer.ip(), why = "another router advertises", "silent from now on");
                    }
                    self.foreign_router_until = Some(Instant::now() + FOREIGN_ROUTER_LASTS);
                }
                Ok((Heard::Nothing, _)) => {}
                Err(error) => debug!(phase = "ra", %error, "receive failed"),
            }
        }
    }

    async fn answer(&self, peer: SocketAddrV6) {
        if self.foreign_router_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        match self.socket.send_to(&NO_ROUTER, peer).await {
            Ok(_) => debug!(phase = "ra", peer = %peer.ip(), answer = "no router", "answered"),
            Err(error) => debug!(phase = "ra", peer = %peer.ip(), %error, "the answer was not sent"),
        }
    }

    async fn hear(&self) -> io::Result<(Heard, SocketAddrV6)> {
        // Longer than an Ethernet frame of 1500 octets is no solicitation; what does not fit is cut.
        let mut message = [0; 1500];
        match self.socket.recv_from(&mut message).await? {
            (len, SocketAddr::V6(peer)) => Ok((judge(message.get(..len).unwrap_or_default(), *peer.ip()), peer)),
            (_, SocketAddr::V4(_)) => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Only the type matters. The unspecified address, which a machine without a link-local one solicits from, would need
/// a multicast to everybody; it solicits again once it has one.
fn judge(message: &[u8], from: Ipv6Addr) -> Heard {
    match message.first() {
        Some(&SOLICITATION) if from.is_unicast_link_local() => Heard::Answer,
        Some(&ADVERTISEMENT) => Heard::ForeignRouter,
        _ => Heard::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_solicitations_from_the_link_are_answered() {
        let (link, global) = ("fe80::5054:ff:fe00:1".parse().unwrap(), "2001:db8::1".parse().unwrap());
        for (message, from, expected) in [
            (&[133, 0, 0, 0, 0, 0, 0, 0][..], link, Heard::Answer),
            (&[133, 0], global, Heard::Nothing),
            (&[133, 0], Ipv6Addr::UNSPECIFIED, Heard::Nothing),
            (&[134, 0], link, Heard::ForeignRouter),
            (&[135, 0], link, Heard::Nothing),
            (&[], link, Heard::Nothing),
        ] {
            assert_eq!(judge(message, from), expected, "{message:?} from {from}");
        }
    }
}
