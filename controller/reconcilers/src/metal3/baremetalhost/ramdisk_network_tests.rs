use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(data: &Value) -> Result<NetworkConfig, String> {
    of(data.as_object().unwrap())
}

#[test]
fn a_vlan_on_a_bond_with_a_fixed_address_reaches_the_ramdisk_in_the_order_in_which_it_is_made() {
    let config = read(&json!({
        "links": [
            {"id": "prov", "type": "vlan", "vlan_link": "b", "vlan_id": 7, "vlan_mac_address": "52:54:00:00:00:01", "name": "bond0.7"},
            {"id": "b", "name": "bond0", "type": "bond", "bond_mode": "802.3ad", "bond_links": ["x", "y"], "mtu": 9000},
            {"id": "x", "type": "phy", "ethernet_mac_address": "52-54-00-00-00-0A"},
            {"id": "y", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:0b", "mtu": null},
        ],
        "networks": [
            {"id": "n", "link": "prov", "type": "ipv4", "ip_address": "192.0.2.7", "netmask": "255.255.255.0",
             "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1",
                         "services": []}]},
            {"id": "m", "link": "prov", "type": "ipv6", "ip_address": "2001:db8::7",
             "netmask": "ffff:ffff:ffff:ffff::", "gateway": "2001:db8::1"},
        ],
        "services": [{"type": "dns", "address": "192.0.2.53"}, {"type": "ntp", "address": "192.0.2.9"}],
    }))
    .unwrap();
    let names: Vec<&str> = config.links.iter().map(|link| link.id.as_str()).collect();
    assert_eq!(names, ["x", "y", "bond0", "bond0.7"]);
    assert_eq!(config.links[0].kind, LinkKind::Physical { mac: "52:54:00:00:00:0a".to_owned() });
    let members = vec!["x".to_owned(), "y".to_owned()];
    assert_eq!(config.links[2].kind, LinkKind::Bond { members, mode: BondMode::Lacp, mac: None });
    assert_eq!(config.links[2].mtu, Some(9000));
    let vlan = &config.links[3];
    assert_eq!(vlan.kind, LinkKind::Vlan { on: "bond0".to_owned(), vlan: 7 });
    let fixed = |address: &str, prefix| AddressSource::Static { address: address.parse().unwrap(), prefix };
    assert_eq!(vlan.addresses, [fixed("192.0.2.7", 24), fixed("2001:db8::7", 64)]);
    let default = |to: &str, gateway: &str| Route {
        destination: to.parse().unwrap(),
        prefix: 0,
        gateway: Some(gateway.parse().unwrap()),
        metric: None,
    };
    assert_eq!(vlan.routes, [default("0.0.0.0", "192.0.2.1"), default("::", "2001:db8::1")]);
    assert_eq!(config.resolvers, ["192.0.2.53".parse::<IpAddr>().unwrap()]);
}

#[test]
fn what_the_ramdisk_cannot_do_is_refused_in_words() {
    let phy = json!({"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"});
    let dhcp = json!([{"link": "a", "type": "ipv4_dhcp"}]);
    assert_eq!(read(&json!({"links": [phy], "networks": dhcp})).unwrap().links[0].addresses, [AddressSource::Dhcp4]);
    let one = |network: Value| json!({"links": [phy], "networks": [network]});
    for (data, why) in [
        (json!({"interfaces": []}), "nmstate's form"),
        (json!({"version": 2, "ethernets": {}}), "cloud-init's own form"),
        (json!({}), "no network gives the ramdisk an address"),
        (one(json!({"link": "a", "type": "ipv6_slaac"})), "no network gives the ramdisk an address"),
        (one(json!({"link": "b", "type": "ipv4_dhcp"})), "networks[0]: there is no link \"b\""),
        (one(json!({"link": "a", "type": "ipv5"})), "type \"ipv5\" is not known"),
        (one(json!({"link": "a", "type": "ipv4", "ip_address": "192.0.2.7"})), "it has no netmask"),
        (one(json!({"link": "a", "type": "ipv4", "ip_address": "192.0.2.7/33"})), "\"33\" is no netmask for 192.0.2.7"),
        (
            one(json!({"link": "a", "type": "ipv4", "ip_address": "192.0.2.7", "netmask": "255.0.255.0"})),
            "is no netmask",
        ),
        (one(json!({"link": "a", "type": "ipv4", "ip_address": "192.0.2.7", "netmask": "ffff::"})), "is no netmask"),
        (json!({"links": [{"id": "a"}], "networks": dhcp}), "links[0]: it needs an ethernet_mac_address"),
        (json!({"links": [{"id": "a", "ethernet_mac_address": "52:54"}]}), "is no MAC address"),
        (json!({"links": [phy, phy], "networks": dhcp}), "two links are called \"a\""),
        (
            json!({"links": [phy, {"id": "v", "type": "vlan", "vlan_link": "a", "vlan_id": 4095}]}),
            "vlan_id of 1 to 4094",
        ),
        (
            json!({"links": [phy, {"id": "v", "type": "vlan", "vlan_link": "z", "vlan_id": 7}]}),
            "links[1]: there is no link \"z\"",
        ),
        (
            json!({"links": [phy, {"id": "b", "type": "bond", "bond_links": ["a"], "bond_mode": "fast"}]}),
            "no bond_mode \"fast\"",
        ),
        (
            json!({"links": [
                {"id": "v", "type": "vlan", "vlan_link": "w", "vlan_id": 7},
                {"id": "w", "type": "vlan", "vlan_link": "v", "vlan_id": 8}], "networks": [{"link": "v", "type": "ipv4_dhcp"}]}),
            "in a circle",
        ),
        (json!({"links": vec![phy.clone(); 65]}), "links has 65 entries"),
        (json!({"links": {}}), "links is no list"),
    ] {
        let error = read(&data).unwrap_err();
        assert!(error.contains(why), "{data}: {error}");
    }
}

#[test]
fn a_vlan_with_a_long_id_gets_a_name_that_the_kernel_takes() {
    let config = read(&json!({
        "links": [
            {"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"},
            {"id": "provisioning-network", "type": "vlan", "vlan_link": "a", "vlan_id": "7"},
        ],
        "networks": [{"link": "provisioning-network", "type": "ipv6_dhcp"}],
    }));
    assert_eq!(config.unwrap().links[1].id, "vlan7");
}

fn any_value() -> impl Strategy<Value = Value> {
    let words = prop_oneof![
        Just("a"),
        Just("b"),
        Just("phy"),
        Just("vlan"),
        Just("bond"),
        Just("ipv4"),
        Just("192.0.2.1/24"),
        Just("52:54:00:00:00:01"),
        Just("802.3ad"),
        Just("")
    ];
    let leaf = prop_oneof![words.prop_map(Value::from), any::<i32>().prop_map(Value::from), Just(Value::Null)];
    let keys = prop::sample::select(vec![
        "id",
        "type",
        "link",
        "links",
        "networks",
        "vlan_link",
        "vlan_id",
        "bond_links",
        "bond_mode",
        "routes",
        "mtu",
        "ip_address",
        "netmask",
        "network",
        "gateway",
        "ethernet_mac_address",
        "services",
        "address",
    ]);
    leaf.prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever comes through has every link after those that it is made of, and survives the overlay.
    #[test]
    fn nothing_breaks_the_reader(links in any_value(), networks in any_value()) {
        let mut data = Map::new();
        data.insert("links".to_owned(), links);
        data.insert("networks".to_owned(), networks);
        if let Ok(config) = of(&data) {
            for (at, link) in config.links.iter().enumerate() {
                let before = |id: &String| config.links[..at].iter().any(|other| other.id == *id);
                match &link.kind {
                    LinkKind::Physical { .. } => {}
                    LinkKind::Vlan { on, .. } => prop_assert!(before(on)),
                    LinkKind::Bond { members, .. } => prop_assert!(members.iter().all(before)),
                }
            }
            let again: NetworkConfig = serde_json::from_value(serde_json::to_value(&config).unwrap()).unwrap();
            prop_assert_eq!(again, config);
        }
    }
}
