//! netplan's YAML, which is also cloud-init's version 2.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::{ConfigFile, Dynamic6, Kind, Link, Network, Route};

/// cloud-init's file, so that either replaces that of the other.
const PATH: &str = "/etc/netplan/50-cloud-init.yaml";

/// The file.
#[must_use]
pub fn file(network: &Network) -> ConfigFile {
    // it may hold passwords of other parts of netplan's language
    ConfigFile { path: PATH.to_owned(), content: render(network), mode: 0o600 }
}

/// The text. What was given in version 2 stays as it was.
#[must_use]
pub fn render(network: &Network) -> String {
    let value = match &network.original {
        Some(original) => original.clone(),
        None => translated(network),
    };
    let mut text = String::new();
    emit(&json!({ "network": value }), 0, &mut text);
    text
}

fn translated(network: &Network) -> Value {
    let mut sections: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for link in &network.links {
        let (section, mut entry) = head(link);
        body(network, link, &mut entry);
        sections.entry(section).or_default().insert(link.name.clone(), Value::Object(entry));
    }
    let mut all = Map::new();
    all.insert("version".to_owned(), json!(2));
    all.extend(sections.into_iter().map(|(name, links)| (name.to_owned(), Value::Object(links))));
    Value::Object(all)
}

fn head(link: &Link) -> (&'static str, Map<String, Value>) {
    let mut entry = Map::new();
    let section = match &link.kind {
        Kind::Physical => {
            if let Some(mac) = &link.mac {
                entry.insert("match".to_owned(), json!({ "macaddress": mac }));
                entry.insert("set-name".to_owned(), json!(link.name));
            }
            return ("ethernets", entry);
        }
        Kind::Vlan { id, on } => {
            entry.insert("id".to_owned(), json!(id));
            entry.insert("link".to_owned(), json!(on));
            "vlans"
        }
        Kind::Bond { members, parameters } => {
            entry.insert("interfaces".to_owned(), json!(members));
            entry.extend(self::parameters(parameters));
            "bonds"
        }
        Kind::Bridge { members, parameters } => {
            entry.insert("interfaces".to_owned(), json!(members));
            entry.extend(self::parameters(parameters));
            "bridges"
        }
    };
    if let Some(mac) = &link.mac {
        entry.insert("macaddress".to_owned(), json!(mac));
    }
    (section, entry)
}

/// Numbers and flags as such, lists where netplan has lists.
fn parameters(given: &BTreeMap<String, String>) -> Option<(String, Value)> {
    let value = |key: &str, text: &str| match (key, text) {
        ("arp-ip-targets", text) => json!(text.split(',').collect::<Vec<_>>()),
        (_, "true") => json!(true),
        (_, "false") => json!(false),
        (_, text) => text.parse::<u32>().map_or_else(|_| json!(text), |number| json!(number)),
    };
    let map: Map<String, Value> = given.iter().map(|(key, text)| (key.clone(), value(key, text))).collect();
    (!map.is_empty()).then(|| ("parameters".to_owned(), Value::Object(map)))
}

fn body(network: &Network, link: &Link, entry: &mut Map<String, Value>) {
    let mut put = |key: &str, value: Value| drop(entry.insert(key.to_owned(), value));
    if link.dhcp4 {
        put("dhcp4", json!(true));
    }
    if link.dynamic6 != Dynamic6::None {
        put("dhcp6", json!(true));
    }
    if let Some(accepted) = link.accept_ra {
        put("accept-ra", json!(accepted));
    }
    if let Some(mtu) = link.mtu {
        put("mtu", json!(mtu));
    }
    if !link.addresses.is_empty() {
        put("addresses", link.addresses.iter().map(|address| json!(address.to_string())).collect());
    }
    let routes: Vec<Value> = link.routes.iter().chain(network.routes_by(link)).map(route).collect();
    if !routes.is_empty() {
        put("routes", Value::Array(routes));
    }
    let own = !(link.nameservers.is_empty() && link.search.is_empty());
    let (servers, search) = if own {
        (&link.nameservers, &link.search)
    } else if link.addresses.is_empty() {
        return;
    } else {
        (&network.nameservers, &network.search)
    };
    let mut names = Map::new();
    if !servers.is_empty() {
        names.insert("addresses".to_owned(), servers.iter().map(|server| json!(server.to_string())).collect());
    }
    if !search.is_empty() {
        names.insert("search".to_owned(), json!(search));
    }
    if !names.is_empty() {
        put("nameservers", Value::Object(names));
    }
}

fn route(route: &Route) -> Value {
    let mut entry = Map::new();
    // the word `default` is newer than the netplan of some distributions
    entry.insert("to".to_owned(), json!(route.to.to_string()));
    match route.via {
        Some(via) => drop(entry.insert("via".to_owned(), json!(via.to_string()))),
        None => drop(entry.insert("scope".to_owned(), json!("link"))),
    }
    if let Some(metric) = route.metric {
        entry.insert("metric".to_owned(), json!(metric));
    }
    if route.on_link {
        entry.insert("on-link".to_owned(), json!(true));
    }
    Value::Object(entry)
}

/// YAML in blocks, every word in quotes.
fn emit(value: &Value, depth: usize, text: &mut String) {
    let pad = "  ".repeat(depth);
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
                    && key.starts_with(|c: char| c.is_ascii_alphabetic());
                let key = if plain { key.clone() } else { json!(key).to_string() };
                let _ = write!(text, "{pad}{key}:");
                nested(value, depth + 1, text);
            }
        }
        Value::Array(items) => {
            for item in items {
                let mut inner = String::new();
                if is_leaf(item) {
                    let _ = writeln!(inner, "{}", leaf(item));
                } else {
                    emit(item, depth + 1, &mut inner);
                }
                let _ = write!(text, "{pad}- {}", inner.trim_start());
            }
        }
        other => {
            let _ = writeln!(text, "{pad}{}", leaf(other));
        }
    }
}

fn nested(value: &Value, depth: usize, text: &mut String) {
    if is_leaf(value) {
        let _ = writeln!(text, " {}", leaf(value));
    } else {
        text.push('\n');
        emit(value, depth, text);
    }
}

fn is_leaf(value: &Value) -> bool {
    match value {
        Value::Object(entries) => entries.is_empty(),
        Value::Array(items) => items.is_empty() || items.iter().any(|item| item.is_array()),
        _ => true,
    }
}

/// JSON is YAML.
fn leaf(value: &Value) -> String {
    value.to_string()
}
