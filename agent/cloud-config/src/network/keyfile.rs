//! Keyfiles for NetworkManager, one a connection (nm-settings-keyfile(5)).

use std::fmt::Write;
use std::net::IpAddr;

use super::{ConfigFile, Dynamic6, Kind, Link, Network, Route};

/// Kept over restarts, unlike cloud-init's, which are written anew at every start.
const FOLDER: &str = "/etc/NetworkManager/system-connections";

/// netplan's parameters of bonds, and the kernel's names, which NetworkManager has.
const BOND: [(&str, &str); 16] = [
    ("ad-select", "ad_select"),
    ("all-slaves-active", "all_slaves_active"),
    ("arp-interval", "arp_interval"),
    ("arp-ip-targets", "arp_ip_target"),
    ("arp-validate", "arp_validate"),
    ("down-delay", "downdelay"),
    ("fail-over-mac-policy", "fail_over_mac"),
    ("gratuitous-arp", "num_grat_arp"),
    ("lacp-rate", "lacp_rate"),
    ("mii-monitor-interval", "miimon"),
    ("min-links", "min_links"),
    ("mode", "mode"),
    ("primary", "primary"),
    ("primary-reselect-policy", "primary_reselect"),
    ("transmit-hash-policy", "xmit_hash_policy"),
    ("up-delay", "updelay"),
];

/// The same of bridges.
const BRIDGE: [(&str, &str); 6] = [
    ("ageing-time", "ageing-time"),
    ("priority", "priority"),
    ("forward-delay", "forward-delay"),
    ("hello-time", "hello-time"),
    ("max-age", "max-age"),
    ("stp", "stp"),
];

/// All files.
#[must_use]
pub fn render(network: &Network) -> Vec<ConfigFile> {
    let file = |link: &Link| ConfigFile {
        path: format!("{FOLDER}/cloud-init-{}.nmconnection", link.name),
        content: connection(network, link),
        mode: 0o600,
    };
    network.links.iter().map(file).collect()
}

/// The same name has the same id at every turn: RFC 4122 version 8 in form, of a hash that is enough to tell links apart.
#[must_use]
pub fn uuid(name: &str) -> String {
    // FNV-1a, 128 bits
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in "bessemer-link ".bytes().chain(name.bytes()) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    let hash = (hash & !(0xf << 76) & !(0x3 << 62)) | (8 << 76) | (2 << 62);
    let hex = format!("{hash:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

fn connection(network: &Network, link: &Link) -> String {
    let mut text = String::new();
    let mut section = |name: &str, lines: Vec<(String, String)>| {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}[{name}]");
        for (key, value) in lines {
            let _ = writeln!(text, "{key}={value}");
        }
    };
    let line = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let kind = match link.kind {
        Kind::Physical => "ethernet",
        Kind::Vlan { .. } => "vlan",
        Kind::Bond { .. } => "bond",
        Kind::Bridge { .. } => "bridge",
    };
    let mut head =
        vec![line("id", &format!("cloud-init {}", link.name)), line("uuid", &uuid(&link.name)), line("type", kind)];
    if let Some((master, bond)) = network.master_of(&link.name) {
        head.push(line("slave-type", if bond { "bond" } else { "bridge" }));
        head.push(line("master", &uuid(&master.name)));
    }
    if link.kind != Kind::Physical || link.mac.is_none() {
        head.push(line("interface-name", &link.name));
    }
    section("connection", head);
    let upper = link.mac.as_ref().map(|mac| line("mac-address", &mac.to_ascii_uppercase()));
    let mtu = link.mtu.map(|mtu| line("mtu", &mtu.to_string()));
    match &link.kind {
        Kind::Physical => section("ethernet", mtu.into_iter().chain(upper).collect()),
        Kind::Vlan { id, on } => {
            section("vlan", vec![line("id", &id.to_string()), line("parent", &uuid(on))]);
            let cloned = link.mac.as_ref().map(|mac| line("cloned-mac-address", &mac.to_ascii_uppercase()));
            let ethernet: Vec<_> = mtu.into_iter().chain(cloned).collect();
            if !ethernet.is_empty() {
                section("ethernet", ethernet);
            }
        }
        Kind::Bond { parameters, .. } => {
            let lines =
                BOND.iter().filter_map(|(netplan, kernel)| parameters.get(*netplan).map(|value| line(kernel, value)));
            section("bond", lines.collect());
            let cloned = link.mac.as_ref().map(|mac| line("cloned-mac-address", &mac.to_ascii_uppercase()));
            let ethernet: Vec<_> = mtu.into_iter().chain(cloned).collect();
            if !ethernet.is_empty() {
                section("ethernet", ethernet);
            }
        }
        Kind::Bridge { parameters, .. } => {
            let lines =
                BRIDGE.iter().filter_map(|(netplan, key)| parameters.get(*netplan).map(|value| line(key, value)));
            section("bridge", lines.chain(upper).collect());
            if let Some(mtu) = mtu {
                section("ethernet", vec![mtu]);
            }
        }
    }
    // a member has no addresses of its own
    if network.master_of(&link.name).is_none() {
        for ipv4 in [true, false] {
            let lines = family(network, link, ipv4);
            // of IPv6 nothing means the system's own way
            let unsaid = !ipv4 && link.accept_ra.is_none() && lines.iter().all(|(_, value)| value == "disabled");
            if !unsaid {
                section(if ipv4 { "ipv4" } else { "ipv6" }, lines);
            }
        }
    }
    text
}

fn family(network: &Network, link: &Link, ipv4: bool) -> Vec<(String, String)> {
    let ours = |ip: &IpAddr| ip.is_ipv4() == ipv4;
    let addresses: Vec<_> = link.addresses.iter().filter(|address| ours(&address.ip)).collect();
    let routes: Vec<&Route> =
        link.routes.iter().chain(network.routes_by(link)).filter(|route| ours(&route.to.network)).collect();
    let dynamic = if ipv4 { link.dhcp4 } else { link.dynamic6 != Dynamic6::None };
    let accepted = !ipv4 && link.accept_ra == Some(true);
    let method = if dynamic || accepted {
        "auto"
    } else if addresses.is_empty() {
        "disabled"
    } else {
        "manual"
    };
    let line = |key: String, value: String| (key, value);
    let mut lines = vec![line("method".to_owned(), method.to_owned())];
    if method != "disabled" {
        lines.push(line("may-fail".to_owned(), "false".to_owned()));
    }
    for (index, address) in addresses.iter().enumerate() {
        lines.push(line(format!("address{}", index + 1), address.to_string()));
    }
    let mut number = 0;
    for route in routes {
        match (route.to.is_default(), route.via, route.metric) {
            (true, Some(via), None) if !lines.iter().any(|(key, _)| key == "gateway") => {
                lines.push(line("gateway".to_owned(), via.to_string()));
            }
            (_, via, metric) => {
                number += 1;
                let via = via.map(|via| via.to_string());
                let rest = match (via, metric) {
                    (None, None) => String::new(),
                    (Some(via), None) => format!(",{via}"),
                    (via, Some(metric)) => format!(",{},{metric}", via.unwrap_or_default()),
                };
                lines.push(line(format!("route{number}"), format!("{}{rest}", route.to)));
                if route.on_link {
                    lines.push(line(format!("route{number}_options"), "onlink=true".to_owned()));
                }
            }
        }
    }
    let own = link.nameservers.is_empty() && link.search.is_empty();
    let (servers, search) =
        if own { (&network.nameservers, &network.search) } else { (&link.nameservers, &link.search) };
    let list = |words: Vec<String>| words.iter().map(|word| format!("{word};")).collect::<String>();
    let servers: Vec<String> = servers.iter().filter(|server| ours(server)).map(ToString::to_string).collect();
    if !servers.is_empty() && method != "disabled" {
        lines.push(line("dns".to_owned(), list(servers)));
    }
    if !search.is_empty() && method != "disabled" {
        lines.push(line("dns-search".to_owned(), list(search.clone())));
    }
    lines
}
