//! OpenStack's `network_data.json`, which Metal3 writes, too. NICs go by their MAC address; a VLAN is named after the link it is on.

use super::section::{self, text};
use super::{Dynamic6, Form, Kind, Link, Network, NetworkError, Prefix, Route, address, bond};
use crate::yaml::Node;

pub(super) fn read(data: &Node) -> Result<Network, NetworkError> {
    let mut network = Network::new(Form::OpenStack);
    // OpenStack's ids, and the names that links go by here
    let mut names: Vec<(String, String)> = Vec::new();
    let links = data.get("links").map(Node::items).unwrap_or_default();
    let mut bonds = 0;
    for (index, item) in links.iter().enumerate() {
        let place = format!("links[{index}]");
        let id = text(item, "id").ok_or_else(|| NetworkError::bad(&place, "has no id"))?;
        let name = match text(item, "type") {
            Some("bond") => {
                bonds += 1;
                text(item, "name").map_or_else(|| format!("bond{}", bonds - 1), str::to_owned)
            }
            _ => text(item, "name").unwrap_or(id).to_owned(),
        };
        names.push((id.to_owned(), name));
    }
    let name_of = |id: &str, place: &str| {
        let found = names.iter().find(|(known, _)| known == id).map(|(_, name)| name.clone());
        found.ok_or_else(|| NetworkError::bad(place, format!("there is no link {:?}", address::shown(id))))
    };
    for (index, (item, (_, name))) in links.iter().zip(&names).enumerate() {
        let place = format!("links[{index}]");
        let link = match text(item, "type").unwrap_or("phy") {
            "bond" => {
                let members = section::words(item, "bond_links")
                    .iter()
                    .map(|id| name_of(id, &place))
                    .collect::<Result<_, _>>()?;
                Link::new(name, Kind::Bond { members, parameters: bond::bond(item, &place, &mut network.warnings)? })
            }
            "vlan" => {
                let on = text(item, "vlan_link").ok_or_else(|| NetworkError::bad(&place, "has no vlan_link"))?;
                let (id, on) = (section::vlan(item, "vlan_id", &place)?, name_of(on, &place)?);
                Link::new(format!("{on}.{id}"), Kind::Vlan { id, on })
            }
            _ => Link::new(name, Kind::Physical),
        };
        let key = if matches!(link.kind, Kind::Vlan { .. }) { "vlan_mac_address" } else { "ethernet_mac_address" };
        let mac = section::mac(item, key, &place)?;
        network.links.push(Link { mac, mtu: section::mtu(item, "mtu", &place)?, ..link });
    }
    for (index, item) in data.get("networks").map(Node::items).unwrap_or_default().iter().enumerate() {
        let place = format!("networks[{index}]");
        let on = text(item, "link").ok_or_else(|| NetworkError::bad(&place, "has no link"))?;
        let at = names.iter().position(|(id, _)| id == on);
        let link = at.and_then(|at| network.links.get_mut(at));
        let link =
            link.ok_or_else(|| NetworkError::bad(&place, format!("there is no link {:?}", address::shown(on))))?;
        one(item, link, &place, &mut network.warnings)?;
    }
    for (index, item) in data.get("services").map(Node::items).unwrap_or_default().iter().enumerate() {
        let place = format!("services[{index}]");
        match text(item, "type") {
            Some("dns") | None => network.nameservers.extend(section::ips(item, "address", &place)?),
            Some("dns-search") => network.search.extend(section::domains(item, "address", &place)?),
            Some(other) => {
                network.warnings.push(format!("{place}: a service of type {} is left out", address::shown(other)))
            }
        }
    }
    Ok(network)
}

fn one(item: &Node, link: &mut Link, place: &str, warnings: &mut Vec<String>) -> Result<(), NetworkError> {
    match text(item, "type") {
        Some("ipv4_dhcp") => link.dhcp4 = true,
        Some("ipv6_dhcp" | "ipv6_dhcpv6-stateful") => {
            link.dynamic6 = Dynamic6::Dhcp;
            link.accept_ra = Some(true);
        }
        Some("ipv6_slaac" | "ipv6_dhcpv6-stateless") => link.dynamic6 = Dynamic6::Autoconf,
        Some(kind @ ("ipv4" | "static" | "ipv6" | "static6")) => {
            let given = text(item, "ip_address").ok_or_else(|| NetworkError::bad(place, "has no ip_address"))?;
            link.addresses.push(address::address(given, text(item, "netmask"), place)?);
            if kind.ends_with('6') {
                link.accept_ra.get_or_insert(false);
            }
            if let Some(via) = section::hop(item, "gateway", place)? {
                link.add_route(Route { to: Prefix::default_of(via), via: Some(via), metric: None, on_link: false });
            }
        }
        // an interface without addresses
        Some("manual" | "none") | None => {}
        Some(other) => warnings.push(format!("{place}: a network of type {} is left out", address::shown(other))),
    }
    for route in item.get("routes").map(Node::items).unwrap_or_default() {
        link.add_route(section::route(route, ["network", "destination", "to"], ["gateway", "via"], place)?);
    }
    link.nameservers.extend(section::ips(item, "dns_nameservers", place)?);
    link.search.extend(section::domains(item, "dns_search", place)?);
    for service in item.get("services").map(Node::items).unwrap_or_default() {
        if text(service, "type") == Some("dns") {
            link.nameservers.extend(section::ips(service, "address", place)?);
        }
    }
    Ok(())
}
