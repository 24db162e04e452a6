//! Every dump that is a tree can be served, whole, and its machine driven.

use std::collections::BTreeSet;

use bessemer_fake_bmc::redfish::tls::Tls;
use bessemer_fake_bmc::{FleetOptions, HostOptions, fleet, seed};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{Bmc, SYSTEM, http};

/// The dumps that are trees, and the system that is driven.
const DUMPS: [(&str, &str); 15] = [
    ("dell-r630-idrac8-2.81", "System.Embedded.1"),
    ("dell-r750-idrac9-6.00", "System.Embedded.1"),
    ("dmtf-public-bladed", "553YD1100W5"),
    ("dmtf-public-rackmount1", "867QJ1875V0"),
    ("hpe-cray-ex4252-4node", "Node3"),
    ("hpe-dl325gen10plus-ilo5-2.46", "1"),
    ("hpe-dl385gen10plusv2-ilo5-2.72", "1"),
    ("intel-s2600bpb-1.93", ""),
    ("lenovo-sr670v2-xcc-2.83", "1"),
    ("nvidia-bluefield3-bmc-24.10", "Bluefield"),
    ("nvidia-dgxh100-ami-23.11", "DGX"),
    ("openbmc-stock-2.15-dev", "system"),
    ("supermicro-sys821ge-tnhr", "1"),
    ("supermicro-x10-b", "1"),
    ("embedded-gofish", ""),
];

#[tokio::test]
async fn every_dump_serves_what_it_holds_and_its_machine_is_driven() {
    let mut driven = 0;
    for (dump, expected) in DUMPS {
        let tree = match seed::dump(dump) {
            Ok(tree) => tree,
            Err(seed::Error::NoData) => return println!("SKIP no test data: set BESSEMER_TEST_DATA"),
            Err(seed::Error::NoRoot(_)) => continue,
            Err(error) => panic!("{error}"),
        };
        let bmc = Bmc::with(HostOptions::numbered(7), &tree).await;
        let paths: Vec<String> = tree.paths().map(str::to_owned).collect();
        for path in &paths {
            let replaced = path.contains("/Sessions/") || path.contains("/Accounts/");
            assert!(replaced || bmc.fake.redfish().resource(path).is_some(), "{dump}: {path}");
        }
        let system = tree.system().unwrap_or_else(|| panic!("{dump}: no system that can be reset")).to_owned();
        assert!(system.ends_with(expected), "{dump}: {system}");
        let body = bmc.get(&system).await;
        let target = body["Actions"]["#ComputerSystem.Reset"]["target"].as_str().unwrap().to_owned();
        for (how, state) in [("ForceOff", "Off"), ("On", "On")] {
            let sent = bmc.post(&target, json!({ "ResetType": how })).await;
            assert_eq!(sent.status, 204, "{dump}: {how}: {:?}", sent.body);
            let shown = bmc.get(&system).await["PowerState"].take();
            assert!(shown.is_null() || shown == state, "{dump}: {shown} after {how}");
        }
        driven += 1;
    }
    assert!(driven >= 13, "only {driven} dumps were driven");
}

/// All strings of all bodies of a host.
fn strings(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            found.insert(text.clone());
        }
        Value::Array(array) => array.iter().for_each(|value| strings(value, found)),
        Value::Object(object) => {
            let links = ["@odata.id", "target"];
            object.iter().filter(|(name, _)| !links.contains(&name.as_str())).for_each(|(_, value)| {
                strings(value, found);
            });
        }
        _ => {}
    }
}

#[tokio::test]
async fn hosts_of_one_seed_have_nothing_of_themselves_in_common() {
    let mut seeds = vec![(seed::minimal().unwrap(), SYSTEM.to_owned())];
    for dump in ["dell-r750-idrac9-6.00", "hpe-dl385gen10plusv2-ilo5-2.72", "lenovo-sr670v2-xcc-2.83"] {
        match seed::dump(dump) {
            Ok(tree) => {
                let system = tree.system().unwrap().to_owned();
                seeds.push((tree, system));
            }
            Err(_) => {
                println!("SKIP no test data: set BESSEMER_TEST_DATA");
                break;
            }
        }
    }
    for (tree, system) in seeds {
        let seeded = tree.get(&system).unwrap().clone();
        let fleet = fleet::start(FleetOptions { tls: Tls::Off, ..FleetOptions::new(tree.clone(), 2) }).await.unwrap();
        let of = |number: usize| {
            let mut found = BTreeSet::new();
            for path in tree.paths().filter(|path| path.starts_with(&system) || path.contains("/Managers/")) {
                strings(&fleet[number].redfish().resource(path).unwrap_or_default(), &mut found);
            }
            found
        };
        let (one, other) = (of(0), of(1));
        let is_mac = |text: &&String| text.len() == 17 && bessemer_fake_bmc::host::identity::Mac::parse(text).is_some();
        let nothing = |text: &&&String| text.as_str() != "00:00:00:00:00:00";
        let shared: Vec<&String> = one.intersection(&other).filter(is_mac).filter(|mac| nothing(&mac)).collect();
        assert!(shared.is_empty(), "{system}: {shared:?}");
        for name in ["UUID", "SerialNumber"] {
            let [a, b] = [0, 1].map(|number: usize| fleet[number].redfish().resource(&system).unwrap()[name].clone());
            assert_ne!(a, b, "{name}");
            assert!(!one.contains(seeded[name].as_str().unwrap()), "{name} of the seed is left somewhere");
        }
        let identity = fleet[1].host().identity();
        let shown = fleet[1].redfish().resource(&system).unwrap();
        assert!(shown["UUID"].as_str().unwrap().eq_ignore_ascii_case(&identity.uuid.to_string()));
        assert!(other.iter().any(|text| text.eq_ignore_ascii_case(&identity.macs[0].to_string())), "{system}");
    }
}

#[tokio::test]
async fn nodes_behind_one_controller_are_apart() {
    let Ok(tree) = seed::dump("hpe-cray-ex4252-4node") else {
        return println!("SKIP no test data: set BESSEMER_TEST_DATA");
    };
    assert_eq!(tree.systems().len(), 4);
    let bmc = Bmc::with(HostOptions::numbered(0), &tree).await;
    let second = tree.systems()[1].clone();
    let target = bmc.get(&second).await["Actions"]["#ComputerSystem.Reset"]["target"].as_str().unwrap().to_owned();
    assert_eq!(bmc.post(&target, json!({ "ResetType": "On" })).await.status, 204);
    let mut states = Vec::new();
    for system in tree.systems() {
        states.push(bmc.get(system).await["PowerState"].clone());
    }
    assert_eq!(states, ["Off", "On", "Off", "Off"]);
    let other = Bmc::with(HostOptions::numbered(1), &tree).await;
    for system in tree.systems() {
        let serials = [&bmc, &other].map(|bmc| bmc.get(system));
        let [one, two] = serials.map(|read| async { read.await["SerialNumber"].take() });
        assert_ne!(one.await, two.await, "{system}");
    }
}

#[tokio::test]
async fn certificates_of_every_kind() {
    let tree = seed::minimal().unwrap();
    for tls in [Tls::Authority, Tls::SelfSigned] {
        let fake = fleet::start_one(&tree, HostOptions::numbered(0), tls).await.unwrap();
        let read = http(fake.trusted()).request(Method::GET, format!("{}/redfish/v1", fake.url())).send().await;
        assert_eq!(read.unwrap().status(), 200, "{tls:?}");
        let other = fleet::start_one(&tree, HostOptions::numbered(1), tls).await.unwrap();
        let stranger = http(other.trusted()).get(format!("{}/redfish/v1", fake.url())).send().await;
        assert!(stranger.unwrap_err().is_connect(), "{tls:?}");
    }
    let fake = fleet::start_one(&tree, HostOptions::numbered(0), Tls::SelfSignedAuthority).await.unwrap();
    let refused = http(fake.trusted()).get(format!("{}/redfish/v1", fake.url())).send().await.unwrap_err();
    assert!(format!("{refused:?}").contains("CaUsedAsEndEntity"), "{refused:?}");
}
