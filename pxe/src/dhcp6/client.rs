//! Who is asking: the signs by which firmware, iPXE and operating systems are told apart, and the hardware addresses that
//! DHCPv6 tells only in passing.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use uuid::Uuid;

use super::options::{Options, code};
use super::packet::{Envelope, RelayHeader};
use crate::client::{ClientIdentity, Relay};
use crate::identity::{ClientArch, MacAddr};
use crate::trace::Phase;

/// Kinds of DUID (RFC 8415, section 11, and RFC 6355).
const DUID_LLT: u16 = 1;
const DUID_LL: u16 = 3;
const DUID_UUID: u16 = 4;
/// A DUID has at most that many octets after its kind.
const LONGEST_DUID: usize = 130;
/// Hardware type of Ethernet.
const ETHERNET: u16 = 1;
/// What is kept of an interface id or a remote id.
const LONGEST_RELAY_ID: usize = 128;

/// Which program of the machine asks. iPXE calls itself `PXEClient`, too, so its own sign comes first.
pub(super) fn phase(options: &Options) -> Phase {
    if options.user_classes().iter().any(|class| class.starts_with(b"iPXE")) {
        return Phase::Ipxe;
    }
    let classes = options.vendor_class().map(|(_, classes)| classes).unwrap_or_default();
    if classes.iter().any(|class| class.starts_with(b"HTTPClient")) {
        Phase::HttpFirmware
    } else if classes.iter().any(|class| class.starts_with(b"PXEClient")) {
        Phase::PxeFirmware
    } else {
        Phase::System
    }
}

/// The machine as the directory gets to know it; `None` without a usable DUID. `peer` is who sent the datagram.
pub(super) fn identify(envelope: &Envelope, peer: Ipv6Addr, interface: Arc<str>) -> Option<ClientIdentity> {
    let options = &envelope.message.options;
    let duid = options.get(code::CLIENT_ID).filter(|duid| (3..=LONGEST_DUID + 2).contains(&duid.len()))?;
    let nearest = envelope.relays.last();
    // What a relay agent saw on the wire, then the address that it was sent from. The DUID comes last: one for all
    // cards of a machine, it often holds the address of another.
    let candidates =
        [nearest.and_then(link_layer_address), of_link_local(nearest.map_or(peer, |relay| relay.peer)), of_duid(duid)];
    let mut macs = Vec::new();
    for mac in candidates.into_iter().flatten().filter(|mac| is_of_one_machine(*mac)) {
        if !macs.contains(&mac) {
            macs.push(mac);
        }
    }
    let arch = arch(options);
    Some(ClientIdentity {
        macs,
        duid: Some(duid.to_vec()),
        client_id: None,
        // An installed system's DUID-UUID is made of whatever it likes, such as its machine-id.
        smbios_uuid: arch.and_then(|_| uuid(duid)),
        arch,
        relay: nearest.map(|nearest| relay(envelope, nearest)),
        interface,
    })
}

fn relay(envelope: &Envelope, nearest: &RelayHeader) -> Relay {
    let id = |code| nearest.options.get(code).map(|id| id.get(..LONGEST_RELAY_ID).unwrap_or(id).to_vec());
    Relay {
        address: IpAddr::V6(link(envelope).unwrap_or(nearest.link)),
        circuit_id: id(code::INTERFACE_ID),
        remote_id: id(code::REMOTE_ID),
        link_selection: None,
    }
}

/// The link that the client is on, as the relay agent nearest to it says that says anything.
pub(super) fn link(envelope: &Envelope) -> Option<Ipv6Addr> {
    envelope.relays.iter().rev().map(|relay| relay.link).find(|link| !link.is_unspecified())
}

fn arch(options: &Options) -> Option<ClientArch> {
    let listed = options.u16_list(code::CLIENT_ARCH).and_then(|list| list.first().copied());
    listed.or_else(|| arch_of_vendor_class(options)).map(ClientArch)
}

/// `PXEClient:Arch:00007:UNDI:003001`: the same number again.
fn arch_of_vendor_class(options: &Options) -> Option<u16> {
    let (_, classes) = options.vendor_class()?;
    let mut words = std::str::from_utf8(classes.first()?).ok()?.split(':').skip_while(|word| *word != "Arch");
    words.nth(1)?.parse().ok()
}

/// RFC 6939.
fn link_layer_address(relay: &RelayHeader) -> Option<MacAddr> {
    ethernet(relay.options.get(code::CLIENT_LINK_LAYER)?)
}

/// Two octets of hardware type, then the address.
fn ethernet(octets: &[u8]) -> Option<MacAddr> {
    let (kind, address) = octets.split_first_chunk::<2>()?;
    (u16::from_be_bytes(*kind) == ETHERNET).then(|| address.try_into().ok().map(MacAddr)).flatten()
}

/// A link-local address made from a hardware address (RFC 4291, appendix A), as firmware makes it. Systems with stable
/// privacy (RFC 7217) do not.
fn of_link_local(address: Ipv6Addr) -> Option<MacAddr> {
    let [0xfe, 0x80, 0, 0, 0, 0, 0, 0, a, b, c, 0xff, 0xfe, d, e, f] = address.octets() else { return None };
    Some(MacAddr([a ^ 2, b, c, d, e, f]))
}

fn of_duid(duid: &[u8]) -> Option<MacAddr> {
    let (kind, rest) = duid.split_first_chunk::<2>()?;
    match u16::from_be_bytes(*kind) {
        DUID_LL => ethernet(rest),
        DUID_LLT => {
            let (hardware, rest) = rest.split_first_chunk::<2>()?;
            ethernet(&[hardware, rest.get(4..)?].concat())
        }
        _ => None,
    }
}

/// All zeros or ones is no identity.
fn uuid(duid: &[u8]) -> Option<Uuid> {
    let (kind, rest) = duid.split_first_chunk::<2>()?;
    let octets = <[u8; 16]>::try_from(rest).ok().filter(|_| u16::from_be_bytes(*kind) == DUID_UUID)?;
    (octets != [0; 16] && octets != [0xff; 16]).then(|| Uuid::from_bytes(octets))
}

fn is_of_one_machine(mac: MacAddr) -> bool {
    mac.0 != [0; 6] && mac.0.first().is_some_and(|first| first & 1 == 0)
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
