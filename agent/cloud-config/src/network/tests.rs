//! The three forms side by side, and what cannot be meant.

use proptest::prelude::*;

use super::*;

const OPENSTACK: &str = r#"{"links": [
  {"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01", "mtu": 9000},
  {"id": "b", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:02"},
  {"id": "x", "type": "bond", "bond_mode": "802.3ad", "bond_xmit_hash_policy": "layer3+4", "bond_miimon": 100, "bond_links": ["a", "b"]},
  {"id": "v", "type": "vlan", "vlan_link": "x", "vlan_id": 7, "vlan_mac_address": "52:54:00:00:00:07"}],
 "networks": [
  {"id": "n1", "link": "v", "type": "ipv4", "ip_address": "192.0.2.7", "netmask": "255.255.255.0",
   "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"}, {"network": "198.51.100.0", "netmask": "24", "gateway": "0.0.0.0"}]},
  {"id": "n2", "link": "v", "type": "ipv6", "ip_address": "2001:db8::7", "netmask": "64", "gateway": "2001:db8::1"}],
 "services": [{"type": "dns", "address": "192.0.2.53"}]}"#;

fn nics() -> Vec<Nic> {
    let nic = |name: &str, mac: &str| Nic { name: name.into(), mac: mac.into() };
    vec![nic("eno1", "52:54:00:00:00:01"), nic("eno2", "52:54:00:00:00:02")]
}

#[test]
fn openstack_data_gets_the_names_of_this_hosts_nics() {
    let network = parse(OPENSTACK).unwrap().on_host(&nics()).unwrap();
    let names: Vec<&str> = network.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["eno1", "eno2", "bond0", "bond0.7"]);
    assert!(
        matches!(&network.links[2].kind, Kind::Bond { members, parameters } if *members == ["eno1", "eno2"] && parameters["mii-monitor-interval"] == "100")
    );
    let error = parse(OPENSTACK).unwrap().on_host(&nics()[1..]).unwrap_err();
    assert_eq!(error.to_string(), "a: no interface of this host has the address 52:54:00:00:00:01");
}

#[test]
fn c139_a_next_hop_of_zeros_is_no_next_hop() {
    let network = parse(OPENSTACK).unwrap();
    let route = &network.links[3].routes[1];
    assert_eq!((route.to.to_string().as_str(), route.via), ("198.51.100.0/24", None));
    let files = networkd::render(&network);
    let text = &files.iter().find(|file| file.path.ends_with("bond0.7.network")).unwrap().content;
    assert!(text.contains("Destination=198.51.100.0/24\nScope=link\n"), "{text}");
}

#[test]
fn c141_a_route_without_a_next_hop_and_static6_are_rendered() {
    let v2 = parse("version: 2\nethernets:\n  eth0:\n    addresses: [192.0.2.5/24]\n    routes: [{to: 203.0.113.0/24, scope: link}]\n").unwrap();
    assert!(networkd::render(&v2)[0].content.contains("Destination=203.0.113.0/24\nScope=link"));
    let v1 = parse("version: 1\nconfig:\n- type: physical\n  name: eth0\n  subnets: [{type: static6, address: '2001:db8::5/64', gateway: 'fe80::1'}]\n").unwrap();
    for text in [&networkd::render(&v1)[0].content, &netplan::render(&v1), &keyfile::render(&v1)[0].content] {
        assert!(text.contains("2001:db8::5/64") && text.contains("fe80::1"), "{text}");
    }
}

#[test]
fn c167_two_default_routes_one_of_each_family() {
    let text = "version: 1\nconfig:\n- type: physical\n  name: eth0\n  subnets:\n  - {type: static, address: 10.0.0.5/24, gateway: 10.0.0.1, routes: [{network: 0.0.0.0/0, gateway: 10.0.0.1}]}\n  - {type: static, address: 'fd00::5/64', gateway: 'fd00::1'}\n";
    let network = parse(text).unwrap();
    let defaults: Vec<_> = network.links[0].routes.iter().filter(|route| route.to.is_default()).collect();
    assert_eq!(defaults.len(), 2);
    assert!(defaults[0].to.network.is_ipv4() && defaults[1].to.network.is_ipv6());
}

#[test]
fn every_renderer_says_the_same_of_bonds_and_vlans() {
    let network = parse(OPENSTACK).unwrap().on_host(&nics()).unwrap();
    let networkd = networkd::render(&network);
    let file = |name: &str| networkd.iter().find(|file| file.path.ends_with(name)).unwrap().content.as_str();
    assert_eq!(
        file("10-cloud-init-bond0.netdev"),
        "[NetDev]\nName=bond0\nKind=bond\n\n[Bond]\nMode=802.3ad\nTransmitHashPolicy=layer3+4\nMIIMonitorSec=100ms\n"
    );
    assert_eq!(
        file("10-cloud-init-bond0.7.netdev"),
        "[NetDev]\nName=bond0.7\nKind=vlan\nMACAddress=52:54:00:00:00:07\n\n[VLAN]\nId=7\n"
    );
    assert!(file("10-cloud-init-eno1.network").contains("Bond=bond0\n"));
    assert!(file("10-cloud-init-bond0.network").contains("VLAN=bond0.7\n"));
    let yaml = crate::yaml::parse(&netplan::render(&network)).unwrap().to_json();
    assert_eq!(yaml["network"]["bonds"]["bond0"]["interfaces"], serde_json::json!(["eno1", "eno2"]));
    assert_eq!(yaml["network"]["vlans"]["bond0.7"]["id"], 7);
    assert_eq!(yaml["network"]["ethernets"]["eno1"]["mtu"], 9000);
    let keyfiles = keyfile::render(&network);
    assert!(keyfiles[0].content.contains(&format!("master={}\n", keyfile::uuid("bond0"))));
    assert!(keyfiles[3].content.contains(&format!("parent={}\n", keyfile::uuid("bond0"))));
}

#[test]
fn what_cannot_be_meant_is_a_reason() {
    let table = [
        ("{}", "neither OpenStack's"),
        ("version: 3", "neither OpenStack's"),
        ("links: [{id: a, type: vlan, vlan_link: b, vlan_id: 7}]", "there is no link \"b\""),
        ("links: [{id: a, type: vlan, vlan_link: a, vlan_id: 5000}]", "is no VLAN id"),
        ("links: [{id: a, type: phy, ethernet_mac_address: zz}]", "is no MAC address"),
        ("links: [{id: a, type: phy}, {id: a, type: phy}]", "two links"),
        ("links: [{id: ../../etc/x, type: phy}]", "is no name of an interface"),
        ("{links: [], networks: [{link: a, type: ipv4}]}", "there is no link"),
        ("{links: [{id: a, type: phy}], networks: [{link: a, type: ipv4, ip_address: 1.2.3.4.5}]}", "is no address"),
        ("version: 2\nethernets: {e: {routes: [{to: 0.0.0.0/0, via: 'fe80::1'}]}}", "different families"),
        ("version: 2\nbonds: {b: {interfaces: [x]}}", "there is no link"),
        ("version: 2\nbonds: {b: {parameters: {mode: fast}}}", "is no mode"),
    ];
    for (text, expected) in table {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let warned = parse("version: 2\nwifis: {w: {}}\nethernets: {e: {dhcp4: true, emit-lldp: true}}").unwrap().warnings;
    assert_eq!(warned, ["wifis: left out", "ethernets.e.emit-lldp: left out"]);
}

proptest! {
    #[test]
    fn hostile_data_is_an_error_and_no_panic(text in "(version: [12]\n|links: )?[-\\[\\]{}:,'\" a-c0-9./\n]{0,200}") {
        if let Ok(network) = parse(&text) {
            let _ = (networkd::render(&network), netplan::render(&network), keyfile::render(&network));
        }
    }
}
