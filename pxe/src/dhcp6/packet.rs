//! The messages of DHCPv6 (RFC 8415, sections 8 and 9), and what relay agents wrap around them.

use std::fmt;
use std::net::Ipv6Addr;

use super::options::{Options, code, split};

/// Why some octets are not a DHCPv6 message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Ends inside a fixed field.
    #[error("truncated")]
    Truncated,
    /// An option is longer than what is left.
    #[error("option {code} is longer than the message")]
    OptionOverrun {
        /// The option.
        code: u16,
    },
    /// Not a message that clients or relay agents send.
    #[error("message type {0} is not one of a client or a relay agent")]
    Kind(u8),
    /// Relay agents behind relay agents, without end.
    #[error("more than {} relay agents", Envelope::MOST_RELAYS)]
    TooManyRelays,
    /// A relay agent's message with nothing in it.
    #[error("a relayed message without a message")]
    Empty,
}

/// The kinds of message between clients and servers (RFC 8415, section 7.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the RFC's")]
pub enum Kind {
    Solicit = 1,
    Advertise = 2,
    Request = 3,
    Confirm = 4,
    Renew = 5,
    Rebind = 6,
    Reply = 7,
    Release = 8,
    Decline = 9,
    InformationRequest = 11,
}

impl Kind {
    const FROM_CLIENTS: [Self; 8] = [
        Self::Solicit,
        Self::Request,
        Self::Confirm,
        Self::Renew,
        Self::Rebind,
        Self::Release,
        Self::Decline,
        Self::InformationRequest,
    ];

    /// The word for traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solicit => "solicit",
            Self::Advertise => "advertise",
            Self::Request => "request",
            Self::Confirm => "confirm",
            Self::Renew => "renew",
            Self::Rebind => "rebind",
            Self::Reply => "reply",
            Self::Release => "release",
            Self::Decline => "decline",
            Self::InformationRequest => "information-request",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const RELAY_FORWARD: u8 = 12;
const RELAY_REPLY: u8 = 13;

/// A message between a client and a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Which.
    pub kind: Kind,
    /// The client's number for the exchange.
    pub transaction: [u8; 3],
    /// Everything else.
    pub options: Options,
}

impl Message {
    /// The octets of this message.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.kind as u8];
        out.extend_from_slice(&self.transaction);
        self.options.encode(&mut out);
        out
    }
}

/// What one relay agent added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayHeader {
    /// Relay agents between the client and this one.
    pub hops: u8,
    /// An address of the link that it heard the client (or the relay agent before it) on; may be unspecified.
    pub link: Ipv6Addr,
    /// Who it heard.
    pub peer: Ipv6Addr,
    /// Its own options, without the message.
    pub options: Options,
}

/// A client's message as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The relay agents it passed, the one nearest to the client last.
    pub relays: Vec<RelayHeader>,
    /// What the client sent.
    pub message: Message,
}

impl Envelope {
    /// RFC 8415, section 7.6: HOP_COUNT_LIMIT.
    pub const MOST_RELAYS: usize = 8;

    /// Reads one datagram.
    ///
    /// # Errors
    /// [`DecodeError`] if it is not a message for a server.
    pub fn decode(mut datagram: &[u8]) -> Result<Self, DecodeError> {
        let mut relays = Vec::new();
        while let Some((&RELAY_FORWARD, rest)) = datagram.split_first() {
            if relays.len() == Self::MOST_RELAYS {
                return Err(DecodeError::TooManyRelays);
            }
            let (header, message) = relay(rest)?;
            relays.push(header);
            datagram = message;
        }
        let ([kind, transaction @ ..], options) = datagram.split_first_chunk::<4>().ok_or(DecodeError::Truncated)?;
        let known = Kind::FROM_CLIENTS.into_iter().find(|known| *known as u8 == *kind);
        let kind = known.ok_or(DecodeError::Kind(*kind))?;
        Ok(Self { relays, message: Message { kind, transaction: *transaction, options: Options::decode(options)? } })
    }

    /// `answer` as it goes back through the relay agents: each finds its own interface id again (section 19.3).
    pub fn wrap(&self, answer: &Message) -> Vec<u8> {
        let mut message = answer.encode();
        for relay in self.relays.iter().rev() {
            let mut out = vec![RELAY_REPLY, relay.hops];
            out.extend_from_slice(&relay.link.octets());
            out.extend_from_slice(&relay.peer.octets());
            let mut options = Options::default();
            for code in [code::INTERFACE_ID, code::RELAY_PORT] {
                if let Some(value) = relay.options.get(code) {
                    options.push(code, value);
                }
            }
            options.push(code::RELAY_MESSAGE, message);
            options.encode(&mut out);
            message = out;
        }
        message
    }

    /// The octets of this message, as the outermost relay agent (or the client) sends it.
    pub fn encode(&self) -> Vec<u8> {
        let mut message = self.message.encode();
        for relay in self.relays.iter().rev() {
            let mut out = vec![RELAY_FORWARD, relay.hops];
            out.extend_from_slice(&relay.link.octets());
            out.extend_from_slice(&relay.peer.octets());
            let mut options = relay.options.clone();
            options.push(code::RELAY_MESSAGE, message);
            options.encode(&mut out);
            message = out;
        }
        message
    }
}

/// A relay agent's header, and the message in it.
fn relay(octets: &[u8]) -> Result<(RelayHeader, &[u8]), DecodeError> {
    let (hops, rest) = octets.split_first().ok_or(DecodeError::Truncated)?;
    let (link, rest) = rest.split_first_chunk::<16>().ok_or(DecodeError::Truncated)?;
    let (peer, rest) = rest.split_first_chunk::<16>().ok_or(DecodeError::Truncated)?;
    let (mut message, mut options) = (None, Options::default());
    for (code, value) in split(rest)? {
        match code {
            code::RELAY_MESSAGE => message = message.or(Some(value)),
            _ => options.push(code, value),
        }
    }
    let header = RelayHeader { hops: *hops, link: (*link).into(), peer: (*peer).into(), options };
    Ok((header, message.ok_or(DecodeError::Empty)?))
}

#[cfg(test)]
#[path = "packet_tests.rs"]
mod tests;
