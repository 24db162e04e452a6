//! OpenStack's `network_data.json`, which Metal3's preprovisioning network data is, as the ramdisk's network. Pure.
//!
//! A ramdisk without its network is never heard of, so whatever cannot be set up there is refused before a host boots.

use std::net::IpAddr;

use bessemer_protocol::{AddressSource, BondMode, Link, LinkKind, NetworkConfig, Route};
use serde_json::{Map, Value};

/// Most entries of each list.
const MOST: usize = 64;
/// The longest name of an interface that the kernel takes.
const LONGEST_NAME: usize = 15;

/// What to set up, or what is wrong; the message names no Secret.
pub(super) fn of(data: &Map<String, Value>) -> Result<NetworkConfig, String> {
    if data.contains_key("interfaces") || data.contains_key("nmstate") {
        return Err("it is nmstate's form; OpenStack's network_data.json is wanted, with links and networks".to_owned());
    }
    if data.contains_key("ethernets") || data.contains_key("config") || data.contains_key("network") {
        return Err(
            "it is cloud-init's own form; OpenStack's network_data.json is wanted, with links and networks".to_owned()
        );
    }
    let mut links = Vec::new();
    for (at, item) in list(data, "links")?.into_iter().enumerate() {
        links.push(link(item).map_err(|why| format!("links[{at}]: {why}"))?);
    }
    let mut found =
        Found { names: links.iter().map(|(id, link)| (id.clone(), link.id.clone())).collect(), resolvers: Vec::new() };
    let mut links: Vec<Link> = links.into_iter().map(|(_, link)| link).collect();
    found.connect(&mut links)?;
    for (at, item) in list(data, "networks")?.into_iter().enumerate() {
        found.network(item, &mut links).map_err(|why| format!("networks[{at}]: {why}"))?;
    }
    found.services(data)?;
    if links.iter().all(|link| link.addresses.is_empty()) {
        return Err(
            "no network gives the ramdisk an address: one of type ipv4, ipv4_dhcp, ipv6 or ipv6_dhcp is needed"
                .to_owned(),
        );
    }
    Ok(NetworkConfig { links: in_order(links)?, resolvers: found.resolvers })
}

struct Found {
    /// OpenStack's ids, and what the links are called here.
    names: Vec<(String, String)>,
    resolvers: Vec<IpAddr>,
}

impl Found {
    fn name(&self, id: &str) -> Result<String, String> {
        let found = self.names.iter().find(|(known, _)| known == id).map(|(_, name)| name.clone());
        found.ok_or_else(|| format!("there is no link {id:?}"))
    }

    /// From OpenStack's ids to names, in what links say of each other.
    fn connect(&self, links: &mut [Link]) -> Result<(), String> {
        for (at, link) in links.iter_mut().enumerate() {
            let of = |why: String| format!("links[{at}]: {why}");
            match &mut link.kind {
                LinkKind::Physical { .. } => {}
                LinkKind::Vlan { on, .. } => *on = self.name(on).map_err(of)?,
                LinkKind::Bond { members, .. } => {
                    for member in members {
                        *member = self.name(member).map_err(of)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn network(&mut self, item: &Map<String, Value>, links: &mut [Link]) -> Result<(), String> {
        let name = self.name(text(item, "link").ok_or("it has no link")?)?;
        let link = links.iter_mut().find(|link| link.id == name).ok_or("its link is not there")?;
        match text(item, "type") {
            Some("ipv4_dhcp") => link.addresses.push(AddressSource::Dhcp4),
            Some("ipv6_dhcp" | "ipv6_dhcpv6-stateful") => link.addresses.push(AddressSource::Dhcp6),
            // The kernel does that by itself, whatever else the link has.
            Some("ipv6_slaac" | "ipv6_dhcpv6-stateless") => {}
            Some("ipv4" | "static" | "ipv6" | "static6") => link.addresses.push(fixed(item)?),
            other => return Err(format!("type {:?} is not known", other.unwrap_or_default())),
        }
        for (at, route) in list(item, "routes")?.into_iter().enumerate() {
            link.routes.push(self::route(route).map_err(|why| format!("routes[{at}]: {why}"))?);
        }
        if let Some(gateway) = text(item, "gateway") {
            let gateway: IpAddr = gateway.parse().map_err(|_| format!("gateway {gateway:?} is no address"))?;
            let destination = unspecified(gateway);
            link.routes.push(Route { destination, prefix: 0, gateway: Some(gateway), metric: None });
        }
        self.services(item)
    }

    fn services(&mut self, item: &Map<String, Value>) -> Result<(), String> {
        for service in list(item, "services")? {
            if !matches!(text(service, "type"), Some("dns")) {
                continue;
            }
            let address = text(service, "address").unwrap_or_default();
            let address = address.parse().map_err(|_| format!("name server {address:?} is no address"))?;
            if !self.resolvers.contains(&address) {
                self.resolvers.push(address);
            }
        }
        Ok(())
    }
}

/// OpenStack's id of a link, and the link; what it says of others is still in OpenStack's ids.
fn link(item: &Map<String, Value>) -> Result<(String, Link), String> {
    let id = text(item, "id").ok_or("it has no id")?.to_owned();
    let named = text(item, "name").unwrap_or(&id).to_owned();
    let mac = |key: &str| -> Result<Option<String>, String> { text(item, key).map(hardware_address).transpose() };
    let (name, kind) = match text(item, "type").unwrap_or("phy") {
        "bond" => {
            let members = item.get("bond_links").and_then(Value::as_array).cloned().unwrap_or_default();
            let members: Vec<String> = members.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            if members.is_empty() {
                return Err("a bond needs bond_links".to_owned());
            }
            let mode = text(item, "bond_mode").unwrap_or("balance-rr");
            let mode: BondMode =
                serde_json::from_value(mode.into()).map_err(|_| format!("there is no bond_mode {mode:?}"))?;
            (interface(named)?, LinkKind::Bond { members, mode, mac: mac("ethernet_mac_address")? })
        }
        "vlan" => {
            let vlan =
                number(item, "vlan_id").filter(|id| (1..=4094).contains(id)).and_then(|id| u16::try_from(id).ok());
            let vlan = vlan.ok_or("a VLAN needs a vlan_id of 1 to 4094")?;
            let on = text(item, "vlan_link").ok_or("a VLAN needs a vlan_link")?.to_owned();
            let name = if named.len() > LONGEST_NAME { format!("vlan{vlan}") } else { named };
            (interface(name)?, LinkKind::Vlan { on, vlan })
        }
        _ => {
            let mac = mac("ethernet_mac_address")?
                .ok_or("it needs an ethernet_mac_address: NICs are known by it in the ramdisk")?;
            (id.clone(), LinkKind::Physical { mac })
        }
    };
    let mtu = number(item, "mtu").map(|mtu| u32::try_from(mtu).unwrap_or(u32::MAX));
    if let Some(mtu) = mtu.filter(|mtu| !(576..=65_536).contains(mtu)) {
        return Err(format!("an MTU of {mtu} is not between 576 and 65536"));
    }
    Ok((id, Link { id: name, kind, mtu, addresses: Vec::new(), routes: Vec::new() }))
}

fn interface(name: String) -> Result<String, String> {
    let fits =
        !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(|c: char| c == '/' || c.is_whitespace());
    if fits && name != "." && name != ".." {
        return Ok(name);
    }
    Err(format!(
        "{name:?} is no name for an interface: at most {LONGEST_NAME} letters, no slash and no space; set name"
    ))
}

fn fixed(item: &Map<String, Value>) -> Result<AddressSource, String> {
    let given = text(item, "ip_address").ok_or("it has no ip_address")?;
    let (address, length) = given.split_once('/').map_or((given, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().map_err(|_| format!("ip_address {given:?} is no address"))?;
    let mask = length.or_else(|| text(item, "netmask")).ok_or("it has no netmask")?;
    Ok(AddressSource::Static { address, prefix: prefix(address, mask)? })
}

fn route(item: &Map<String, Value>) -> Result<Route, String> {
    let network = text(item, "network").ok_or("it has no network")?;
    let (bare, length) = network.split_once('/').map_or((network, None), |(bare, length)| (bare, Some(length)));
    let destination: IpAddr = bare.parse().map_err(|_| format!("network {network:?} is no address"))?;
    let mask = length.or_else(|| text(item, "netmask")).ok_or("it has no netmask")?;
    let gateway =
        text(item, "gateway").map(|gateway| gateway.parse().map_err(|_| format!("gateway {gateway:?} is no address")));
    Ok(Route { destination, prefix: prefix(destination, mask)?, gateway: gateway.transpose()?, metric: None })
}

/// Bits of a mask: `255.255.255.0`, `ffff:ffff::` or `24`.
fn prefix(address: IpAddr, mask: &str) -> Result<u8, String> {
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let bits = match mask.parse::<IpAddr>() {
        Ok(IpAddr::V4(mask)) if address.is_ipv4() => contiguous(u128::from(u32::from(mask)) << 96),
        Ok(IpAddr::V6(mask)) if address.is_ipv6() => contiguous(u128::from(mask)),
        Ok(_) => None,
        Err(_) => mask.parse().ok(),
    };
    bits.filter(|bits| *bits <= longest).ok_or_else(|| format!("{mask:?} is no netmask for {address}"))
}

fn contiguous(mask: u128) -> Option<u8> {
    let ones = mask.leading_ones();
    (mask.count_ones() == ones).then(|| u8::try_from(ones).ok()).flatten()
}

fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    }
}

fn hardware_address(text: &str) -> Result<String, String> {
    let mac = text.to_ascii_lowercase().replace('-', ":");
    let octet = |octet: &str| octet.len() == 2 && octet.bytes().all(|digit| digit.is_ascii_hexdigit());
    let is_mac = mac.split(':').count() == 6 && mac.split(':').all(octet);
    if is_mac { Ok(mac) } else { Err(format!("{text:?} is no MAC address")) }
}

/// Each link after those that it is made of.
fn in_order(mut waiting: Vec<Link>) -> Result<Vec<Link>, String> {
    let mut ready: Vec<Link> = Vec::new();
    while !waiting.is_empty() {
        let before = ready.len();
        let (now, later): (Vec<Link>, Vec<Link>) = waiting.into_iter().partition(|link| {
            let is_ready = |id: &String| ready.iter().any(|link| link.id == *id);
            match &link.kind {
                LinkKind::Physical { .. } => true,
                LinkKind::Vlan { on, .. } => is_ready(on),
                LinkKind::Bond { members, .. } => members.iter().all(is_ready),
            }
        });
        if let Some(double) = now
            .iter()
            .enumerate()
            .find(|(at, link)| ready.iter().chain(now.iter().take(*at)).any(|other| other.id == link.id))
        {
            return Err(format!("two links are called {:?}", double.1.id));
        }
        ready.extend(now);
        if ready.len() == before {
            return Err("links are made of each other in a circle".to_owned());
        }
        waiting = later;
    }
    Ok(ready)
}

fn list<'a>(item: &'a Map<String, Value>, key: &str) -> Result<Vec<&'a Map<String, Value>>, String> {
    let list = match item.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= MOST => list,
        Some(Value::Array(list)) => return Err(format!("{key} has {} entries, at most {MOST} are taken", list.len())),
        Some(_) => return Err(format!("{key} is no list")),
    };
    list.iter().map(|entry| entry.as_object().ok_or_else(|| format!("an entry of {key} is no mapping"))).collect()
}

fn text<'a>(item: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    item.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A number, or a text with one.
fn number(item: &Map<String, Value>, key: &str) -> Option<u64> {
    let value = item.get(key)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
#[path = "ramdisk_network_tests.rs"]
mod tests;
