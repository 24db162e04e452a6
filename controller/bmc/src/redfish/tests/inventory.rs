//! Inventory and identity against trees that are incomplete, wrong or odd in ways that real ones were seen to be.

use std::collections::HashMap;
use std::time::Duration;

use axum::response::Response;
use serde_json::{Value, json};

use super::super::RedfishBmc;
use super::super::survey::Survey;
use super::replay::bodies;
use super::scripted::{SYSTEM, Scripted, Seen, ok, status, system};
use crate::power::Patience;
use crate::{Bmc as _, BmcError, Credentials, MacAddress};

/// A BMC that serves these bodies by path, and has nothing else.
async fn serve(tree: Vec<(&str, Value)>) -> Scripted {
    let tree: HashMap<String, Value> = tree.into_iter().map(|(path, body)| (path.to_owned(), body)).collect();
    Scripted::start(move |seen: &Seen, _: &[Seen]| -> Response {
        match tree.get(&seen.path) {
            Some(body) => ok(body),
            None => status(404),
        }
    })
    .await
}

fn link(path: &str) -> Value {
    json!({ "@odata.id": path })
}

fn members(paths: &[&str]) -> Value {
    json!({"Members": paths.iter().map(|path| link(path)).collect::<Vec<_>>()})
}

fn server(more: Value) -> Value {
    system("On", &["On", "ForceOff"], more)
}

const CPUS: &str = "/redfish/v1/Systems/1/Processors";

#[tokio::test]
async fn q96_q97_collections_without_members_or_counts() {
    let tree = vec![
        (SYSTEM, server(json!({"Processors": link(CPUS), "Memory": link("/mem"), "Storage": link("/sto")}))),
        (CPUS, json!({"Members": [link("/cpu/1")], "@odata.count": 7})),
        ("/cpu/1", json!({"Id": "1", "ProcessorType": "CPU", "Model": "X"})),
        ("/mem", json!({"Members": null})),
        ("/sto", json!({"Members@odata.count": 0})),
    ];
    let inventory = serve(tree).await.bmc().inventory().await.unwrap();
    assert_eq!(inventory.processors.len(), 1);
    assert!(inventory.memory.is_empty() && inventory.drives.is_empty() && inventory.gaps.is_empty());
}

#[tokio::test]
async fn q98_pages_are_followed_and_loops_end() {
    let tree = |last: Option<&'static str>| {
        let mut second = members(&["/cpu/2"]);
        if let Some(next) = last {
            second["Members@odata.nextLink"] = next.into();
        }
        vec![
            (SYSTEM, server(json!({"Processors": link(CPUS)}))),
            (CPUS, json!({"Members": [link("/cpu/1")], "Members@odata.count": 2, "Members@odata.nextLink": "/page/2"})),
            ("/page/2", second),
            ("/cpu/1", json!({"Id": "1"})),
            ("/cpu/2", json!({"Id": "2"})),
        ]
    };
    for last in [None, Some(CPUS), Some("/page/2"), Some("/page/3")] {
        let inventory = serve(tree(last)).await.bmc().inventory().await.unwrap();
        assert_eq!(inventory.processors.len(), 2, "{last:?}");
    }
}

#[tokio::test]
async fn q100_q101_members_that_are_not_there_and_properties_that_are_missing() {
    let tree = vec![
        (SYSTEM, server(json!({"Processors": link(CPUS)}))),
        (CPUS, members(&["/cpu/1", "/cpu/gone", "/cpu/error"])),
        ("/cpu/1", json!({})),
        ("/cpu/error", json!({"error": {"code": "Base.1.1.0.GeneralError"}})),
    ];
    let inventory = serve(tree).await.bmc().inventory().await.unwrap();
    let names: Vec<&str> = inventory.processors.iter().map(|processor| processor.name.as_str()).collect();
    assert_eq!(names, ["1"]);
    assert!(inventory.gaps.is_empty(), "{:?}", inventory.gaps);
}

#[tokio::test]
async fn a_part_that_cannot_be_read_is_a_gap_and_the_rest_is_there() {
    let bmc = Scripted::start(|seen, _| match seen.path.as_str() {
        SYSTEM => ok(&server(json!({"Processors": link(CPUS), "Memory": link("/mem")}))),
        CPUS => ok(&members(&["/cpu/1"])),
        "/cpu/1" => ok(&json!({"Model": "X"})),
        "/mem" => status(501),
        _ => status(404),
    });
    let inventory = bmc.await.bmc().inventory().await.unwrap();
    assert_eq!(inventory.processors.len(), 1);
    assert!(inventory.gaps[0].starts_with("/mem: GET") && inventory.gaps[0].contains("501"), "{:?}", inventory.gaps);
    let bmc =
        Scripted::start(
            |seen, _| if seen.path == SYSTEM { ok(&server(json!({"Memory": link("/mem")}))) } else { status(401) },
        );
    let error = bmc.await.bmc().inventory().await.unwrap_err();
    assert!(matches!(error, BmcError::BadCredentials { .. }), "{error}");
}

#[tokio::test]
async fn q104_a_server_without_uuid_has_its_serial_and_addresses() {
    let tree = vec![
        (
            SYSTEM,
            server(json!({
                "UUID": null, "SerialNumber": "", "EthernetInterfaces": link("/eth"),
                "Links": {"Chassis": [link("/chassis")]},
            })),
        ),
        ("/chassis", json!({"Manufacturer": "HPE", "SerialNumber": "HV9185736X"})),
        ("/eth", members(&["/eth/1"])),
        ("/eth/1", json!({"MACAddress": "00:40:A6:DC:33:A3"})),
    ];
    let identity = serve(tree).await.bmc().identify().await.unwrap();
    assert_eq!((identity.uuid, identity.serial.as_deref()), (None, Some("HV9185736X")));
    assert_eq!(identity.vendor.as_deref(), Some("HPE"));
    assert_eq!(identity.macs, [mac("00:40:a6:dc:33:a3")]);
}

fn mac(text: &str) -> MacAddress {
    text.parse().unwrap()
}

#[tokio::test]
async fn q109_addresses_come_from_cards_where_the_system_shows_none() {
    let cards = [
        ("/chassis", json!({"NetworkAdapters": link("/cards")})),
        ("/cards", members(&["/cards/1"])),
        (
            "/cards/1",
            json!({"Id": "NIC.Slot.3", "Model": "X710", "NetworkDeviceFunctions": link("/fun"), "Ports": link("/ports")}),
        ),
        ("/fun", members(&["/fun/1"])),
        ("/fun/1", json!({"Id": "NIC.Slot.3-1", "Ethernet": {"MACAddress": "3C:FD:FE:00:00:01"}})),
        ("/ports", members(&["/ports/1"])),
        (
            "/ports/1",
            json!({"Id": "1", "Ethernet": {"AssociatedMACAddresses": ["3C:FD:FE:00:00:01"]}, "LinkStatus": "LinkUp"}),
        ),
    ];
    let empty = [
        vec![],
        vec![("/eth", members(&[]))],
        vec![("/eth", members(&["/eth/1"])), ("/eth/1", json!({"Id": "NIC.Slot.3-1", "MACAddress": ""}))],
    ];
    for interfaces in empty {
        let own = json!({"Links": {"Chassis": [link("/chassis")]}, "EthernetInterfaces": link("/eth")});
        let mut tree = vec![(SYSTEM, server(own))];
        tree.extend(cards.clone());
        tree.extend(interfaces);
        let bmc = serve(tree).await;
        assert_eq!(bmc.bmc().identify().await.unwrap().macs, [mac("3c:fd:fe:00:00:01")]);
        let nics = bmc.bmc().inventory().await.unwrap().nics;
        assert_eq!(nics.len(), 1, "{nics:?}");
        assert_eq!(nics[0].adapter.as_deref(), Some("NIC.Slot.3 (X710)"));
        assert_eq!((nics[0].name.as_str(), nics[0].link), ("NIC.Slot.3-1", Some(true)));
    }
}

/// C206: without a link there is nothing to ask for.
#[tokio::test]
async fn a_chassis_without_adapters_costs_no_call() {
    let tree = vec![
        (SYSTEM, server(json!({"Links": {"Chassis": [link("/chassis")]}}))),
        ("/chassis", json!({"Id": "chassis"})),
    ];
    let bmc = serve(tree).await;
    let inventory = bmc.bmc().inventory().await.unwrap();
    assert!(inventory.nics.is_empty() && inventory.gaps.is_empty());
    let paths: Vec<String> = bmc.seen().into_iter().map(|seen| seen.path).collect();
    assert!(paths.iter().all(|path| !path.contains("NetworkAdapters")), "{paths:?}");
}

#[tokio::test]
async fn q117_the_manager_is_found_where_the_system_names_none() {
    let root = json!({"@odata.id": "/redfish/v1", "Managers": link("/mgr")});
    let cases = [
        (vec!["/mgr/a"], json!({"FirmwareVersion": "6.41"}), Some("6.41")),
        (vec!["/mgr/a", "/mgr/b"], json!({"FirmwareVersion": "6.41", "ManagerType": "BMC"}), Some("6.41")),
        (vec!["/mgr/a", "/mgr/b"], json!({"FirmwareVersion": "6.41"}), None),
    ];
    for (all, manager, wanted) in cases {
        let tree = vec![
            ("/redfish/v1", root.clone()),
            (SYSTEM, server(json!({}))),
            ("/mgr", members(&all)),
            ("/mgr/a", manager),
            ("/mgr/b", json!({"FirmwareVersion": "1.0", "ManagerType": "AuxiliaryController"})),
        ];
        let identity = serve(tree).await.bmc().identify().await.unwrap();
        assert_eq!(identity.firmware.as_deref(), wanted, "{all:?}");
    }
}

#[tokio::test]
async fn q118_storage_that_is_hardly_described() {
    let tree = vec![
        (SYSTEM, server(json!({"Storage": link("/sto")}))),
        ("/sto", members(&["/sto/1", "/sto/2"])),
        ("/sto/1", json!({"Id": "1", "Drives": [link("/d/1"), link("/d/2"), link("/d/gone"), link("/d/3")]})),
        ("/sto/2", json!({"Id": "2", "Drives": null, "Volumes": null})),
        ("/d/1", json!({"Name": "Disk 0", "CapacityBytes": null, "Model": "X"})),
        ("/d/2", json!({"Name": "Disk 1", "CapacityBytes": 0, "SerialNumber": "S1"})),
        ("/d/3", json!({"Name": "Disk 2", "Status": {"State": "Absent"}})),
    ];
    let inventory = serve(tree).await.bmc().inventory().await.unwrap();
    let drives: Vec<(&str, Option<u64>)> =
        inventory.drives.iter().map(|drive| (drive.name.as_str(), drive.bytes)).collect();
    assert_eq!(drives, [("Disk 0", None), ("Disk 1", None)]);
}

#[tokio::test]
async fn q120_a_service_without_systems_says_so() {
    let bmc = Scripted::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1" => ok(&json!({"@odata.id": "/redfish/v1", "Chassis": link("/redfish/v1/Chassis")})),
        _ => status(404),
    });
    let error = bmc.await.bmc_without_path().identify().await.unwrap_err();
    assert!(error.to_string().contains("shows no systems: is it a server's bmc?"), "{error}");
}

/// C199: add-on cards of Supermicro, whose ports are called as those of the board.
#[tokio::test]
async fn q110_ports_of_add_on_cards_have_their_own_addresses() {
    let Some(bodies) = bodies("fixtures-bmclib") else { return };
    let served = |folder: &str| -> HashMap<String, Value> {
        let prefix = format!("internal/redfishwrapper/fixtures/{folder}/");
        let own = bodies.iter().filter(|(file, _)| file.starts_with(&prefix));
        own.filter_map(|(_, body)| Some((body.get("@odata.id")?.as_str()?.to_owned(), body.clone()))).collect()
    };
    for (folder, ports) in [("smc_aoc", 4), ("smc_aoc_id_collision", 4)] {
        let tree = served(folder);
        let own = json!({
            "EthernetInterfaces": link("/redfish/v1/Systems/1/EthernetInterfaces"),
            "NetworkInterfaces": link("/redfish/v1/Systems/1/NetworkInterfaces"),
        });
        let bmc = Scripted::start(move |seen, _| match tree.get(&seen.path) {
            Some(body) => ok(body),
            None if seen.path == SYSTEM => ok(&server(own.clone())),
            None => status(404),
        });
        let bmc = bmc.await;
        let nics = bmc.bmc().inventory().await.unwrap().nics;
        let mut macs: Vec<MacAddress> = nics.iter().filter_map(|nic| nic.mac).collect();
        macs.sort();
        macs.dedup();
        assert_eq!((nics.len(), macs.len()), (ports, ports), "{folder}");
        let mut cards: HashMap<&str, usize> = HashMap::new();
        for nic in &nics {
            *cards.entry(nic.adapter.as_deref().unwrap_or("none")).or_default() += 1;
        }
        assert!(cards.len() == 2 && cards.values().all(|&count| count == 2), "{folder}: {cards:?}");
    }
}

/// A service that never comes to an end is left after so many resources.
#[tokio::test]
async fn endless_collections_end() {
    let bmc = Scripted::start(|seen, before| match seen.path.as_str() {
        SYSTEM => ok(&server(json!({"Memory": link("/mem/0")}))),
        path if path.starts_with("/mem/") => {
            let page = before.len();
            let entries: Vec<Value> = (0..40).map(|entry| link(&format!("/dimm/{page}/{entry}"))).collect();
            ok(&json!({"Members": entries, "Members@odata.nextLink": format!("/mem/{page}")}))
        }
        path if path.starts_with("/dimm/") => ok(&json!({"Id": path, "CapacityMiB": 1})),
        _ => status(404),
    });
    let bmc = bmc.await;
    let inventory = bmc.bmc().inventory().await.unwrap();
    let reads = bmc.seen().len();
    assert!((500..=610).contains(&reads), "{reads} reads");
    assert!(inventory.gaps.iter().any(|gap| gap.contains("more than 600 resources")), "{:?}", inventory.gaps);
    assert!(inventory.memory.len() > 500);
}

/// One that is too slow is left after a while, with what was read until then.
#[tokio::test]
async fn slow_services_are_left() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("redfish+http://{}{SYSTEM}", listener.local_addr().unwrap()).parse().unwrap();
    let mut options = redfish_client::Options::default();
    options.sessions = false;
    let patience = Patience { settles_within: Duration::from_millis(100) };
    let bmc = RedfishBmc::with(&address, &Credentials::new("admin", "secret"), options, patience).unwrap();
    let survey = Survey::within(&bmc, Duration::from_millis(50));
    let start = std::time::Instant::now();
    assert!(survey.find(&redfish_client::Reference::root()).await.is_none());
    assert!(start.elapsed() < Duration::from_secs(5));
    let gaps = survey.finish("a test").unwrap();
    assert!(gaps[0].contains("not reached within 50ms"), "{gaps:?}");
}
