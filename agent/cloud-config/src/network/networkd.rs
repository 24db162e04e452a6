//! Files for systemd-networkd: a `.netdev` for everything that is made, a `.network` for every link (systemd.netdev(5), systemd.network(5)).

use std::fmt::Write;

use super::{ConfigFile, Dynamic6, Form, Kind, Link, Network, Route};

/// Where the files go; cloud-init's names, so that either replaces those of the other.
const FOLDER: &str = "/etc/systemd/network";

/// All files.
#[must_use]
pub fn render(network: &Network) -> Vec<ConfigFile> {
    let mut files = Vec::new();
    for link in &network.links {
        let file = |kind: &str, content: String| ConfigFile {
            path: format!("{FOLDER}/10-cloud-init-{}.{kind}", link.name),
            content,
            mode: 0o644,
        };
        files.extend(device(link).map(|content| file("netdev", content)));
        files.push(file("network", settings(network, link)));
    }
    files
}

/// Section by section, empty ones left out.
#[derive(Default)]
struct Sections(String);

impl Sections {
    fn add(&mut self, name: &str, lines: &[(&str, Option<String>)]) {
        let given: Vec<String> =
            lines.iter().filter_map(|(key, value)| value.as_ref().map(|value| format!("{key}={value}\n"))).collect();
        if !given.is_empty() {
            let gap = if self.0.is_empty() { "" } else { "\n" };
            let _ = write!(self.0, "{gap}[{name}]\n{}", given.concat());
        }
    }
}

/// netplan's parameters of bonds, and networkd's keys.
const BOND: [(&str, &str); 14] = [
    ("mode", "Mode"),
    ("lacp-rate", "LACPTransmitRate"),
    ("transmit-hash-policy", "TransmitHashPolicy"),
    ("ad-select", "AdSelect"),
    ("min-links", "MinLinks"),
    ("all-slaves-active", "AllSlavesActive"),
    ("arp-ip-targets", "ARPIPTargets"),
    ("arp-validate", "ARPValidate"),
    ("fail-over-mac-policy", "FailOverMACPolicy"),
    ("gratuitous-arp", "GratuitousARP"),
    ("primary-reselect-policy", "PrimaryReselectPolicy"),
    ("mii-monitor-interval", "MIIMonitorSec"),
    ("up-delay", "UpDelaySec"),
    ("down-delay", "DownDelaySec"),
];

/// The same of bridges.
const BRIDGE: [(&str, &str); 6] = [
    ("ageing-time", "AgeingTimeSec"),
    ("priority", "Priority"),
    ("forward-delay", "ForwardDelaySec"),
    ("hello-time", "HelloTimeSec"),
    ("max-age", "MaxAgeSec"),
    ("stp", "STP"),
];

fn device(link: &Link) -> Option<String> {
    let mut sections = Sections::default();
    let mut head = |kind: &str| {
        let name = Some(link.name.clone());
        sections.add("NetDev", &[("Name", name), ("Kind", Some(kind.to_owned())), ("MACAddress", link.mac.clone())]);
    };
    match &link.kind {
        Kind::Physical => return None,
        Kind::Vlan { id, .. } => {
            head("vlan");
            sections.add("VLAN", &[("Id", Some(id.to_string()))]);
        }
        Kind::Bond { parameters, .. } => {
            head("bond");
            let value = |key: &str| {
                let value = parameters.get(key)?;
                // netplan's milliseconds
                let milliseconds =
                    ["mii-monitor-interval", "up-delay", "down-delay"].contains(&key) && value.parse::<u32>().is_ok();
                Some(if milliseconds { format!("{value}ms") } else { value.replace(',', " ") })
            };
            let lines: Vec<_> = BOND.iter().map(|(netplan, networkd)| (*networkd, value(netplan))).collect();
            sections.add("Bond", &lines);
        }
        Kind::Bridge { parameters, .. } => {
            head("bridge");
            let lines: Vec<_> =
                BRIDGE.iter().map(|(netplan, networkd)| (*networkd, parameters.get(*netplan).cloned())).collect();
            sections.add("Bridge", &lines);
        }
    }
    Some(sections.0)
}

fn settings(network: &Network, link: &Link) -> String {
    let mut sections = Sections::default();
    let physical = link.kind == Kind::Physical;
    let name = match (&link.matches_name, &link.mac) {
        (Some(pattern), _) => Some(pattern.clone()),
        // version 2 matches by address alone when it says so
        (None, Some(_)) if physical && network.form == Form::V2 => None,
        _ => Some(link.name.clone()),
    };
    sections.add("Match", &[("Name", name), ("MACAddress", link.mac.clone().filter(|_| physical))]);
    sections.add("Link", &[("MTUBytes", link.mtu.map(|mtu| mtu.to_string()))]);
    let dhcp = match (link.dhcp4, link.dynamic6 == Dynamic6::Dhcp) {
        (true, true) => "yes",
        (true, false) => "ipv4",
        (false, true) => "ipv6",
        (false, false) => "no",
    };
    let flag = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let master = network.master_of(&link.name);
    let primary = master.and_then(|(master, _)| match &master.kind {
        Kind::Bond { parameters, .. } => {
            parameters.get("primary").filter(|primary| **primary == link.name).map(|_| flag(true))
        }
        _ => None,
    });
    let mut lines = vec![
        ("DHCP", Some(dhcp.to_owned())),
        ("IPv6AcceptRA", link.accept_ra.map(flag)),
        ("Bond", master.filter(|(_, bond)| *bond).map(|(master, _)| master.name.clone())),
        ("Bridge", master.filter(|(_, bond)| !*bond).map(|(master, _)| master.name.clone())),
        ("PrimarySlave", primary),
    ];
    let own = link.nameservers.is_empty() && link.search.is_empty();
    let (servers, search) =
        if own { (&network.nameservers, &network.search) } else { (&link.nameservers, &link.search) };
    let joined = |words: Vec<String>| (!words.is_empty()).then(|| words.join(" "));
    lines.push(("DNS", joined(servers.iter().map(ToString::to_string).collect())));
    lines.push(("Domains", joined(search.clone())));
    let on = network.links.iter().filter(|other| matches!(&other.kind, Kind::Vlan { on, .. } if *on == link.name));
    lines.extend(on.map(|vlan| ("VLAN", Some(vlan.name.clone()))));
    sections.add("Network", &lines);
    for address in &link.addresses {
        sections.add("Address", &[("Address", Some(address.to_string()))]);
    }
    for route in link.routes.iter().chain(network.routes_by(link)) {
        self::route(&mut sections, route);
    }
    sections.0
}

fn route(sections: &mut Sections, route: &Route) {
    let destination = (!route.to.is_default() || route.via.is_none()).then(|| route.to.to_string());
    sections.add(
        "Route",
        &[
            ("Destination", destination),
            ("Gateway", route.via.map(|via| via.to_string())),
            ("GatewayOnLink", route.on_link.then(|| "yes".to_owned())),
            ("Scope", (route.via.is_none() && route.to.network.is_ipv4()).then(|| "link".to_owned())),
            ("Metric", route.metric.map(|metric| metric.to_string())),
        ],
    );
}
