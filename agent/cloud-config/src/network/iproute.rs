//! The networks as they are to be now, by the program `ip`, for an image whose own configuration nobody here can write. It is for what is running only:
//! whoever calls this does so at every start. Nothing is taken away that it did not put there.

use std::path::Path;

use super::{Dynamic6, Kind, Link, Network, Route};

/// Commands in order, and what cannot be done in this way. `sys` tells which links are there.
#[must_use]
pub fn commands(network: &Network, sys: &Path) -> (Vec<Vec<String>>, Vec<String>) {
    let (mut commands, mut left_out) = (Vec::new(), Vec::new());
    let mut run = |words: &[&str]| commands.push(words.iter().map(|word| (*word).to_owned()).collect());
    let there = |link: &Link| sys.join("class/net").join(&link.name).exists();
    // bonds and bridges before their members, VLANs after what they are on
    for link in network.links.iter().filter(|link| !there(link)) {
        match &link.kind {
            Kind::Bond { parameters, .. } => {
                run(&[
                    "ip",
                    "link",
                    "add",
                    &link.name,
                    "type",
                    "bond",
                    "mode",
                    parameters.get("mode").map_or("balance-rr", String::as_str),
                    "miimon",
                    parameters.get("mii-monitor-interval").map_or("100", String::as_str),
                ]);
            }
            Kind::Bridge { .. } => run(&["ip", "link", "add", &link.name, "type", "bridge"]),
            Kind::Physical | Kind::Vlan { .. } => {}
        }
    }
    for link in &network.links {
        if let Some((master, _)) = network.master_of(&link.name) {
            // a bond takes no member that is up
            run(&["ip", "link", "set", &link.name, "down"]);
            run(&["ip", "link", "set", &link.name, "master", &master.name]);
        }
    }
    for link in &network.links {
        if let Kind::Vlan { id, on } = &link.kind
            && !there(link)
        {
            run(&["ip", "link", "add", "link", on, "name", &link.name, "type", "vlan", "id", &id.to_string()]);
        }
        if let Some(mac) = link.mac.as_ref().filter(|_| link.kind != Kind::Physical) {
            run(&["ip", "link", "set", &link.name, "address", mac]);
        }
        if let Some(mtu) = link.mtu {
            run(&["ip", "link", "set", &link.name, "mtu", &mtu.to_string()]);
        }
        run(&["ip", "link", "set", &link.name, "up"]);
        if link.dhcp4 || link.dynamic6 == Dynamic6::Dhcp {
            left_out.push(format!("{}: DHCP is left to the image", link.name));
        }
    }
    for link in &network.links {
        for address in &link.addresses {
            run(&["ip", "address", "replace", &address.to_string(), "dev", &link.name]);
        }
        for route in link.routes.iter().chain(network.routes_by(link)) {
            let words = self::route(route, &link.name);
            run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
    (commands, left_out)
}

fn route(route: &Route, link: &str) -> Vec<String> {
    let family = if route.to.network.is_ipv4() { "-4" } else { "-6" };
    let mut words: Vec<String> = ["ip", family, "route", "replace"].map(str::to_owned).to_vec();
    words.push(route.to.to_string());
    if let Some(via) = route.via {
        words.extend(["via".to_owned(), via.to_string()]);
    }
    words.extend(["dev".to_owned(), link.to_owned()]);
    if let Some(metric) = route.metric {
        words.extend(["metric".to_owned(), metric.to_string()]);
    }
    if route.on_link {
        words.push("onlink".to_owned());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network;

    #[test]
    fn links_are_made_before_they_are_used() {
        let text = "version: 2\nethernets: {eth1: {}, eth2: {}}\nbonds: {b0: {interfaces: [eth1, eth2], parameters: {mode: 802.3ad}}}\nvlans: {b0.7: {id: 7, link: b0, mtu: 1400, addresses: [192.0.2.7/24], routes: [{to: default, via: 192.0.2.1, metric: 9}]}}\n";
        let empty = tempfile::tempdir().unwrap();
        let (commands, left_out) = commands(&network::parse(text).unwrap(), empty.path());
        let lines: Vec<String> = commands.iter().map(|words| words.join(" ")).collect();
        assert_eq!(left_out, Vec::<String>::new());
        assert_eq!(
            lines,
            [
                "ip link add b0 type bond mode 802.3ad miimon 100",
                "ip link set eth1 down",
                "ip link set eth1 master b0",
                "ip link set eth2 down",
                "ip link set eth2 master b0",
                "ip link set eth1 up",
                "ip link set eth2 up",
                "ip link set b0 up",
                "ip link add link b0 name b0.7 type vlan id 7",
                "ip link set b0.7 mtu 1400",
                "ip link set b0.7 up",
                "ip address replace 192.0.2.7/24 dev b0.7",
                "ip -4 route replace 0.0.0.0/0 via 192.0.2.1 dev b0.7 metric 9",
            ]
        );
    }
}
