//! The DHCP message of RFC 2131, section 2.

use std::fmt;
use std::net::Ipv4Addr;

use super::options::{Options, code};
use crate::identity::MacAddr;

const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// BOOTP's message size, which some clients still expect as a minimum (RFC 1542, section 2.1).
const MIN_LEN: usize = 300;
const ETHERNET: u8 = 1;
const BROADCAST: u16 = 0x8000;

/// Why some octets are not a DHCP message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Shorter than the fixed fields.
    #[error("truncated: {len} octets, the fixed fields alone take 240")]
    Truncated {
        /// Octets received.
        len: usize,
    },
    /// Plain BOOTP or something else.
    #[error("the DHCP magic cookie is missing")]
    NoCookie,
}

/// DHCP message types (option 53).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageType {
    /// A client looks for servers.
    Discover,
    /// A server offers an address.
    Offer,
    /// A client takes an offer, confirms or renews an address.
    Request,
    /// A client found its address in use.
    Decline,
    /// A server confirms.
    Ack,
    /// A server refuses.
    Nak,
    /// A client gives its address back.
    Release,
    /// A client with an address of its own asks for the other settings.
    Inform,
}

impl MessageType {
    fn from_octet(octet: u8) -> Option<Self> {
        Some(match octet {
            1 => Self::Discover,
            2 => Self::Offer,
            3 => Self::Request,
            4 => Self::Decline,
            5 => Self::Ack,
            6 => Self::Nak,
            7 => Self::Release,
            8 => Self::Inform,
            _ => return None,
        })
    }

    pub(super) fn octet(self) -> u8 {
        match self {
            Self::Discover => 1,
            Self::Offer => 2,
            Self::Request => 3,
            Self::Decline => 4,
            Self::Ack => 5,
            Self::Nak => 6,
            Self::Release => 7,
            Self::Inform => 8,
        }
    }
}

impl MessageType {
    /// The word for logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Offer => "offer",
            Self::Request => "request",
            Self::Decline => "decline",
            Self::Ack => "ack",
            Self::Nak => "nak",
            Self::Release => "release",
            Self::Inform => "inform",
        }
    }
}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One message. Field names are the RFC's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// 1 from a client, 2 from a server.
    pub op: u8,
    /// Hardware type; 1 is Ethernet.
    pub htype: u8,
    /// Length of the hardware address.
    pub hlen: u8,
    /// Relays passed.
    pub hops: u8,
    /// Transaction id.
    pub xid: u32,
    /// Seconds since the client started.
    pub secs: u16,
    /// The top bit asks for broadcast replies.
    pub flags: u16,
    /// The client's address, if it has one already.
    pub ciaddr: Ipv4Addr,
    /// "Your" address.
    pub yiaddr: Ipv4Addr,
    /// Next server: where the boot file is.
    pub siaddr: Ipv4Addr,
    /// Relay.
    pub giaddr: Ipv4Addr,
    /// The client's hardware address, zero padded.
    pub chaddr: [u8; 16],
    /// Server name, zero padded; options if overloaded.
    pub sname: [u8; 64],
    /// Boot file, zero padded; options if overloaded.
    pub file: [u8; 128],
    /// All options, those of overloaded fields (option 52) at the end.
    pub options: Options,
    /// False if an option ran past the end of its field. Those before it are here all the same.
    pub whole: bool,
}

impl Packet {
    /// An answer to `request`, with its transaction id, flags, relay and hardware address.
    pub fn reply_to(request: &Self) -> Self {
        Self {
            op: 2,
            htype: request.htype,
            hlen: request.hlen,
            hops: 0,
            xid: request.xid,
            secs: 0,
            flags: request.flags,
            ciaddr: Ipv4Addr::UNSPECIFIED,
            yiaddr: Ipv4Addr::UNSPECIFIED,
            siaddr: Ipv4Addr::UNSPECIFIED,
            giaddr: request.giaddr,
            chaddr: request.chaddr,
            sname: [0; 64],
            file: [0; 128],
            options: Options::with_room(),
            whole: true,
        }
    }

    /// Reads one message.
    ///
    /// # Errors
    /// [`DecodeError`] if the octets are not a DHCP message. Options with senseless values are no error (their accessors
    /// answer `None`), nor is a last option that is cut off (see [`Packet::whole`]).
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let truncated = DecodeError::Truncated { len: bytes.len() };
        let mut reader = Reader(bytes);
        let mut packet = (|| {
            let [op, htype, hlen, hops] = reader.take()?;
            let xid = u32::from_be_bytes(reader.take()?);
            let secs = u16::from_be_bytes(reader.take()?);
            let flags = u16::from_be_bytes(reader.take()?);
            let [ciaddr, yiaddr, siaddr, giaddr] =
                [reader.take::<4>()?, reader.take()?, reader.take()?, reader.take()?].map(Ipv4Addr::from);
            let (chaddr, sname, file) = (reader.take()?, reader.take()?, reader.take()?);
            let (options, whole) = (Options::with_room(), true);
            Some(Self {
                op,
                htype,
                hlen,
                hops,
                xid,
                secs,
                flags,
                ciaddr,
                yiaddr,
                siaddr,
                giaddr,
                chaddr,
                sname,
                file,
                options,
                whole,
            })
        })()
        .ok_or(truncated.clone())?;
        if reader.take::<4>().ok_or(truncated)? != COOKIE {
            return Err(DecodeError::NoCookie);
        }
        packet.whole = packet.options.decode_into(reader.0);
        // An overload option inside an overloaded field would be nonsense: only the main field's counts.
        let overload = packet.options.octet(code::OVERLOAD).unwrap_or(0);
        let (file, sname) = (packet.file, packet.sname);
        if overload & 1 != 0 {
            packet.whole &= packet.options.decode_into(&file);
        }
        if overload & 2 != 0 {
            packet.whole &= packet.options.decode_into(&sname);
        }
        Ok(packet)
    }

    /// The octets of this message, options in their order, padded to BOOTP's 300 octets.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(548);
        out.extend_from_slice(&[self.op, self.htype, self.hlen, self.hops]);
        out.extend_from_slice(&self.xid.to_be_bytes());
        out.extend_from_slice(&self.secs.to_be_bytes());
        out.extend_from_slice(&self.flags.to_be_bytes());
        for address in [self.ciaddr, self.yiaddr, self.siaddr, self.giaddr] {
            out.extend_from_slice(&address.octets());
        }
        out.extend_from_slice(&self.chaddr);
        out.extend_from_slice(&self.sname);
        out.extend_from_slice(&self.file);
        out.extend_from_slice(&COOKIE);
        self.options.encode(&mut out);
        out.resize(out.len().max(MIN_LEN), 0);
        out
    }

    /// The client cannot take unicasts before it has its address (RFC 2131, figure 2).
    pub fn wants_broadcast(&self) -> bool {
        self.flags & BROADCAST != 0
    }

    pub(super) fn set_broadcast(&mut self) {
        self.flags |= BROADCAST;
    }

    /// The message type, if it is there and known.
    pub fn message_type(&self) -> Option<MessageType> {
        self.options.octet(code::MESSAGE_TYPE).and_then(MessageType::from_octet)
    }

    /// The client's Ethernet address; `None` for other hardware, multicast or zero.
    pub fn mac(&self) -> Option<MacAddr> {
        let mac = *self.chaddr.first_chunk::<6>()?;
        let [first, ..] = mac;
        (self.htype == ETHERNET && self.hlen == 6 && first & 1 == 0 && mac != [0; 6]).then_some(MacAddr(mac))
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }
}

#[cfg(test)]
#[path = "packet_tests.rs"]
mod tests;
