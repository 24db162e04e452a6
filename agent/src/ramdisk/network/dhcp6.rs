//! DHCPv6 messages of a client (RFC 8415), only what an address and a resolver need. Prefix lengths and routes come by router
//! advertisements, which the kernel reads. No I/O.

use std::net::Ipv6Addr;

/// Port of servers and relays.
pub(super) const SERVER_PORT: u16 = 547;
/// Port that clients listen on.
pub(super) const CLIENT_PORT: u16 = 546;
/// All servers and relays on the link.
pub(super) const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

mod option {
    pub(super) const CLIENT: u16 = 1;
    pub(super) const SERVER: u16 = 2;
    pub(super) const IA_NA: u16 = 3;
    pub(super) const IA_ADDRESS: u16 = 5;
    pub(super) const WANTED: u16 = 6;
    pub(super) const ELAPSED: u16 = 8;
    pub(super) const STATUS: u16 = 13;
    pub(super) const RESOLVERS: u16 = 23;
}

/// What a client sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    /// Who has an address for me?
    Solicit,
    /// I take this offer.
    Request { server: Vec<u8>, address: Ipv6Addr },
    /// I keep this address.
    Renew { server: Vec<u8>, address: Ipv6Addr },
}

/// What a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Advertise,
    Reply,
}

/// An answer to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) kind: Kind,
    pub(super) server: Vec<u8>,
    /// None when the server has none for us, in which case `status` says why.
    pub(super) address: Option<Ipv6Addr>,
    /// Seconds for which it is ours.
    pub(super) valid: u32,
    pub(super) resolvers: Vec<Ipv6Addr>,
    /// Code and words of a refusal.
    pub(super) status: Option<(u16, String)>,
}

/// Who is asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Client {
    /// Three bytes that answers repeat.
    pub(super) transaction: [u8; 3],
    pub(super) mac: [u8; 6],
}

impl Client {
    /// DUID-LL: a boot server knows the machine by its MAC.
    fn duid(&self) -> Vec<u8> {
        [&[0, 3, 0, 1][..], &self.mac].concat()
    }

    /// One identity association; its id need only differ within the client.
    fn association(&self) -> [u8; 4] {
        let [.., a, b, c, d] = self.mac;
        [a, b, c, d]
    }
}

fn push(packet: &mut Vec<u8>, code: u16, value: &[u8]) {
    packet.extend(code.to_be_bytes());
    packet.extend(u16::try_from(value.len()).unwrap_or(0).to_be_bytes());
    packet.extend(value);
}

/// The datagram for `ask`, `elapsed` hundredths of a second after the first try.
pub(super) fn encode(ask: &Ask, client: Client, elapsed: u16) -> Vec<u8> {
    let (kind, server, address) = match ask {
        Ask::Solicit => (1, None, None),
        Ask::Request { server, address } => (3, Some(server), Some(address)),
        Ask::Renew { server, address } => (5, Some(server), Some(address)),
    };
    let mut packet = vec![kind];
    packet.extend(client.transaction);
    push(&mut packet, option::CLIENT, &client.duid());
    if let Some(server) = server {
        push(&mut packet, option::SERVER, server);
    }
    push(&mut packet, option::ELAPSED, &elapsed.to_be_bytes());
    push(&mut packet, option::WANTED, &option::RESOLVERS.to_be_bytes());
    // The server chooses the times.
    let mut association = [&client.association()[..], &[0; 8]].concat();
    if let Some(address) = address {
        push(&mut association, option::IA_ADDRESS, &[&address.octets()[..], &[0; 8]].concat());
    }
    push(&mut packet, option::IA_NA, &association);
    packet
}

/// The answer in `packet`, if it is one to this client and transaction.
pub(super) fn decode(packet: &[u8], client: Client) -> Option<Answer> {
    let (head, options) = packet.split_at_checked(4)?;
    let kind = match head.first()? {
        2 => Kind::Advertise,
        7 => Kind::Reply,
        _ => return None,
    };
    let is_ours = head.get(1..) == Some(&client.transaction) && find(options, option::CLIENT)? == client.duid();
    let server = find(options, option::SERVER)?.to_vec();
    if !is_ours || server.is_empty() {
        return None;
    }
    let association = find(options, option::IA_NA).filter(|value| value.starts_with(&client.association()));
    let inner = association.and_then(|value| value.get(12..)).unwrap_or_default();
    let given = find(inner, option::IA_ADDRESS);
    let valid = given.and_then(|value| value.get(20..24)?.try_into().ok()).map_or(0, u32::from_be_bytes);
    let address = given.and_then(|value| value.first_chunk::<16>()).map(|octets| Ipv6Addr::from(*octets));
    let resolvers = find(options, option::RESOLVERS).unwrap_or_default();
    Some(Answer {
        kind,
        server,
        // A lifetime of zero takes the address away.
        address: address.filter(|_| valid > 0),
        valid,
        resolvers: resolvers.as_chunks::<16>().0.iter().take(8).map(|octets| Ipv6Addr::from(*octets)).collect(),
        status: status(inner).or_else(|| status(options)),
    })
}

/// Zero means success and is none.
fn status(options: &[u8]) -> Option<(u16, String)> {
    let (code, words) = find(options, option::STATUS)?.split_first_chunk::<2>()?;
    let code = u16::from_be_bytes(*code);
    let words: String = String::from_utf8_lossy(words).chars().filter(|c| !c.is_control()).take(200).collect();
    (code != 0).then_some((code, words))
}

fn find(mut options: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (head, rest) = options.split_first_chunk::<4>()?;
        let [a, b, c, d] = *head;
        let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([c, d])))?;
        if u16::from_be_bytes([a, b]) == wanted {
            return Some(value);
        }
        options = rest;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLIENT: Client = Client { transaction: [1, 2, 3], mac: [0x52, 0x54, 0, 0, 0, 1] };

    fn reply(kind: u8, inner: &[u8]) -> Vec<u8> {
        let mut packet = vec![kind, 1, 2, 3];
        push(&mut packet, option::SERVER, &[0, 1, 9]);
        push(&mut packet, option::CLIENT, &CLIENT.duid());
        push(&mut packet, option::IA_NA, &[&CLIENT.association()[..], &[0; 8], inner].concat());
        push(&mut packet, option::RESOLVERS, &"2001:db8::53".parse::<Ipv6Addr>().unwrap().octets());
        packet
    }

    fn given(address: &str, valid: u32) -> Vec<u8> {
        let mut inner = Vec::new();
        let address: Ipv6Addr = address.parse().unwrap();
        push(&mut inner, option::IA_ADDRESS, &[&address.octets()[..], &[0, 0, 0, 9], &valid.to_be_bytes()].concat());
        inner
    }

    #[test]
    fn an_answer_is_read() {
        let answer = decode(&reply(7, &given("2001:db8::7", 3600)), CLIENT).unwrap();
        assert_eq!((answer.kind, answer.valid, answer.server.as_slice()), (Kind::Reply, 3600, &[0, 1, 9][..]));
        assert_eq!(answer.address, Some("2001:db8::7".parse().unwrap()));
        assert_eq!(answer.resolvers, ["2001:db8::53".parse::<Ipv6Addr>().unwrap()]);
        assert_eq!(decode(&reply(7, &given("2001:db8::7", 0)), CLIENT).unwrap().address, None);
        let mut refusal = Vec::new();
        push(&mut refusal, option::STATUS, b"\x00\x02no addresses");
        let refused = decode(&reply(2, &refusal), CLIENT).unwrap();
        assert_eq!((refused.address, refused.status), (None, Some((2, "no addresses".into()))));
        let other = Client { transaction: [9, 9, 9], ..CLIENT };
        assert_eq!(decode(&reply(7, &given("2001:db8::7", 1)), other), None);
        let other = Client { mac: [0; 6], ..CLIENT };
        assert_eq!(decode(&reply(7, &given("2001:db8::7", 1)), other), None);
    }

    #[test]
    fn a_request_names_server_and_address() {
        let address = "2001:db8::7".parse().unwrap();
        let packet = encode(&Ask::Request { server: vec![0, 1, 9], address }, CLIENT, 100);
        assert_eq!(packet[..4], [3, 1, 2, 3]);
        assert_eq!(find(&packet[4..], option::SERVER), Some(&[0, 1, 9][..]));
        let association = find(&packet[4..], option::IA_NA).unwrap();
        assert_eq!(find(&association[12..], option::IA_ADDRESS).unwrap()[..16], address.octets());
        let solicit = encode(&Ask::Solicit, CLIENT, 0);
        assert_eq!((solicit[0], find(&solicit[4..], option::SERVER)), (1, None));
        assert_eq!(find(&solicit[4..], option::CLIENT), Some(&[0, 3, 0, 1, 0x52, 0x54, 0, 0, 0, 1][..]));
    }

    proptest! {
        #[test]
        fn no_packet_breaks_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in 0_usize..120) {
            decode(&bytes, CLIENT);
            let whole = reply(7, &given("2001:db8::7", 3600));
            decode(&whole[..cut.min(whole.len())], CLIENT);
            decode(&reply(7, &bytes), CLIENT);
        }
    }
}
