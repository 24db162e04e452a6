//! Parameters of bonds and bridges: OpenStack's and version 1's names for what netplan calls otherwise.

use std::collections::BTreeMap;

use super::section::text;
use super::{NetworkError, address};
use crate::yaml::Node;

/// The kernel's name without its prefix, with hyphens; netplan's name.
const BOND: [(&str, &str); 16] = [
    ("ad-select", "ad-select"),
    ("all-slaves-active", "all-slaves-active"),
    ("arp-interval", "arp-interval"),
    ("arp-ip-target", "arp-ip-targets"),
    ("arp-validate", "arp-validate"),
    ("downdelay", "down-delay"),
    ("fail-over-mac", "fail-over-mac-policy"),
    ("lacp-rate", "lacp-rate"),
    ("miimon", "mii-monitor-interval"),
    ("min-links", "min-links"),
    ("mode", "mode"),
    ("num-grat-arp", "gratuitous-arp"),
    ("primary", "primary"),
    ("primary-reselect", "primary-reselect-policy"),
    ("updelay", "up-delay"),
    ("xmit-hash-policy", "transmit-hash-policy"),
];

const BRIDGE: [(&str, &str); 6] = [
    ("ageing", "ageing-time"),
    ("bridgeprio", "priority"),
    ("fd", "forward-delay"),
    ("hello", "hello-time"),
    ("maxage", "max-age"),
    ("stp", "stp"),
];

/// The kernel's modes by number.
const MODES: [&str; 7] =
    ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];

/// Of a bond in OpenStack's or version 1's form, from the keys of `node` that start with `bond`.
pub(super) fn bond(
    node: &Node,
    place: &str,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, NetworkError> {
    let mut parameters = translated(node, "bond", &BOND, place, warnings)?;
    if let Some(mode) = parameters.get_mut("mode")
        && let Some(name) = mode.parse::<usize>().ok().and_then(|number| MODES.get(number))
    {
        (*name).clone_into(mode);
    }
    check_mode(&parameters, place)?;
    Ok(parameters)
}

/// The same of a bridge.
pub(super) fn bridge(
    node: &Node,
    place: &str,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, NetworkError> {
    let mut parameters = translated(node, "bridge", &BRIDGE, place, warnings)?;
    if let Some(stp) = parameters.get_mut("stp") {
        *stp = if ["on", "true", "yes", "1"].contains(&stp.to_ascii_lowercase().as_str()) { "true" } else { "false" }
            .to_owned();
    }
    Ok(parameters)
}

/// Of either in version 2, whose names are netplan's already.
pub(super) fn plain(
    node: &Node,
    place: &str,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, NetworkError> {
    let mut parameters = BTreeMap::new();
    for (key, value) in node.get("parameters").iter().flat_map(|node| node.entries()) {
        match value {
            Node::List(items) => {
                let words: Vec<&str> = items.iter().filter_map(Node::text).collect();
                parameters.insert(key.to_owned(), checked(&words.join(","), place)?);
            }
            _ => match value.text() {
                Some(text) => drop(parameters.insert(key.to_owned(), checked(text, place)?)),
                None => warnings.push(format!("{place}.parameters.{}: left out", address::shown(key))),
            },
        }
    }
    check_mode(&parameters, place)?;
    Ok(parameters)
}

fn check_mode(parameters: &BTreeMap<String, String>, place: &str) -> Result<(), NetworkError> {
    match parameters.get("mode") {
        Some(mode) if !MODES.contains(&mode.as_str()) => {
            Err(NetworkError::bad(place, format!("{:?} is no mode of a bond", address::shown(mode))))
        }
        _ => Ok(()),
    }
}

fn checked(text: &str, place: &str) -> Result<String, NetworkError> {
    if text.chars().any(|c| c.is_control() || c == '"') {
        return Err(NetworkError::bad(place, "a parameter has characters that no parameter has"));
    }
    Ok(text.to_owned())
}

fn translated(
    node: &Node,
    prefix: &str,
    table: &[(&str, &str)],
    place: &str,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, NetworkError> {
    let mut parameters = BTreeMap::new();
    for (key, _) in node.entries() {
        let name = key.replace('_', "-");
        let Some(name) = name.strip_prefix(prefix).and_then(|name| name.strip_prefix('-')) else { continue };
        if ["links", "interfaces", "slaves", "master", "ports"].contains(&name) {
            continue;
        }
        match (table.iter().find(|(known, _)| *known == name), text(node, key)) {
            (Some((_, netplan)), Some(text)) => drop(parameters.insert((*netplan).to_owned(), checked(text, place)?)),
            (Some((_, netplan)), None) => {
                let words = super::section::words(node, key);
                parameters.insert((*netplan).to_owned(), checked(&words.join(","), place)?);
            }
            (None, _) => warnings.push(format!("{place}.{}: left out", address::shown(key))),
        }
    }
    Ok(parameters)
}
