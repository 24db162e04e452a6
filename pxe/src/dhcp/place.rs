//! Where a client is, and where its answer goes: RFC 2131, section 4.1, with relay agents.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::packet::{MessageType, Packet};
use super::relay::Agent;
use crate::config::{Config, Reach, Subnet};
use crate::identity::MacAddr;

pub(super) const SERVER_PORT: u16 = 67;
pub(super) const CLIENT_PORT: u16 = 68;

/// Why a request belongs to no subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nowhere {
    /// It names a relay agent of a subnet that is not configured: a mistake, or a forged one.
    ForeignRelay(Ipv4Addr),
    /// The interface that heard it has no subnet of its own.
    NoSubnet,
}

/// The subnet of the client, heard on `interface` from `from`.
///
/// A relay agent says it. Without one it is the subnet of the address that the client has (a renewal from behind a
/// router comes without a relay), else that of the link.
pub(super) fn subnet_of<'a>(
    request: &Packet,
    agent: Option<&Agent>,
    from: Ipv4Addr,
    interface: &str,
    config: &'a Config,
) -> Result<&'a Subnet, Nowhere> {
    let find = |address: Ipv4Addr| config.subnets.iter().find(|subnet| subnet.prefix.contains(address));
    let here = |subnet: &Subnet| match &subnet.reach {
        Reach::OnLink(name) => name == interface,
        Reach::Relayed => true,
    };
    if let Some(agent) = agent {
        // Answers go to `giaddr`, so it must be one that we may send to: of our subnets, or who sent this.
        let known = find(agent.giaddr).is_some() || agent.giaddr == from;
        return find(agent.link()).filter(|_| known).ok_or(Nowhere::ForeignRelay(agent.giaddr));
    }
    let of_address = (!request.ciaddr.is_unspecified()).then(|| find(request.ciaddr)).flatten();
    of_address
        .filter(|subnet| here(subnet))
        .or_else(|| config.subnets.iter().find(|subnet| subnet.reach != Reach::Relayed && here(subnet)))
        .ok_or(Nowhere::NoSubnet)
}

/// Where an answer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    /// To an address that answers ARP (or is routed to).
    Address(SocketAddrV4),
    /// To everybody on the link.
    Broadcast,
    /// To a client that does not have its address yet and would not answer ARP.
    Hardware(MacAddr, Ipv4Addr),
}

/// RFC 2131, section 4.1, in its order. `lease` is the client's address; an address that is not the client's is never
/// sent to.
pub(super) fn destination(
    request: &Packet,
    kind: MessageType,
    mac: MacAddr,
    lease: Option<Ipv4Addr>,
    agent: Option<&Agent>,
    subnet: &Subnet,
) -> Destination {
    if let Some(agent) = agent {
        return Destination::Address(SocketAddrV4::new(agent.giaddr, SERVER_PORT));
    }
    if kind == MessageType::Nak {
        return Destination::Broadcast;
    }
    // An INFORM comes from an address that we did not give: it must be one of the subnet.
    let informs = request.message_type() == Some(MessageType::Inform) && subnet.prefix.is_host(request.ciaddr);
    if !request.ciaddr.is_unspecified() && (informs || lease == Some(request.ciaddr)) {
        return Destination::Address(SocketAddrV4::new(request.ciaddr, CLIENT_PORT));
    }
    match lease {
        Some(address) if !request.wants_broadcast() && request.ciaddr.is_unspecified() => {
            Destination::Hardware(mac, address)
        }
        _ => Destination::Broadcast,
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
