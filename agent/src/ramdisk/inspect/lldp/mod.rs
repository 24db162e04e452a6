//! LLDP (IEEE 802.1AB): what the switch at the other end of a cable says of itself. Reading a frame is here; hearing one is [`listen`]'s.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bessemer_protocol::LldpNeighbour;

mod listen;
#[cfg(test)]
mod tests;

pub(in crate::ramdisk) use listen::Listener;

/// Ethernet type.
const LLDP: [u8; 2] = [0x88, 0xcc];

/// How many of anything that a frame may repeat are kept.
const MOST: usize = 64;

/// Reads an Ethernet frame. None when it is not LLDP or does not say who sent it. Whatever cannot be read is kept as it came, and the rest
/// is read all the same.
pub(super) fn read(frame: &[u8]) -> Option<LldpNeighbour> {
    let mut rest = payload(frame)?;
    let mut found = LldpNeighbour::default();
    let mut is_known = false;
    while let [first, second, after @ ..] = rest {
        let kind = first >> 1;
        let length = usize::from(first & 1) << 8 | usize::from(*second);
        if kind == 0 {
            break;
        }
        let Some((value, next)) = after.split_at_checked(length) else {
            unreadable(&mut found, kind, after);
            break;
        };
        match part(kind, value, &mut found) {
            Some(()) => is_known |= kind == 1 || kind == 2,
            None => unreadable(&mut found, kind, value),
        }
        rest = next;
    }
    is_known.then_some(found)
}

/// What follows the Ethernet header, with or without a VLAN tag.
fn payload(frame: &[u8]) -> Option<&[u8]> {
    match frame.get(12..)? {
        [0x81, 0x00, _, _, kind @ ..] | kind => kind.strip_prefix(&LLDP),
    }
}

fn unreadable(found: &mut LldpNeighbour, kind: u8, value: &[u8]) {
    if found.unreadable.len() < MOST {
        let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        found.unreadable.push(format!("{kind}:{hex}"));
    }
}

/// One type, length, value. None when the value is not of that type.
fn part(kind: u8, value: &[u8], found: &mut LldpNeighbour) -> Option<()> {
    match kind {
        1 => found.chassis_id = chassis(value)?,
        2 => found.port_id = port(value)?,
        4 => found.port_description = text(value)?,
        5 => found.system_name = text(value)?,
        6 => found.system_description = text(value)?,
        8 => {
            let address = management_address(value)?;
            if found.management_addresses.len() < MOST {
                found.management_addresses.extend(address);
            }
        }
        127 => organisation(value, found)?,
        // Time to live, capabilities, and whatever is reserved: nobody asks for them.
        _ => {}
    }
    Some(())
}

fn chassis(value: &[u8]) -> Option<String> {
    let (subtype, id) = value.split_first()?;
    match subtype {
        4 => mac(id),
        5 => network_address(id),
        _ => text(id),
    }
}

fn port(value: &[u8]) -> Option<String> {
    let (subtype, id) = value.split_first()?;
    match subtype {
        3 => mac(id),
        4 => network_address(id),
        _ => text(id),
    }
}

fn mac(id: &[u8]) -> Option<String> {
    let octets: &[u8; 6] = id.try_into().ok()?;
    Some(octets.map(|octet| format!("{octet:02x}")).join(":"))
}

fn network_address(id: &[u8]) -> Option<String> {
    let (family, address) = id.split_first()?;
    ip(*family, address).map(|address| address.to_string())
}

/// By IANA's address family numbers.
fn ip(family: u8, address: &[u8]) -> Option<IpAddr> {
    match family {
        1 => Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(address).ok()?))),
        2 => Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?))),
        _ => None,
    }
}

/// Some devices pad with zeroes. Text that is not UTF-8 is no text.
fn text(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?;
    Some(text.chars().filter(|c| !c.is_control() || *c == '\n').collect::<String>().trim().to_owned())
}

/// An address that is neither IPv4 nor IPv6 (a MAC, say) is well-formed and not kept.
fn management_address(value: &[u8]) -> Option<Option<IpAddr>> {
    let (length, rest) = value.split_first()?;
    let (address, _) = rest.split_at_checked(usize::from(*length))?;
    let (family, address) = address.split_first()?;
    match family {
        1 | 2 => ip(*family, address).map(Some),
        _ => Some(None),
    }
}

/// Extensions of IEEE 802.1 and 802.3. Those of others are passed over.
fn organisation(value: &[u8], found: &mut LldpNeighbour) -> Option<()> {
    let (head, rest) = value.split_at_checked(4)?;
    let word = || rest.first_chunk::<2>().map(|bytes| u16::from_be_bytes(*bytes));
    match *head {
        [0x00, 0x80, 0xc2, 1] => found.native_vlan = Some(word()?),
        [0x00, 0x80, 0xc2, 3] => {
            let (length, name) = rest.get(2..)?.split_first()?;
            let name = text(name.get(..usize::from(*length))?)?;
            if found.vlans.len() < MOST {
                found.vlans.push((word()?, name));
            }
        }
        [0x00, 0x80, 0xc2, 7] | [0x00, 0x12, 0x0f, 3] => {
            let (status, id) = rest.split_first()?;
            let id = u32::from_be_bytes(*id.first_chunk::<4>()?);
            // Bit 1: the port is aggregated now.
            found.aggregation = (status & 2 != 0).then_some(id).or(found.aggregation);
        }
        [0x00, 0x12, 0x0f, 4] => found.max_frame = Some(word()?),
        _ => {}
    }
    Some(())
}
