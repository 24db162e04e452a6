//! DHCPv4 messages of a client (RFC 2131, RFC 2132), only what an address, a route and a resolver need. No I/O.

use std::net::Ipv4Addr;

/// Broadcast and unicast port of servers.
pub(super) const SERVER_PORT: u16 = 67;
/// Port that clients listen on.
pub(super) const CLIENT_PORT: u16 = 68;

const MAGIC: [u8; 4] = [99, 130, 83, 99];
const FIXED: usize = 236;
/// BOOTP's least size, which some servers and relays insist on.
const LEAST: usize = 300;
const BROADCAST_FLAG: u16 = 0x8000;
const OP_REQUEST: u8 = 1;
const OP_REPLY: u8 = 2;

mod option {
    pub(super) const PAD: u8 = 0;
    pub(super) const MASK: u8 = 1;
    pub(super) const ROUTER: u8 = 3;
    pub(super) const RESOLVER: u8 = 6;
    pub(super) const REQUESTED: u8 = 50;
    pub(super) const LEASE_SECONDS: u8 = 51;
    pub(super) const MESSAGE_TYPE: u8 = 53;
    pub(super) const SERVER: u8 = 54;
    pub(super) const PARAMETERS: u8 = 55;
    pub(super) const END: u8 = 255;
}

/// What a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// Who has an address for me?
    Discover,
    /// I take this offer.
    Request { address: Ipv4Addr, server: Ipv4Addr },
    /// I keep this address, which I use.
    Renew { address: Ipv4Addr },
}

/// What a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Offer,
    Acknowledge,
    Refuse,
}

/// An answer to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) kind: Kind,
    pub(super) address: Ipv4Addr,
    pub(super) server: Ipv4Addr,
    pub(super) prefix: u8,
    pub(super) router: Option<Ipv4Addr>,
    pub(super) resolvers: Vec<Ipv4Addr>,
    pub(super) lease_seconds: u32,
}

/// The datagram for `ask`.
pub(super) fn encode(ask: Ask, transaction: u32, mac: [u8; 6]) -> Vec<u8> {
    let (flags, own) = match ask {
        // Without an address we can only be reached by broadcast.
        Ask::Discover | Ask::Request { .. } => (BROADCAST_FLAG, Ipv4Addr::UNSPECIFIED),
        Ask::Renew { address } => (0, address),
    };
    let mut packet = vec![OP_REQUEST, 1, 6, 0];
    packet.extend(transaction.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(flags.to_be_bytes());
    packet.extend(own.octets());
    packet.extend([0; 12]);
    packet.extend(mac);
    packet.resize(FIXED, 0);
    packet.extend(MAGIC);
    let message_type = if ask == Ask::Discover { 1 } else { 3 };
    packet.extend([option::MESSAGE_TYPE, 1, message_type]);
    if let Ask::Request { address, server } = ask {
        packet.extend([option::REQUESTED, 4]);
        packet.extend(address.octets());
        packet.extend([option::SERVER, 4]);
        packet.extend(server.octets());
    }
    let wanted = [option::MASK, option::ROUTER, option::RESOLVER, option::LEASE_SECONDS, option::SERVER];
    packet.extend([option::PARAMETERS, 5]);
    packet.extend(wanted);
    packet.push(option::END);
    packet.resize(packet.len().max(LEAST), option::PAD);
    packet
}

/// The answer in `packet`, if it is one to this transaction and address. Anything else on the wire is `None`.
pub(super) fn decode(packet: &[u8], transaction: u32, mac: [u8; 6]) -> Option<Reply> {
    let at = |offset: usize| -> Option<[u8; 4]> { packet.get(offset..offset + 4)?.try_into().ok() };
    let ours = *packet.first()? == OP_REPLY && at(4)? == transaction.to_be_bytes() && packet.get(28..34)? == mac;
    if !ours || at(FIXED)? != MAGIC {
        return None;
    }
    let options = packet.get(FIXED + 4..)?;
    let kind = match find(options, option::MESSAGE_TYPE)? {
        [2] => Kind::Offer,
        [5] => Kind::Acknowledge,
        [6] => Kind::Refuse,
        _ => return None,
    };
    let word = |code| find(options, code).and_then(|value| value.get(..4)?.try_into().ok());
    let mask = word(option::MASK).map_or(u32::MAX << 8, u32::from_be_bytes);
    Some(Reply {
        kind,
        address: at(16)?.into(),
        server: word(option::SERVER).unwrap_or(at(20)?).into(),
        prefix: u8::try_from(mask.leading_ones()).ok()?,
        router: word(option::ROUTER).map(Ipv4Addr::from),
        resolvers: find(options, option::RESOLVER)
            .map(|value| value.as_chunks::<4>().0.iter().map(|octets| Ipv4Addr::from(*octets)).collect())
            .unwrap_or_default(),
        lease_seconds: word(option::LEASE_SECONDS).map_or(600, u32::from_be_bytes),
    })
}

fn find(mut options: &[u8], wanted: u8) -> Option<&[u8]> {
    loop {
        match options {
            [option::PAD, rest @ ..] => options = rest,
            [option::END, ..] | [] => return None,
            [code, length, rest @ ..] => {
                let value = rest.get(..usize::from(*length))?;
                if *code == wanted {
                    return Some(value);
                }
                options = rest.get(usize::from(*length)..)?;
            }
            [_] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];

    fn offer() -> Vec<u8> {
        let mut packet = encode(Ask::Discover, 7, MAC);
        packet[0] = OP_REPLY;
        packet[16..20].copy_from_slice(&[10, 77, 0, 50]);
        packet.truncate(FIXED + 4);
        packet.extend([53, 1, 2, 0, 0, 54, 4, 10, 77, 0, 1, 1, 4, 255, 255, 255, 0, 3, 4, 10, 77, 0, 1]);
        packet.extend([6, 8, 10, 77, 0, 1, 10, 77, 0, 2, 51, 4, 0, 0, 2, 88, 255]);
        packet
    }

    #[test]
    fn an_offer_is_read() {
        let reply = decode(&offer(), 7, MAC).unwrap();
        assert_eq!(reply.kind, Kind::Offer);
        assert_eq!(reply.address, Ipv4Addr::new(10, 77, 0, 50));
        assert_eq!(reply.server, Ipv4Addr::new(10, 77, 0, 1));
        assert_eq!((reply.prefix, reply.lease_seconds), (24, 600));
        assert_eq!(reply.router, Some(Ipv4Addr::new(10, 77, 0, 1)));
        assert_eq!(reply.resolvers.len(), 2);
    }

    #[test]
    fn answers_to_others_are_not_ours() {
        assert_eq!(decode(&offer(), 8, MAC), None);
        assert_eq!(decode(&offer(), 7, [0; 6]), None);
    }

    #[test]
    fn a_request_names_the_offer_and_asks_for_broadcast() {
        let address = Ipv4Addr::new(10, 77, 0, 50);
        let packet = encode(Ask::Request { address, server: Ipv4Addr::new(10, 77, 0, 1) }, 7, MAC);
        assert_eq!(packet.len(), LEAST);
        assert_eq!(packet[10..12], [0x80, 0]);
        assert_eq!(find(&packet[FIXED + 4..], option::REQUESTED), Some(&[10, 77, 0, 50][..]));
        let renewal = encode(Ask::Renew { address }, 7, MAC);
        assert_eq!(renewal[12..16], [10, 77, 0, 50]);
        assert_eq!(find(&renewal[FIXED + 4..], option::SERVER), None);
    }

    proptest! {
        #[test]
        fn no_packet_breaks_the_reader(mut packet in proptest::collection::vec(any::<u8>(), 0..400), cut in 0usize..300) {
            decode(&packet, 7, MAC);
            packet.splice(..packet.len().min(FIXED + 4), offer()[..FIXED + 4].to_vec());
            decode(&packet, 7, MAC);
            decode(&offer()[..cut.min(offer().len())], 7, MAC);
        }
    }
}
