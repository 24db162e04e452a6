//! Reading parts of network data at a named place.

use std::net::IpAddr;

use super::{NetworkError, Route, address};
use crate::yaml::Node;

/// A word or number.
pub(super) fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.get(key).and_then(Node::text)
}

/// A list of words, one word with blanks or commas between, or nothing.
pub(super) fn words(node: &Node, key: &str) -> Vec<String> {
    let items = node.get(key).map(Node::items).unwrap_or_default().iter().filter_map(Node::text);
    items.flat_map(|text| text.split([' ', ','])).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

pub(super) fn ips(node: &Node, key: &str, place: &str) -> Result<Vec<IpAddr>, NetworkError> {
    words(node, key).iter().map(|word| address::ip(word, &format!("{place}.{key}"))).collect()
}

/// Domains go into files line by line.
pub(super) fn domains(node: &Node, key: &str, place: &str) -> Result<Vec<String>, NetworkError> {
    let fine = |word: &String| word.chars().all(|c| c.is_alphanumeric() || "-_.~".contains(c));
    let words = words(node, key);
    match words.iter().find(|word| !fine(word)) {
        Some(word) => {
            Err(NetworkError::bad(format!("{place}.{key}"), format!("{:?} is no domain", address::shown(word))))
        }
        None => Ok(words),
    }
}

/// Six bytes, or an InfiniBand port's twenty, lower case.
pub(super) fn mac(node: &Node, key: &str, place: &str) -> Result<Option<String>, NetworkError> {
    let Some(text) = text(node, key) else { return Ok(None) };
    let lower = text.to_ascii_lowercase().replace('-', ":");
    let parts: Vec<&str> = lower.split(':').collect();
    let fine = [6, 20].contains(&parts.len())
        && parts.iter().all(|part| part.len() == 2 && part.chars().all(|c| c.is_ascii_hexdigit()));
    if fine {
        Ok(Some(lower))
    } else {
        Err(NetworkError::bad(format!("{place}.{key}"), format!("{:?} is no MAC address", address::shown(text))))
    }
}

pub(super) fn mtu(node: &Node, key: &str, place: &str) -> Result<Option<u32>, NetworkError> {
    let Some(value) = node.get(key) else { return Ok(None) };
    let mtu = value.number().and_then(|mtu| u32::try_from(mtu).ok()).filter(|mtu| (68..=65_536).contains(mtu));
    mtu.map(Some).ok_or_else(|| NetworkError::bad(format!("{place}.{key}"), "is no MTU"))
}

pub(super) fn vlan(node: &Node, key: &str, place: &str) -> Result<u16, NetworkError> {
    let id = node.get(key).and_then(Node::number).and_then(|id| u16::try_from(id).ok());
    id.filter(|id| (1..=4094).contains(id)).ok_or_else(|| NetworkError::bad(format!("{place}.{key}"), "is no VLAN id"))
}

/// A next hop of all zeros means none.
pub(super) fn hop(node: &Node, key: &str, place: &str) -> Result<Option<IpAddr>, NetworkError> {
    let hop = text(node, key).map(|text| address::ip(text, &format!("{place}.{key}"))).transpose()?;
    Ok(hop.filter(|hop| !hop.is_unspecified()))
}

/// A route in any of the forms, whose keys differ.
pub(super) fn route(node: &Node, to: [&str; 3], via: [&str; 2], place: &str) -> Result<Route, NetworkError> {
    let key = |keys: &[&'static str]| keys.iter().find(|key| node.get(key).is_some()).copied();
    let via = match via.iter().find(|key| node.get(key).is_some()) {
        Some(key) => hop(node, key, place)?,
        None => None,
    };
    let to = to.iter().find_map(|key| text(node, key));
    let to = to.ok_or_else(|| NetworkError::bad(place, "a route leads nowhere"))?;
    let mask = key(&["netmask", "prefix"]).and_then(|key| text(node, key));
    let to = address::prefix(to, mask, via, place)?;
    if via.is_some_and(|via| via.is_ipv4() != to.network.is_ipv4()) {
        return Err(NetworkError::bad(place, "a route and its next hop are of different families"));
    }
    let metric = node.get("metric").and_then(Node::number).and_then(|metric| u32::try_from(metric).ok());
    let on_link = node.get("on-link").and_then(Node::flag).unwrap_or(false);
    Ok(Route { to, via, metric, on_link })
}
