//! cloud-init's version 2, which is a part of netplan's language.

use super::section::{self, text};
use super::{Dynamic6, Form, Kind, Link, Network, NetworkError, Prefix, Route, address, bond};
use crate::yaml::Node;

/// What is read of a link of any kind.
const KEYS: [&str; 21] = [
    "match",
    "set-name",
    "dhcp4",
    "dhcp6",
    "addresses",
    "gateway4",
    "gateway6",
    "routes",
    "nameservers",
    "mtu",
    "macaddress",
    "accept-ra",
    "optional",
    "interfaces",
    "parameters",
    "id",
    "link",
    "critical",
    "renderer",
    "dhcp-identifier",
    "wakeonlan",
];

pub(super) fn read(data: &Node) -> Result<Network, NetworkError> {
    let mut network = Network::new(Form::V2);
    for (section, items) in data.entries() {
        if ["version", "renderer"].contains(&section) || items.is_null() {
            continue;
        }
        if !["ethernets", "bonds", "bridges", "vlans"].contains(&section) {
            network.warnings.push(format!("{}: left out", address::shown(section)));
            continue;
        }
        for (id, item) in items.entries() {
            let place = format!("{section}.{}", address::shown(id));
            let link = one(section, id, item, &place, &mut network.warnings)?;
            network.links.push(link);
        }
    }
    // what is on others comes after them
    network.links.sort_by_key(|link| match link.kind {
        Kind::Physical => 0,
        Kind::Bond { .. } => 1,
        Kind::Bridge { .. } => 2,
        Kind::Vlan { .. } => 3,
    });
    network.original = Some(data.to_json());
    Ok(network)
}

fn one(section: &str, id: &str, item: &Node, place: &str, warnings: &mut Vec<String>) -> Result<Link, NetworkError> {
    for (key, _) in item.entries().filter(|(key, _)| !KEYS.contains(key)) {
        warnings.push(format!("{place}.{}: left out", address::shown(key)));
    }
    let members = || section::words(item, "interfaces");
    let kind = match section {
        "bonds" => Kind::Bond { members: members(), parameters: bond::plain(item, place, warnings)? },
        "bridges" => Kind::Bridge { members: members(), parameters: bond::plain(item, place, warnings)? },
        "vlans" => {
            let on = text(item, "link").ok_or_else(|| NetworkError::bad(place, "has no link"))?;
            Kind::Vlan { id: section::vlan(item, "id", place)?, on: on.to_owned() }
        }
        _ => Kind::Physical,
    };
    let mut link = Link::new(id, kind);
    let matched = item.get("match");
    if link.kind == Kind::Physical {
        link.mac = matched.map(|matched| section::mac(matched, "macaddress", place)).transpose()?.flatten();
        link.matches_name = matched.and_then(|matched| text(matched, "name")).map(str::to_owned);
        if link.matches_name.as_deref().is_some_and(|name| name.contains(char::is_whitespace)) {
            return Err(NetworkError::bad(format!("{place}.match.name"), "has blanks"));
        }
        if let Some(name) = text(item, "set-name") {
            name.clone_into(&mut link.name);
        }
    } else {
        link.mac = section::mac(item, "macaddress", place)?;
    }
    link.mtu = section::mtu(item, "mtu", place)?;
    let flag = |key: &str| item.get(key).and_then(Node::flag);
    link.dhcp4 = flag("dhcp4").unwrap_or(false);
    link.dynamic6 = if flag("dhcp6").unwrap_or(false) { Dynamic6::Dhcp } else { Dynamic6::None };
    link.accept_ra = flag("accept-ra");
    for (index, entry) in item.get("addresses").map(Node::items).unwrap_or_default().iter().enumerate() {
        let place = format!("{place}.addresses[{index}]");
        // an address with options is a mapping of one
        let given = entry.text().or_else(|| entry.entries().next().map(|(key, _)| key));
        link.addresses.push(address::address(given.unwrap_or_default(), None, &place)?);
    }
    for key in ["gateway4", "gateway6"] {
        if let Some(via) = section::hop(item, key, place)? {
            link.add_route(Route { to: Prefix::default_of(via), via: Some(via), metric: None, on_link: false });
        }
    }
    for (index, route) in item.get("routes").map(Node::items).unwrap_or_default().iter().enumerate() {
        let place = format!("{place}.routes[{index}]");
        link.add_route(section::route(route, ["to", "network", "destination"], ["via", "gateway"], &place)?);
    }
    if let Some(servers) = item.get("nameservers") {
        link.nameservers = section::ips(servers, "addresses", place)?;
        link.search = section::domains(servers, "search", place)?;
    }
    Ok(link)
}
