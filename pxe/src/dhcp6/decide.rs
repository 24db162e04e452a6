//! The pure rule from one request and the directory's answers to a reply.

use std::net::Ipv6Addr;
use std::time::Duration;

use super::options::{Association, Options, code};
use super::packet::{Kind, Message};
use crate::config::SubnetV6;
use crate::trace::Phase;

/// Status codes of RFC 8415, section 21.13.
pub(super) mod status {
    pub(crate) const SUCCESS: u16 = 0;
    pub(crate) const NO_ADDRESSES: u16 = 2;
    pub(crate) const NO_BINDING: u16 = 3;
    pub(crate) const NOT_ON_LINK: u16 = 4;
    pub(crate) const USE_MULTICAST: u16 = 5;
    pub(crate) const NO_PREFIX: u16 = 6;
}

/// Associations looked at in one message; a machine that boots has one.
const MOST_ASSOCIATIONS: usize = 4;
/// RFC 8415, section 21.8: the client takes this server without waiting for others.
const PREFERENCE: u16 = 7;
const HIGHEST_PREFERENCE: u8 = 255;

/// What the directory says of one association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Granted {
    /// Its address.
    Address(Ipv6Addr),
    /// The pool is exhausted.
    Exhausted,
    /// Nothing is known of it: it asks to renew what was never given.
    Unknown,
}

/// What a reply is made of besides the request.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) subnet: &'a SubnetV6,
    pub(super) server_duid: &'a [u8],
    pub(super) granted: &'a [(Association, Granted)],
    pub(super) boot_url: Option<&'a str>,
}

/// The same for every instance that serves these subnets and after every start: whichever answers, it is the server
/// that the client chose. A DUID-UUID (RFC 6355) made from the subnets.
pub(super) fn server_duid(subnets: &[SubnetV6]) -> Vec<u8> {
    // FNV-1a of 128 bits: stable across releases and machines.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let octets = subnets.iter().flat_map(|subnet| subnet.network.octets().into_iter().chain([subnet.prefix]));
    for octet in b"bessemer boot server".iter().copied().chain(octets) {
        hash = (hash ^ u128::from(octet)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    // Version 8: a hash of one's own (RFC 9562).
    let uuid = uuid::Builder::from_custom_bytes(hash.to_be_bytes()).into_uuid();
    [&[0, 4], uuid.as_bytes().as_slice()].concat()
}

/// Why a request is not looked at further (RFC 8415, section 16). `None`: it may deserve an answer. `direct` is one that
/// a client sent to this server's own address.
pub(super) fn not_for_us(request: &Message, server_duid: &[u8], direct: bool) -> Option<&'static str> {
    let to_all = matches!(request.kind, Kind::Solicit | Kind::Confirm | Kind::Rebind | Kind::InformationRequest);
    if direct && to_all {
        return Some("sent to one server where it is for all");
    }
    let named = request.options.get(code::SERVER_ID);
    let (must_name, may_name) = match request.kind {
        Kind::Solicit | Kind::Confirm | Kind::Rebind => (false, false),
        Kind::Request | Kind::Renew | Kind::Release | Kind::Decline => (true, true),
        Kind::InformationRequest => (false, true),
        Kind::Advertise | Kind::Reply => return Some("a server's message sent as a request"),
    };
    match named {
        Some(_) if !may_name => Some("names a server where it may not"),
        Some(named) if named != server_duid => Some("the client chose another server"),
        None if must_name => Some("names no server"),
        // Section 16.12.
        _ if request.kind == Kind::InformationRequest
            && [code::IA_NA, code::IA_TA, code::IA_PD].iter().any(|ia| request.options.has(*ia)) =>
        {
            Some("asks for addresses where it may not")
        }
        _ if !request.options.has(code::CLIENT_ID) && request.kind != Kind::InformationRequest => {
            Some("the client does not say who it is")
        }
        _ => None,
    }
}

/// The associations for addresses of a request, bounded.
pub(super) fn associations(request: &Message) -> Vec<Association> {
    request.options.all(code::IA_NA).filter_map(Association::decode).take(MOST_ASSOCIATIONS).collect()
}

/// The answer to a request for addresses, or for what goes with them.
pub(super) fn answer(request: &Message, phase: Phase, facts: &Facts<'_>) -> Message {
    let rapid = request.kind == Kind::Solicit && request.options.has(code::RAPID_COMMIT);
    let kind = if request.kind == Kind::Solicit && !rapid { Kind::Advertise } else { Kind::Reply };
    let mut answer = begin(request, kind, facts.server_duid);
    let options = &mut answer.options;
    if kind == Kind::Advertise {
        options.push(PREFERENCE, [HIGHEST_PREFERENCE]);
    }
    if rapid {
        options.push(code::RAPID_COMMIT, []);
    }
    for (association, granted) in facts.granted {
        options.push(code::IA_NA, association_answer(request.kind, association, *granted, facts.subnet));
    }
    refuse_other_associations(request, options);
    if !facts.subnet.dns.is_empty() {
        options.push(code::DNS, facts.subnet.dns.iter().flat_map(Ipv6Addr::octets).collect::<Vec<_>>());
    }
    if let Some(url) = facts.boot_url {
        options.push(code::BOOT_FILE_URL, url.as_bytes());
        // EDK2 takes a URL over HTTP only from a server that says `HTTPClient`. `PXEClient` is never said: EDK2 would
        // look for a boot server on port 4011 of the URL's address before it fetches anything.
        if let (Phase::HttpFirmware, Some(class)) = (phase, request.options.get(code::VENDOR_CLASS)) {
            options.push(code::VENDOR_CLASS, class);
        }
    }
    answer
}

/// The answer to CONFIRM: are the client's addresses those of this link? `None` where it names none (section 18.3.3).
pub(super) fn confirm(request: &Message, subnet: &SubnetV6, server_duid: &[u8]) -> Option<(Message, u16)> {
    let addresses: Vec<Ipv6Addr> = associations(request).into_iter().flat_map(|ia| ia.addresses).collect();
    if addresses.is_empty() {
        return None;
    }
    let (code, text) = if addresses.iter().all(|address| subnet.contains(*address)) {
        (status::SUCCESS, "the addresses are of this link")
    } else {
        (status::NOT_ON_LINK, "an address is of another link")
    };
    let mut answer = begin(request, Kind::Reply, server_duid);
    answer.options.push(code::STATUS, status_option(code, text));
    Some((answer, code))
}

/// The answer to RELEASE and DECLINE.
pub(super) fn noted(request: &Message, server_duid: &[u8]) -> Message {
    let mut answer = begin(request, Kind::Reply, server_duid);
    answer.options.push(code::STATUS, status_option(status::SUCCESS, "noted"));
    answer
}

/// The answer to a request that was sent to this server's own address, which no client is ever told it may (sections
/// 18.3.2, 18.3.4, 18.3.7, 18.3.8).
pub(super) fn use_multicast(request: &Message, server_duid: &[u8]) -> Message {
    let mut answer = begin(request, Kind::Reply, server_duid);
    answer.options.push(code::STATUS, status_option(status::USE_MULTICAST, "ask by multicast"));
    answer
}

fn begin(request: &Message, kind: Kind, server_duid: &[u8]) -> Message {
    let mut options = Options::default();
    if let Some(id) = request.options.get(code::CLIENT_ID) {
        options.push(code::CLIENT_ID, id);
    }
    options.push(code::SERVER_ID, server_duid);
    Message { kind, transaction: request.transaction, options }
}

fn association_answer(asked: Kind, association: &Association, granted: Granted, subnet: &SubnetV6) -> Vec<u8> {
    let mut options = Options::default();
    let mut times = [0; 2];
    match granted {
        Granted::Address(address) => {
            let valid = seconds(subnet.valid);
            let preferred = valid / 2;
            times = [preferred / 2, preferred / 5 * 4];
            options.push(code::IA_ADDRESS, address_option(address, preferred, valid));
            // What the client holds besides ends now (section 18.3.4).
            if matches!(asked, Kind::Renew | Kind::Rebind) {
                for other in association.addresses.iter().filter(|other| **other != address).take(MOST_ASSOCIATIONS) {
                    options.push(code::IA_ADDRESS, address_option(*other, 0, 0));
                }
            }
        }
        Granted::Exhausted => options.push(code::STATUS, status_option(status::NO_ADDRESSES, "no address is free")),
        Granted::Unknown => {
            options.push(code::STATUS, status_option(status::NO_BINDING, "no address was leased for this association"));
        }
    }
    let mut out = association.iaid.to_be_bytes().to_vec();
    out.extend(times.iter().flat_map(|time| time.to_be_bytes()));
    options.encode(&mut out);
    out
}

/// Temporary addresses and prefixes are not given out; a client that asks is told, for it would wait.
fn refuse_other_associations(request: &Message, options: &mut Options) {
    for (code, fixed, status, text) in [
        (code::IA_TA, 4, status::NO_ADDRESSES, "no temporary addresses here"),
        (code::IA_PD, 12, status::NO_PREFIX, "no prefixes here"),
    ] {
        for asked in request.options.all(code).take(MOST_ASSOCIATIONS) {
            let Some(iaid) = asked.get(..4).filter(|_| asked.len() >= fixed) else { continue };
            let mut out = iaid.to_vec();
            out.resize(fixed, 0);
            let mut inner = Options::default();
            inner.push(code::STATUS, status_option(status, text));
            inner.encode(&mut out);
            options.push(code, out);
        }
    }
}

fn address_option(address: Ipv6Addr, preferred: u32, valid: u32) -> Vec<u8> {
    [address.octets().as_slice(), &preferred.to_be_bytes(), &valid.to_be_bytes()].concat()
}

fn status_option(code: u16, text: &str) -> Vec<u8> {
    [code.to_be_bytes().as_slice(), text.as_bytes()].concat()
}

fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_the_same_one_everywhere() {
        let subnet = |network: &str| SubnetV6 {
            network: network.parse().unwrap(),
            prefix: 64,
            pool: None,
            dns: Vec::new(),
            valid: Duration::from_secs(60),
        };
        let duid = server_duid(&[subnet("fd77::")]);
        // What restarts and other instances must make again: change it and every client loses its server.
        let hex: String = duid.iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(hex, "0004f36bc0c5d6f687088098214a2fe7fba8");
        assert_ne!(duid, server_duid(&[subnet("fd78::")]));
    }
}
