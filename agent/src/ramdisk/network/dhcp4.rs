//! DHCPv4 messages of a client (RFC 2131, RFC 2132), only what an address, a route and a resolver need. No I/O.

use std::net::Ipv4Addr;

use bessemer_protocol::Route;

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
    pub(super) const MTU: u8 = 26;
    pub(super) const REQUESTED: u8 = 50;
    pub(super) const LEASE_SECONDS: u8 = 51;
    pub(super) const MESSAGE_TYPE: u8 = 53;
    pub(super) const SERVER: u8 = 54;
    pub(super) const PARAMETERS: u8 = 55;
    pub(super) const ROUTES: u8 = 121;
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
    /// A server that sends a list of routes means that one alone (RFC 3442); else the default route through the router.
    pub(super) routes: Vec<Route>,
    pub(super) mtu: Option<u32>,
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
    // The list of routes is to be asked for before the router.
    let wanted = [
        option::MASK,
        option::ROUTES,
        option::ROUTER,
        option::RESOLVER,
        option::MTU,
        option::LEASE_SECONDS,
        option::SERVER,
    ];
    packet.extend([option::PARAMETERS, 7]);
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
    let prefix = u8::try_from(mask.leading_ones()).ok()?;
    let address = Ipv4Addr::from(at(16)?);
    let router = word(option::ROUTER).map(Ipv4Addr::from).filter(|router| !router.is_unspecified());
    let mtu = find(options, option::MTU)
        .and_then(|value| value.first_chunk::<2>())
        .map(|mtu| u32::from(u16::from_be_bytes(*mtu)));
    Some(Reply {
        kind,
        address,
        server: word(option::SERVER).unwrap_or(at(20)?).into(),
        prefix,
        routes: classless(options)
            .unwrap_or_else(|| router.map(|router| default_route(router, address, prefix)).unwrap_or_default()),
        mtu: mtu.filter(|mtu| *mtu >= 576),
        resolvers: find(options, option::RESOLVER)
            .map(|value| value.as_chunks::<4>().0.iter().map(|octets| Ipv4Addr::from(*octets)).collect())
            .unwrap_or_default(),
        lease_seconds: word(option::LEASE_SECONDS).map_or(600, u32::from_be_bytes),
    })
}

fn route(destination: Ipv4Addr, prefix: u8, gateway: Option<Ipv4Addr>) -> Route {
    Route { destination: destination.into(), prefix, gateway: gateway.map(Into::into), metric: None }
}

/// A router outside of the lease's network is reached on the link all the same.
fn default_route(router: Ipv4Addr, address: Ipv4Addr, prefix: u8) -> Vec<Route> {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
    let is_inside = (router.to_bits() ^ address.to_bits()) & mask == 0;
    let direct = (!is_inside).then(|| route(router, 32, None));
    direct.into_iter().chain([route(Ipv4Addr::UNSPECIFIED, 0, Some(router))]).collect()
}

/// Routes of RFC 3442: prefix length, as many octets of the network as it needs, gateway. A gateway of zero means on the link. What cannot
/// be read ends the list. None when the server sent none.
fn classless(options: &[u8]) -> Option<Vec<Route>> {
    /// Hosts have a handful.
    const MOST: usize = 64;
    let list = whole(options, option::ROUTES)?;
    let mut rest = list.as_slice();
    let mut routes = Vec::new();
    while let Some((prefix, after)) = rest.split_first().filter(|(prefix, _)| **prefix <= 32 && routes.len() < MOST) {
        let Some((network, after)) = after.split_at_checked(usize::from(prefix.div_ceil(8))) else { break };
        let Some((gateway, after)) = after.split_first_chunk::<4>() else { break };
        let mut octets = [0; 4];
        octets.iter_mut().zip(network).for_each(|(octet, given)| *octet = *given);
        let mask = u32::MAX.checked_shl(32 - u32::from(*prefix)).unwrap_or(0);
        let network = Ipv4Addr::from_bits(u32::from_be_bytes(octets) & mask);
        let gateway = Ipv4Addr::from(*gateway);
        routes.push(route(network, *prefix, (!gateway.is_unspecified()).then_some(gateway)));
        rest = after;
    }
    Some(routes)
}

/// An option that did not fit into one is in several (RFC 3396).
fn whole(options: &[u8], wanted: u8) -> Option<Vec<u8>> {
    let mut rest = options;
    let mut parts: Option<Vec<u8>> = None;
    while let Some(part) = find(rest, wanted) {
        parts.get_or_insert_default().extend(part);
        // What follows the part, by where it ends.
        let end = part.as_ptr_range().end as usize - rest.as_ptr() as usize;
        rest = rest.get(end..).unwrap_or_default();
    }
    parts
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
        assert_eq!(reply.routes, [route(Ipv4Addr::UNSPECIFIED, 0, Some(Ipv4Addr::new(10, 77, 0, 1)))]);
        assert_eq!(reply.resolvers.len(), 2);
    }

    /// `offer` with more options before its end.
    fn offer_with(more: &[u8]) -> Reply {
        let mut packet = offer();
        packet.pop();
        packet.extend(more);
        packet.push(option::END);
        decode(&packet, 7, MAC).unwrap()
    }

    #[test]
    fn c139_a_gateway_of_zero_is_on_the_link() {
        let routes = offer_with(&[121, 9, 32, 169, 254, 169, 254, 0, 0, 0, 0]).routes;
        assert_eq!(routes, [route(Ipv4Addr::new(169, 254, 169, 254), 32, None)], "and the router does not count then");
    }

    #[test]
    fn a_list_of_routes_is_read_whole() {
        let gateway = Ipv4Addr::new(10, 77, 0, 1);
        let list = [0, 10, 77, 0, 1, 12, 172, 16, 10, 77, 0, 1];
        let expected =
            [route(Ipv4Addr::UNSPECIFIED, 0, Some(gateway)), route(Ipv4Addr::new(172, 16, 0, 0), 12, Some(gateway))];
        assert_eq!(offer_with(&[&[121, 12][..], &list].concat()).routes, expected);
        let split = [&[121, 5][..], &list[..5], &[26, 2, 0x23, 0x28, 121, 7], &list[5..]].concat();
        let reply = offer_with(&split);
        assert_eq!((reply.routes.as_slice(), reply.mtu), (&expected[..], Some(9000)), "in two options");
        assert_eq!(offer_with(&[121, 6, 33, 1, 2, 3, 4, 5]).routes, []);
        assert_eq!(offer_with(&[26, 2, 0, 60]).mtu, None, "nobody's MTU");
        let far = default_route(Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 7), 32);
        assert_eq!(far.first(), Some(&route(Ipv4Addr::new(192, 0, 2, 1), 32, None)));
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
