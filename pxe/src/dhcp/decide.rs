//! The pure rules from one request and the directory's answers to a reply, or to silence and the reason for it: as the
//! server of addresses ([`full`]), and beside one ([`proxy`]).

use std::net::{Ipv4Addr, SocketAddrV4};

use super::options::code;
use super::packet::{MessageType, Packet};
use super::place::{CLIENT_PORT, Destination, destination};
use super::relay::Agent;
use super::reply::Reply;
use crate::config::Subnet;
use crate::identity::MacAddr;
use crate::trace::Phase;

/// Said of a message to another server.
pub(super) const ANOTHERS: &str = "the client chose another server";

/// More relay agents one after another are a loop (RFC 1542, section 4.1.1).
const MOST_HOPS: u8 = 16;

/// One request, as far as it explains itself.
pub(super) struct Request {
    pub(super) packet: Packet,
    pub(super) kind: MessageType,
    pub(super) mac: MacAddr,
    pub(super) phase: Phase,
    pub(super) agent: Option<Agent>,
}

/// The server's side of one exchange.
pub(super) struct Served<'a> {
    /// Our address on the interface.
    pub(super) server: Ipv4Addr,
    pub(super) subnet: &'a Subnet,
    /// The file that the client is sent to.
    pub(super) boot_file: Option<String>,
}

/// What to do with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// Send this.
    Reply(Box<Send>),
    /// Send nothing.
    Silent(&'static str),
    /// It needs no answer.
    Noted(Option<String>),
    /// It is from nowhere.
    Dropped(String),
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Send {
    pub(super) packet: Packet,
    pub(super) kind: MessageType,
    pub(super) address: Option<Ipv4Addr>,
    pub(super) boot_file: Option<String>,
    pub(super) to: Destination,
    pub(super) why: Option<String>,
}

impl Request {
    /// The name under which the client knows this server (RFC 5107).
    pub(super) fn server_id(&self, server: Ipv4Addr) -> Ipv4Addr {
        self.agent.as_ref().and_then(|agent| agent.server_id).unwrap_or(server)
    }

    /// The address that the client asks for or has.
    pub(super) fn wanted(&self) -> Option<Ipv4Addr> {
        let ciaddr = Some(self.packet.ciaddr).filter(|address| !address.is_unspecified());
        self.packet.options.address(code::REQUESTED_ADDRESS).or(ciaddr)
    }

    /// For people: the message and, for a REQUEST, the state that the client is in (RFC 2131, table 4).
    pub(super) fn asked(&self) -> &'static str {
        let has = |code| self.packet.options.has(code);
        match self.kind {
            MessageType::Request if has(code::SERVER_ID) => "request (selecting)",
            MessageType::Request if !self.packet.ciaddr.is_unspecified() => "request (renewing)",
            MessageType::Request if has(code::REQUESTED_ADDRESS) => "request (rebooting)",
            kind => kind.name(),
        }
    }

    /// The client chose another server.
    pub(super) fn is_for_another(&self, server: Ipv4Addr) -> bool {
        let named = self.packet.options.address(code::SERVER_ID);
        named.is_some_and(|named| named != self.server_id(server) && named != server)
    }

    /// Requests that need no answer whoever sent them, before the directory is asked. `None`: it may deserve one.
    pub(super) fn not_for(&self, server: Ipv4Addr) -> Option<&'static str> {
        match self.kind {
            _ if self.packet.op != 1 => Some("not a request"),
            _ if self.packet.hops > MOST_HOPS => Some("a loop of relay agents"),
            MessageType::Offer | MessageType::Ack | MessageType::Nak => Some("a server's message sent as a request"),
            _ if self.is_for_another(server) => Some(ANOTHERS),
            _ => None,
        }
    }
}

/// As the server of addresses: the answer to a DISCOVER, REQUEST or INFORM of a machine with a lease.
pub(super) fn full(request: &Request, lease: Ipv4Addr, served: Served<'_>) -> Decision {
    let informs = request.kind == MessageType::Inform;
    let kind = match request.kind {
        MessageType::Discover => MessageType::Offer,
        MessageType::Inform => MessageType::Ack,
        MessageType::Request => match claim(request, lease, served.subnet) {
            Claim::Ours => MessageType::Ack,
            Claim::Wrong(asked) => return refuse(request, asked, lease, &served),
            Claim::Foreign => return Decision::Silent("the client's address is another server's"),
            Claim::Missing => return Decision::Silent("a request without an address"),
        },
        _ => return Decision::Silent("needs no answer"),
    };
    let Served { server, subnet, boot_file } = served;
    let mut reply = Reply::new(&request.packet, kind, request.server_id(server));
    if kind == MessageType::Ack {
        reply.client_address(request.packet.ciaddr);
    }
    if !informs {
        reply.lease(lease, subnet.lease_time);
    }
    reply.link(subnet);
    reply.class(request.phase, false);
    if let Some(file) = &boot_file {
        reply.boot_file(file, server);
    }
    reply.settings(subnet);
    let address = (!informs).then_some(lease);
    let to = destination(&request.packet, kind, request.mac, address, request.agent.as_ref(), subnet);
    Decision::Reply(Box::new(Send { packet: reply.finish(), kind, address, boot_file, to, why: None }))
}

enum Claim {
    Ours,
    Wrong(Ipv4Addr),
    Foreign,
    Missing,
}

/// Is the address that a REQUEST names the leased one? A wrong one is refused where nobody else could have given it:
/// the client chose us by name, it lies in our own pool, or there is no other server. Any other may be the lease of
/// another server on this segment.
fn claim(request: &Request, lease: Ipv4Addr, subnet: &Subnet) -> Claim {
    let chose_us = request.packet.options.has(code::SERVER_ID);
    let in_pool = |address| subnet.pool.as_ref().is_some_and(|pool| pool.contains(address));
    match request.wanted() {
        None => Claim::Missing,
        Some(address) if address == lease => Claim::Ours,
        Some(address) if chose_us || subnet.authoritative || in_pool(address) => Claim::Wrong(address),
        Some(_) => Claim::Foreign,
    }
}

fn refuse(request: &Request, asked: Ipv4Addr, lease: Ipv4Addr, served: &Served<'_>) -> Decision {
    let kind = MessageType::Nak;
    let mut reply = Reply::new(&request.packet, kind, request.server_id(served.server));
    reply.message("not the address leased to this machine");
    let mut packet = reply.finish();
    // RFC 2131, section 4.3.2: so that the relay agent broadcasts it, as the client cannot have its address.
    if request.agent.is_some() {
        packet.set_broadcast();
    }
    let to = destination(&request.packet, kind, request.mac, None, request.agent.as_ref(), served.subnet);
    let why = Some(format!("it asked for {asked}, its address is {lease}"));
    Decision::Reply(Box::new(Send { packet, kind, address: None, boot_file: None, to, why }))
}

/// Beside the server of addresses, on port 67: an offer without an address, for boot clients only. Which server's
/// address the client takes is between those two.
pub(super) fn proxy(request: &Request, served: Served<'_>) -> Decision {
    let Served { server, subnet, boot_file } = served;
    let Some(file) = boot_file else { return Decision::Silent("no boot client") };
    if request.kind != MessageType::Discover {
        return Decision::Silent("the other server's to answer");
    }
    let kind = MessageType::Offer;
    let mut reply = Reply::new(&request.packet, kind, request.server_id(server));
    reply.class(request.phase, true);
    reply.boot_file(&file, server);
    // No client answers ARP yet, and none has an address that it could be sent to by hardware address.
    let to = destination(&request.packet, kind, request.mac, None, request.agent.as_ref(), subnet);
    let packet = reply.finish();
    Decision::Reply(Box::new(Send { packet, kind, address: None, boot_file: Some(file), to, why: None }))
}

/// On port 4011, which firmware asks after an offer that names no file, or always: a confirmation of the boot file, to
/// the address that the client has by now.
pub(super) fn boot_server(request: &Request, from: SocketAddrV4, served: Served<'_>) -> Decision {
    let Served { server, boot_file, .. } = served;
    let Some(file) = boot_file else { return Decision::Silent("no boot client") };
    if !matches!(request.kind, MessageType::Request | MessageType::Inform | MessageType::Discover) {
        return Decision::Silent("needs no answer");
    }
    let kind = MessageType::Ack;
    let mut reply = Reply::new(&request.packet, kind, server);
    reply.client_address(request.packet.ciaddr);
    reply.class_of_item(request.phase);
    reply.boot_file(&file, server);
    let port = if from.port() == 0 { CLIENT_PORT } else { from.port() };
    let to = Destination::Address(SocketAddrV4::new(*from.ip(), port));
    let packet = reply.finish();
    Decision::Reply(Box::new(Send { packet, kind, address: None, boot_file: Some(file), to, why: None }))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
