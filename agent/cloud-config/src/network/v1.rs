//! cloud-init's version 1: a list of interfaces, name servers and routes.

use super::section::{self, text};
use super::{Dynamic6, Form, Kind, Link, Network, NetworkError, Prefix, Route, address, bond};
use crate::yaml::Node;

pub(super) fn read(data: &Node) -> Result<Network, NetworkError> {
    let mut network = Network::new(Form::V1);
    for (index, item) in data.get("config").map(Node::items).unwrap_or_default().iter().enumerate() {
        let place = format!("config[{index}]");
        let name = || text(item, "name").ok_or_else(|| NetworkError::bad(&place, "has no name"));
        // parameters stand beside the rest or in a mapping of their own
        let parameters = item.get("params").unwrap_or(item);
        let kind = match text(item, "type") {
            Some("physical" | "infiniband") => Kind::Physical,
            Some("bond") => Kind::Bond {
                members: section::words(item, "bond_interfaces"),
                parameters: bond::bond(parameters, &place, &mut network.warnings)?,
            },
            Some("bridge") => Kind::Bridge {
                members: section::words(item, "bridge_interfaces"),
                parameters: bond::bridge(parameters, &place, &mut network.warnings)?,
            },
            Some("vlan") => {
                let on = text(item, "vlan_link").ok_or_else(|| NetworkError::bad(&place, "has no vlan_link"))?;
                Kind::Vlan { id: section::vlan(item, "vlan_id", &place)?, on: on.to_owned() }
            }
            Some("nameserver") => {
                let link =
                    text(item, "interface").and_then(|name| network.links.iter_mut().find(|link| link.name == name));
                let (servers, search) =
                    (section::ips(item, "address", &place)?, section::domains(item, "search", &place)?);
                match link {
                    Some(link) => {
                        link.nameservers.extend(servers);
                        link.search.extend(search);
                    }
                    None => {
                        network.nameservers.extend(servers);
                        network.search.extend(search);
                    }
                }
                continue;
            }
            Some("route") => {
                network.routes.push(section::route(
                    item,
                    ["destination", "network", "to"],
                    ["gateway", "via"],
                    &place,
                )?);
                continue;
            }
            Some("loopback") => continue,
            other => {
                network.warnings.push(format!("{place}: type {} is left out", address::shown(other.unwrap_or("none"))));
                continue;
            }
        };
        let mut link = Link::new(name()?, kind);
        link.mac = section::mac(item, "mac_address", &place)?;
        link.mtu = section::mtu(item, "mtu", &place)?;
        link.accept_ra = item.get("accept-ra").and_then(Node::flag);
        for (at, subnet) in item.get("subnets").map(Node::items).unwrap_or_default().iter().enumerate() {
            self::subnet(subnet, &mut link, &format!("{place}.subnets[{at}]"), &mut network.warnings)?;
        }
        network.links.push(link);
    }
    Ok(network)
}

fn subnet(item: &Node, link: &mut Link, place: &str, warnings: &mut Vec<String>) -> Result<(), NetworkError> {
    match text(item, "type") {
        Some("dhcp" | "dhcp4") => link.dhcp4 = true,
        Some("dhcp6") => link.dynamic6 = Dynamic6::Dhcp,
        Some("ipv6_dhcpv6-stateful") => {
            link.dynamic6 = Dynamic6::Dhcp;
            link.accept_ra = Some(true);
        }
        Some("ipv6_slaac" | "ipv6_dhcpv6-stateless") => link.dynamic6 = Dynamic6::Autoconf,
        Some("static" | "static6") => {
            let given = text(item, "address").ok_or_else(|| NetworkError::bad(place, "has no address"))?;
            link.addresses.push(address::address(given, text(item, "netmask"), place)?);
            if let Some(via) = section::hop(item, "gateway", place)? {
                link.add_route(Route { to: Prefix::default_of(via), via: Some(via), metric: None, on_link: false });
            }
        }
        Some("manual") | None => {}
        Some(other) => warnings.push(format!("{place}: type {} is left out", address::shown(other))),
    }
    for (index, route) in item.get("routes").map(Node::items).unwrap_or_default().iter().enumerate() {
        let place = format!("{place}.routes[{index}]");
        link.add_route(section::route(route, ["network", "destination", "to"], ["gateway", "via"], &place)?);
    }
    if link.mtu.is_none() {
        link.mtu = section::mtu(item, "mtu", place)?;
    }
    link.nameservers.extend(section::ips(item, "dns_nameservers", place)?);
    link.search.extend(section::domains(item, "dns_search", place)?);
    Ok(())
}
