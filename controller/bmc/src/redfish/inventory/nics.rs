//! Network interfaces. They are shown as interfaces of the system, as ports and as functions of network cards, each
//! perhaps empty or without addresses; one list is made of them, by address: names of ports collide between cards.

use redfish_client::Resource;
use serde_json::Value;

use super::super::survey::Survey;
use super::super::value::{count, first, health, is_absent, natural};
use super::id;
use crate::{MacAddress, Nic};

/// What services call the interface between server and BMC (Lenovo, Supermicro, DMTF's mockups).
const TO_MANAGER: &str = "ToManager";

/// What a card's port or function adds: addresses, and what goes with them.
#[derive(Debug, Default)]
pub(super) struct Port {
    nic: Nic,
    macs: Vec<MacAddress>,
}

pub(super) async fn read(survey: &Survey<'_>, system: &Resource, chassis: &[Resource]) -> Vec<Nic> {
    let interfaces = of_system(survey, system).await;
    let mut ports = Vec::new();
    for card in cards(survey, system, chassis).await {
        let label = label(&card);
        for resource in card_parts(survey, &card).await {
            ports.push((label.clone(), decode(&resource)));
        }
    }
    merge(interfaces, ports)
}

/// Addresses of the system's interfaces, from wherever there are any: what identifies a machine.
pub(in crate::redfish) async fn macs(survey: &Survey<'_>, system: &Resource) -> Vec<MacAddress> {
    let mut nics = of_system(survey, system).await;
    if nics.iter().all(|nic| nic.mac.is_none()) {
        let chassis = super::chassis_of(survey, system).await;
        nics = read(survey, system, &chassis).await;
    }
    identifying(&nics)
}

/// Addresses that tell machines apart, each once: not those of the way to the BMC, and of made-up ones none, unless there
/// are no others, as in a virtual machine.
fn identifying(nics: &[Nic]) -> Vec<MacAddress> {
    let mut macs: Vec<MacAddress> = Vec::new();
    for mac in nics.iter().filter(|nic| nic.name != TO_MANAGER).filter_map(|nic| nic.mac) {
        if !macs.contains(&mac) {
            macs.push(mac);
        }
    }
    if !macs.iter().all(|mac| mac.is_locally_administered()) {
        macs.retain(|mac| !mac.is_locally_administered());
    }
    macs
}

async fn of_system(survey: &Survey<'_>, system: &Resource) -> Vec<Nic> {
    let interfaces = survey.members(system, "EthernetInterfaces").await;
    let mut nics: Vec<Nic> = Vec::new();
    for interface in interfaces.iter().filter(|interface| !is_absent(interface)) {
        let nic = decode(interface).nic;
        // A VLAN has the address of its interface, and stands beside it.
        if nic.mac.is_none() || nics.iter().all(|other| other.mac != nic.mac) {
            nics.push(nic);
        }
    }
    nics.sort_by_key(|nic| natural(&nic.name));
    nics
}

/// Network cards, which hang on the chassis by today's schema and elsewhere by older ones (iDRAC 8).
async fn cards(survey: &Survey<'_>, system: &Resource, chassis: &[Resource]) -> Vec<Resource> {
    let mut cards: Vec<Resource> = Vec::new();
    for interface in survey.members(system, "NetworkInterfaces").await {
        cards.extend(survey.follow(&interface, "Links/NetworkAdapter").await);
    }
    for chassis in chassis {
        cards.extend(survey.members(chassis, "NetworkAdapters").await);
    }
    // HPE's own, of iLO 4 and 5, for what the standard ones leave out.
    cards.extend(survey.members(system, "Oem/Hpe/Links/NetworkAdapters").await);
    let mut seen = Vec::new();
    cards.retain(|card| {
        !seen.contains(card.uri()) && {
            seen.push(card.uri().clone());
            true
        }
    });
    cards
}

/// Ports and functions of a card; the older form of ports only where there is no newer one.
async fn card_parts(survey: &Survey<'_>, card: &Resource) -> Vec<Resource> {
    let mut parts = survey.members(card, "NetworkDeviceFunctions").await;
    let ports = survey.members(card, "Ports").await;
    let ports = if ports.is_empty() { survey.members(card, "NetworkPorts").await } else { ports };
    parts.extend(ports);
    parts.extend(super::super::value::parts(card, "PhysicalPorts"));
    parts
}

/// What people call a card: its model where the BMC knows it, else what the service calls it.
fn label(card: &Resource) -> String {
    let id = id(card);
    match first(card, &["Model", "Name"]).filter(|name| !is_generic(name)) {
        Some(name) if name != id => format!("{id} ({name})"),
        _ => id,
    }
}

/// Names that services give to every card alike.
fn is_generic(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(' ', "");
    matches!(name.as_str(), "networkadapter" | "networkadapterview")
}

/// The interface, port or function; an address written as `""`, `Not Available` or zeros is none.
pub(super) fn decode(resource: &Resource) -> Port {
    let mac = |path: &str| resource.text(path)?.parse().ok().filter(|mac: &MacAddress| mac.is_unicast());
    let own =
        ["PermanentMACAddress", "Ethernet/PermanentMACAddress", "MACAddress", "Ethernet/MACAddress", "MacAddress"];
    let mut macs: Vec<MacAddress> = own.iter().find_map(|path| mac(path)).into_iter().collect();
    for path in ["AssociatedNetworkAddresses", "Ethernet/AssociatedMACAddresses"] {
        let listed = resource.value(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let listed = listed.iter().filter_map(Value::as_str).filter_map(|text| text.parse::<MacAddress>().ok());
        for mac in listed.filter(|mac| mac.is_unicast()) {
            if !macs.contains(&mac) {
                macs.push(mac);
            }
        }
    }
    let gigabits = super::super::value::number(resource, "CurrentSpeedGbps").map(|speed| speed * 1000.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the bounds are checked")]
    let gigabits = gigabits.filter(|speed| (1.0..1e9).contains(speed)).map(|speed| speed as u64);
    let speed = ["SpeedMbps", "CurrentLinkSpeedMbps"].iter().find_map(|path| count(resource, path)).or(gigabits);
    let link = match resource.text("LinkStatus") {
        Some("LinkUp" | "Up" | "Starting" | "Training") => Some(true),
        Some("LinkDown" | "Down" | "NoLink") => Some(false),
        _ => None,
    };
    let nic = Nic {
        name: id(resource),
        mac: macs.first().copied(),
        adapter: None,
        speed_mbps: speed,
        link,
        health: health(resource),
    };
    Port { nic, macs }
}

/// One list by address: what the system shows, completed by the cards, and then what only the cards show.
fn merge(interfaces: Vec<Nic>, ports: Vec<(String, Port)>) -> Vec<Nic> {
    let mut nics = interfaces;
    let mut only_on_cards: Vec<Nic> = Vec::new();
    for (card, port) in ports {
        let mut known = false;
        for nic in
            nics.iter_mut().chain(&mut only_on_cards).filter(|nic| nic.mac.is_some_and(|mac| port.macs.contains(&mac)))
        {
            known = true;
            nic.adapter.get_or_insert_with(|| card.clone());
            nic.speed_mbps = nic.speed_mbps.or(port.nic.speed_mbps);
            nic.link = nic.link.or(port.nic.link);
            nic.health = nic.health.or(port.nic.health);
        }
        if !known && port.nic.mac.is_some() {
            only_on_cards.push(Nic { adapter: Some(card), ..port.nic });
        }
    }
    only_on_cards.sort_by_key(|nic| (nic.adapter.as_deref().map(natural), natural(&nic.name)));
    nics.extend(only_on_cards);
    // An interface that has no address and whose card shows the same name with one is that one.
    let named: Vec<String> = nics.iter().filter(|nic| nic.mac.is_some()).map(|nic| nic.name.clone()).collect();
    nics.retain(|nic| nic.mac.is_some() || !named.contains(&nic.name));
    nics
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;
    use serde_json::json;

    use super::*;

    fn port(body: Value) -> Port {
        decode(&Resource::new(Reference::root().child("1"), None, body))
    }

    #[test]
    fn q108_addresses_of_nothing_are_none() {
        for body in [
            json!({"MACAddress": ""}),
            json!({"MACAddress": null}),
            json!({"MACAddress": "Not Available", "PermanentMACAddress": ""}),
            json!({"MACAddress": "00:00:00:00:00:00"}),
            json!({}),
        ] {
            assert_eq!(port(body).nic.mac, None);
        }
        let virtual_one =
            json!({"Ethernet": {"MACAddress": "00:00:00:00:00:00", "PermanentMACAddress": "EC:F4:BB:A8:20:AB"}});
        assert_eq!(port(virtual_one).nic.mac, "ec:f4:bb:a8:20:ab".parse().ok());
    }

    #[test]
    fn q112_made_up_addresses_do_not_identify() {
        let nics: Vec<Nic> = ["fa:2c:44:00:00:01", "3c:ec:ef:00:00:02", "3C-EC-EF-00-00-02"]
            .map(|mac| Nic { mac: mac.parse().ok(), ..Nic::default() })
            .to_vec();
        assert_eq!(identifying(&nics), ["3c:ec:ef:00:00:02".parse().unwrap()]);
        let virtual_one = Nic { mac: "52:54:00:00:00:01".parse().ok(), ..Nic::default() };
        let to_manager = Nic { name: TO_MANAGER.to_owned(), mac: "52:54:00:00:00:02".parse().ok(), ..Nic::default() };
        assert_eq!(identifying(&[virtual_one, to_manager]), ["52:54:00:00:00:01".parse().unwrap()]);
    }

    #[test]
    fn q110_ports_are_matched_by_address() {
        let interface = |id: &str, mac: &str| port(json!({"Id": id, "MACAddress": mac})).nic;
        let function = |id: &str, mac: &str| port(json!({"Id": id, "Ethernet": {"MACAddress": mac}}));
        let merged = merge(
            vec![interface("1", "3c:ec:ef:00:00:01"), interface("2", "3c:ec:ef:00:00:02")],
            vec![
                ("AOC".to_owned(), function("1", "3C:EC:EF:00:00:0A")),
                ("AOC".to_owned(), function("2", "3C:EC:EF:00:00:0B")),
                ("Onboard".to_owned(), function("1", "3C:EC:EF:00:00:01")),
            ],
        );
        let shown: Vec<String> = merged
            .iter()
            .map(|nic| format!("{} {} {:?}", nic.name, nic.mac.unwrap(), nic.adapter.as_deref()))
            .collect();
        assert_eq!(
            shown,
            [
                r#"1 3c:ec:ef:00:00:01 Some("Onboard")"#,
                "2 3c:ec:ef:00:00:02 None",
                r#"1 3c:ec:ef:00:00:0a Some("AOC")"#,
                r#"2 3c:ec:ef:00:00:0b Some("AOC")"#,
            ]
        );
    }

    #[test]
    fn q114_a_link_is_told_and_never_decides() {
        assert_eq!(port(json!({"LinkStatus": null})).nic.link, None);
        assert_eq!(port(json!({"LinkStatus": "LinkDown"})).nic.link, Some(false));
        assert_eq!(port(json!({"LinkStatus": "SomethingNew"})).nic.link, None);
        let down = port(json!({"LinkStatus": "LinkDown", "MACAddress": "3c:ec:ef:00:00:01"})).nic;
        assert_eq!(identifying(&[down]).len(), 1);
    }
}
