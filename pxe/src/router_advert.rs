//! Router advertisements (RFC 4861) of a link that is meant for provisioning.
//!
//! iPXE configures IPv4 and IPv6 together and goes on when both are settled. On a link without any router
//! advertisement that takes it 14 to 19 seconds for each boot. An advertisement that says "there is no router here"
//! settles it at once and configures nothing on anybody. Where IPv6 is served, it also says that addresses come by DHCPv6
//! and which prefix is on the link, which DHCPv6 itself does not tell. No host takes an address by itself from it.
//!
//! Where another router advertises, this one is silent: it knows less. Another boot server is none, whatever it says: each
//! marks what it says, for two that are configured differently would silence each other otherwise.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::config::{Interface, SubnetV6};
use crate::server::Parts;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
const SOLICITATION: u8 = 133;
const ADVERTISEMENT: u8 = 134;
/// Managed addresses, other configuration (section 4.2): both by DHCPv6.
const BY_DHCPV6: u8 = 0x80 | 0x40;
/// Section 4.6.2.
const PREFIX_INFORMATION: u8 = 3;
/// On the link; the flag for addresses that hosts make up (autonomous) is never set.
const ON_LINK: u8 = 0x80;
/// An option for experiments (RFC 4727, section 5.1.3), which hosts pass over as they must: of one unit of eight octets,
/// with a word that no other experiment is likely to have.
const MARK: [u8; 8] = [253, 1, b'b', b's', b's', b'm', b'e', b'r'];
/// Section 6.2.1: AdvValidLifetime and AdvPreferredLifetime.
const VALID: u32 = 2_592_000;
const PREFERRED: u32 = 604_800;
/// Unasked advertisements where hosts do not depend on them (MaxRtrAdvInterval), for those that missed the answer to
/// their solicitations.
const UNASKED: Duration = Duration::from_secs(600);
/// Between two answers to everybody.
const BETWEEN: Duration = Duration::from_secs(3);
/// Until an interface that has just come up has its address.
const ADDRESS_SOON: Duration = Duration::from_secs(1);
/// The most frequent that the RFC allows.
const OFTENEST: Duration = Duration::from_secs(4);
/// A router says something at least this often (RFC 4861, section 6.2.1: MaxRtrAdvInterval).
const FOREIGN_ROUTER_LASTS: Duration = Duration::from_secs(1800);

/// Starts it on the interfaces that ask for it. It only saves time: where it cannot start, the rest still works.
pub(crate) fn start(parts: &mut Parts) {
    for interface in parts.config.interfaces.iter().filter(|interface| interface.v6.answer_router_solicitations) {
        match RouterAdvertiser::bind(interface) {
            Ok(advertiser) => drop(parts.tasks.spawn(advertiser.run(parts.cancel.clone()))),
            Err(error) => info!(interface = interface.name, %error, "router solicitations are not answered"),
        }
    }
}

/// What to do with a message heard.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    /// Asked from an address of the link.
    Solicited,
    /// Asked from no address, as OVMF does whatever address it has: the answer goes to everybody.
    SolicitedFromNowhere,
    ForeignRouter,
    /// A boot server of ours that is configured in another way.
    OtherOpinion,
    Nothing,
}

/// Answers solicitations on one interface.
struct RouterAdvertiser {
    /// A raw ICMPv6 socket: receiving and sending work as for UDP, with 0 for a port.
    socket: UdpSocket,
    /// What it says, octet for octet.
    advertisement: Vec<u8>,
    unasked: Interval,
    everybody: SocketAddrV6,
    interface: String,
    last_to_all: Option<Instant>,
    foreign_router_until: Option<Instant>,
    /// Whether it was told that another boot server says something else.
    told_of_other_opinion: bool,
}

impl RouterAdvertiser {
    /// Fails where the interface has no IPv6.
    fn bind(interface: &Interface) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
        socket.bind_device(Some(interface.name.as_bytes()))?;
        let index = rustix::net::netdevice::name_to_index(&socket, &interface.name)?;
        socket.join_multicast_v6(&ALL_ROUTERS, index)?;
        // Receivers drop what passed a router (section 6.1.2).
        socket.set_unicast_hops_v6(255)?;
        socket.set_multicast_hops_v6(255)?;
        socket.set_multicast_if_v6(index)?;
        socket.set_multicast_loop_v6(false)?;
        socket.set_nonblocking(true)?;
        let lifetime = interface.v6.router_lifetime;
        let period = if lifetime.is_zero() { UNASKED } else { (lifetime / 3).clamp(OFTENEST, UNASKED) };
        let mut unasked = tokio::time::interval(period);
        unasked.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            socket: UdpSocket::from_std(socket.into())?,
            advertisement: advertisement(interface.v6.on_link(), lifetime),
            unasked,
            everybody: SocketAddrV6::new(ALL_NODES, 0, 0, index),
            interface: interface.name.clone(),
            last_to_all: None,
            foreign_router_until: None,
            told_of_other_opinion: false,
        })
    }

    /// Serves until cancelled.
    async fn run(mut self, cancel: CancellationToken) {
        loop {
            let heard = tokio::select! {
                () = cancel.cancelled() => return,
                _ = self.unasked.tick() => {
                    if !self.advertise(self.everybody).await {
                        self.unasked.reset_after(ADDRESS_SOON);
                    }
                    continue;
                }
                heard = hear(&self.socket, &self.advertisement) => heard,
            };
            match heard {
                Ok((Heard::Solicited, peer)) => drop(self.advertise(peer).await),
                Ok((Heard::SolicitedFromNowhere, _)) => {
                    // Section 6.2.6: MIN_DELAY_BETWEEN_RAS.
                    if self.last_to_all.is_none_or(|last| last.elapsed() >= BETWEEN) {
                        self.last_to_all = self.advertise(self.everybody).await.then(Instant::now);
                    }
                }
                Ok((Heard::ForeignRouter, peer)) => {
                    if self.foreign_router_until.is_none() {
                        info!(phase = "ra", router = %peer.ip(), why = "another router advertises", "silent from now on");
                    }
                    self.foreign_router_until = Some(Instant::now() + FOREIGN_ROUTER_LASTS);
                }
                Ok((Heard::OtherOpinion, peer)) => {
                    if !std::mem::replace(&mut self.told_of_other_opinion, true) {
                        let why = "another boot server advertises another prefix, router lifetime or use of DHCPv6";
                        warn!(phase = "ra", server = %peer.ip(), why, "give both the same subnet and router lifetime");
                    }
                }
                Ok((Heard::Nothing, _)) => {}
                Err(error) => debug!(phase = "ra", %error, "receive failed"),
            }
        }
    }

    /// False if the interface has no address to do so from yet.
    async fn advertise(&self, to: SocketAddrV6) -> bool {
        if self.foreign_router_until.is_some_and(|until| Instant::now() < until) {
            return true;
        }
        // Hosts ignore what does not come from a link-local address (section 6.1.2), and the interface's own is not
        // usable for the first second of its life.
        if !self.leaves_from_the_link(to).is_ok_and(|local| local) {
            return false;
        }
        match self.socket.send_to(&self.advertisement, to).await {
            Ok(_) => debug!(phase = "ra", to = %to.ip(), "advertised"),
            Err(error) => debug!(phase = "ra", to = %to.ip(), %error, "the advertisement was not sent"),
        }
        true
    }

    /// Asks the kernel which source it would choose.
    fn leaves_from_the_link(&self, to: SocketAddrV6) -> io::Result<bool> {
        let probe = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP))?;
        probe.bind_device(Some(self.interface.as_bytes()))?;
        let port_of_discard = 9;
        probe.connect(&SocketAddrV6::new(*to.ip(), port_of_discard, 0, self.everybody.scope_id()).into())?;
        Ok(probe.local_addr()?.as_socket_ipv6().is_some_and(|from| from.ip().is_unicast_link_local()))
    }
}

async fn hear(socket: &UdpSocket, ours: &[u8]) -> io::Result<(Heard, SocketAddrV6)> {
    // Longer than an Ethernet frame of 1500 octets is no solicitation; what does not fit is cut.
    let mut message = [0; 1500];
    match socket.recv_from(&mut message).await? {
        (len, SocketAddr::V6(peer)) => Ok((judge(message.get(..len).unwrap_or_default(), *peer.ip(), ours), peer)),
        (_, SocketAddr::V4(_)) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// What is advertised for the subnet of the link, if IPv6 is served on it. The kernel fills in the checksum.
fn advertisement(on_link: Option<&SubnetV6>, router_lifetime: Duration) -> Vec<u8> {
    let lifetime = u16::try_from(router_lifetime.as_secs()).unwrap_or(u16::MAX).to_be_bytes();
    let flags = if on_link.is_some() { BY_DHCPV6 } else { 0 };
    // Type, code, checksum, hop limit "unspecified", flags, lifetime, times "unspecified".
    let mut out = vec![ADVERTISEMENT, 0, 0, 0, 0, flags];
    out.extend_from_slice(&lifetime);
    out.extend_from_slice(&[0; 8]);
    if let Some(subnet) = on_link {
        // Length in units of eight octets.
        out.extend_from_slice(&[PREFIX_INFORMATION, 4, subnet.prefix, ON_LINK]);
        out.extend_from_slice(&VALID.to_be_bytes());
        out.extend_from_slice(&PREFERRED.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&subnet.network.octets());
    }
    out.extend_from_slice(&MARK);
    out
}

/// What comes from a link-local address was sent on this link: routers do not pass it on. The hop limit would say no more.
fn judge(message: &[u8], from: Ipv6Addr, ours: &[u8]) -> Heard {
    match message.first() {
        Some(&SOLICITATION) if from.is_unicast_link_local() => Heard::Solicited,
        Some(&SOLICITATION) if from.is_unspecified() => Heard::SolicitedFromNowhere,
        // Behind type, code and checksum.
        Some(&ADVERTISEMENT) if message.get(4..) == ours.get(4..) => Heard::Nothing,
        Some(&ADVERTISEMENT) if from.is_unicast_link_local() => heard_from_a_router(message),
        _ => Heard::Nothing,
    }
}

/// An advertisement without a router and without a prefix is a router's that leaves: hosts learn nothing from it. One
/// that is cut short is ignored (section 6.1.2).
fn heard_from_a_router(advertisement: &[u8]) -> Heard {
    let Some((head, mut options)) = advertisement.split_at_checked(16) else { return Heard::Nothing };
    let mut says_something = head.get(6..8) != Some(&[0, 0]);
    while let [kind, len, ..] = options {
        let Some((option, rest)) = options.split_at_checked(usize::from(*len) * 8).filter(|_| *len != 0) else {
            return Heard::Nothing;
        };
        if option == MARK {
            return Heard::OtherOpinion;
        }
        says_something |= *kind == PREFIX_INFORMATION;
        options = rest;
    }
    if says_something { Heard::ForeignRouter } else { Heard::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_said_on_the_link_counts() {
        let ours = advertisement(None, Duration::ZERO);
        let theirs = advertisement(None, Duration::from_secs(1800));
        let (link, global) = ("fe80::5054:ff:fe00:1".parse().unwrap(), "2001:db8::1".parse().unwrap());
        // Type to checksum, hop limit and flags, lifetime, times.
        let router = [&[134, 0, 0, 0, 64, 0, 7, 8][..], &[0; 8]].concat();
        let leaving = [&[134, 0, 0, 0, 64, 0, 0, 0][..], &[0; 8]].concat();
        let prefix = [PREFIX_INFORMATION, 4, 64, ON_LINK].into_iter().chain([0; 28]).collect::<Vec<_>>();
        for (message, from, expected) in [
            (&[133, 0, 0, 0, 0, 0, 0, 0][..], link, Heard::Solicited),
            (&[133, 0], global, Heard::Nothing),
            (&[133, 0], Ipv6Addr::UNSPECIFIED, Heard::SolicitedFromNowhere),
            (&router, link, Heard::ForeignRouter),
            // Not of this link, cut short.
            (&router, global, Heard::Nothing),
            (&router, Ipv6Addr::UNSPECIFIED, Heard::Nothing),
            (&router[..15], link, Heard::Nothing),
            (&[134, 0], link, Heard::Nothing),
            // A router that leaves, with its name servers or an option without an end; no router, but prefixes.
            (&leaving, link, Heard::Nothing),
            (&[&leaving[..], &[25, 1, 0, 0, 0, 0, 0, 0]].concat(), link, Heard::Nothing),
            (&[&leaving[..], &[25, 0, 0, 0, 0, 0, 0, 0], &prefix].concat(), link, Heard::Nothing),
            (&[&leaving[..], &[25, 1, 0, 0, 0, 0, 0, 0], &prefix].concat(), link, Heard::ForeignRouter),
            // A router whose last option has no end, or is longer than the message.
            (&[&router[..], &[25, 0, 0, 0, 0, 0, 0, 0]].concat(), link, Heard::Nothing),
            (&[&router[..], &[25, 2, 0, 0, 0, 0, 0, 0]].concat(), link, Heard::Nothing),
            (&[135, 0], link, Heard::Nothing),
            (&[], link, Heard::Nothing),
            // Another boot server of ours, with a checksum of its own.
            (&[&[134, 0, 7, 7], &ours[4..]].concat(), link, Heard::Nothing),
            // One that is configured in another way.
            (&theirs, link, Heard::OtherOpinion),
            (&theirs, global, Heard::Nothing),
            // Another experiment.
            (&[&router[..], &[253, 1, 0, 0, 0, 0, 0, 0]].concat(), link, Heard::ForeignRouter),
        ] {
            assert_eq!(judge(message, from, &ours), expected, "{message:?} from {from}");
        }
    }

    #[test]
    fn an_advertisement_is_exact_to_the_octet() {
        let subnet = SubnetV6 {
            network: "fd77::".parse().unwrap(),
            prefix: 64,
            pool: None,
            dns: Vec::new(),
            valid: Duration::from_secs(600),
        };
        let hex = |octets: Vec<u8>| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
        for (on_link, lifetime, expected) in [
            (None, 0, "86000000000000000000000000000000 fd01 6273736d6572"),
            (None, 1800, "86000000000007080000000000000000 fd01 6273736d6572"),
            (
                Some(&subnet),
                0,
                "860000000 0c0 0000 0000000000000000 03044080 00278d00 00093a80 00000000 fd770000000000000000000000000000 \
                 fd01 6273736d6572",
            ),
        ] {
            assert_eq!(hex(advertisement(on_link, Duration::from_secs(lifetime))), expected.replace(' ', ""));
        }
    }
}
