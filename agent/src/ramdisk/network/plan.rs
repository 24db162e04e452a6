//! A network configuration, checked and put in order before the kernel is asked for anything. No I/O.

use std::collections::BTreeSet;

use bessemer_protocol::{Link, LinkKind, NetworkConfig};

/// The longest name that the kernel takes.
const NAME: usize = 15;

/// What is wrong with it, in words.
pub(super) fn check(config: &NetworkConfig) -> Result<(), String> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for link in &config.links {
        let id = link.id.as_str();
        let wrong = |what: String| Err(format!("link {id:?}: {what}"));
        if id.is_empty() || !known.insert(id) {
            return wrong("its id is empty or another's".to_owned());
        }
        let is_known = |other: &str| other != id && known.contains(other);
        match &link.kind {
            LinkKind::Physical { mac } => {
                if octets(mac).is_none() {
                    return wrong(format!("{mac:?} is no Ethernet address"));
                }
            }
            LinkKind::Vlan { on, vlan } => {
                if !is_known(on) {
                    return wrong(format!("it is on {on:?}, which does not come before it"));
                }
                if !(1..=4094).contains(vlan) {
                    return wrong(format!("there is no VLAN {vlan}; 1 to 4094 are"));
                }
            }
            LinkKind::Bond { members, mac, .. } => {
                if let Some(member) = members.iter().find(|member| !is_known(member)) {
                    return wrong(format!("its member {member:?} does not come before it"));
                }
                if members.is_empty() {
                    return wrong("it has no members".to_owned());
                }
                if let Some(mac) = mac.as_ref().filter(|mac| octets(mac).is_none()) {
                    return wrong(format!("{mac:?} is no Ethernet address"));
                }
            }
        }
        let is_named = !matches!(link.kind, LinkKind::Physical { .. });
        let is_name =
            id.len() <= NAME && !id.contains(|c: char| c == '/' || c.is_whitespace()) && id != "." && id != "..";
        if is_named && !is_name {
            return wrong(format!(
                "it becomes an interface's name, which has at most {NAME} letters, no slash and no space"
            ));
        }
        check_numbers(link).or_else(wrong)?;
    }
    if config.links.iter().all(|link| link.addresses.is_empty()) {
        return Err("no link has an address, or a way to get one".to_owned());
    }
    Ok(())
}

fn check_numbers(link: &Link) -> Result<(), String> {
    use bessemer_protocol::AddressSource;
    if let Some(mtu) = link.mtu.filter(|mtu| !(576..=65_536).contains(mtu)) {
        return Err(format!("an MTU of {mtu} is not between 576 and 65536"));
    }
    let longest = |address: &std::net::IpAddr| if address.is_ipv4() { 32 } else { 128 };
    for source in &link.addresses {
        if let AddressSource::Static { address, prefix } = source
            && *prefix > longest(address)
        {
            return Err(format!("{address} cannot have a prefix of {prefix} bits"));
        }
    }
    let wrong = link.routes.iter().find(|route| route.prefix > longest(&route.destination));
    match wrong {
        Some(route) => Err(format!("the route to {} cannot have a prefix of {} bits", route.destination, route.prefix)),
        None => Ok(()),
    }
}

/// The six octets of an address with colons.
pub(super) fn octets(mac: &str) -> Option<[u8; 6]> {
    let octets: Option<Vec<u8>> = mac.split(':').map(|octet| u8::from_str_radix(octet, 16).ok()).collect();
    octets?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_configuration_is_said() {
        let good = r#"{"id": "a", "type": "physical", "mac": "52:54:00:00:00:01", "addresses": [{"from": "dhcp4"}]}"#;
        let table = [
            (good.to_owned(), None),
            (format!("{good}, {good}"), Some("link \"a\": its id is empty or another's")),
            (good.replace("52:54", "x"), Some("is no Ethernet address")),
            (
                format!(r#"{{"id": "v", "type": "vlan", "on": "a", "vlan": 7}}, {good}"#),
                Some("on \"a\", which does not come before it"),
            ),
            (format!(r#"{good}, {{"id": "v", "type": "vlan", "on": "a", "vlan": 4095}}"#), Some("no VLAN 4095")),
            (
                format!(r#"{good}, {{"id": "a-very-long-name", "type": "vlan", "on": "a", "vlan": 7}}"#),
                Some("at most 15"),
            ),
            (
                format!(r#"{good}, {{"id": "b", "type": "bond", "members": ["b"], "mode": "802.3ad"}}"#),
                Some("member \"b\""),
            ),
            (format!(r#"{good}, {{"id": "b", "type": "bond", "members": [], "mode": "802.3ad"}}"#), Some("no members")),
            (
                good.replace("dhcp4\"", "static\", \"address\": \"192.0.2.1\", \"prefix\": 33"),
                Some("prefix of 33 bits"),
            ),
            (good.replace("\"addresses\"", "\"mtu\": 60, \"addresses\""), Some("MTU of 60")),
            (good.replace("{\"from\": \"dhcp4\"}", ""), Some("no link has an address")),
        ];
        for (links, expected) in table {
            let config = serde_json::from_str(&format!(r#"{{"links": [{links}]}}"#)).unwrap();
            let got = check(&config);
            assert_eq!(got.is_err(), expected.is_some(), "{links}: {got:?}");
            assert!(expected.is_none_or(|part| got.as_ref().unwrap_err().contains(part)), "{got:?}");
        }
    }
}
