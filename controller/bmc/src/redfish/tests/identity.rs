//! Who answers, against what BMCs were seen to do; and that several servers of one BMC are one guest to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::scripted::{SYSTEM, Scripted, answer, ok, status, system};
use crate::{Bmc as _, BmcConnector as _, BmcError, Connector, Credentials, PowerState, Trust};

#[tokio::test]
async fn q32_a_bmc_is_known_only_by_what_needs_the_login() {
    let bmc = Scripted::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1" => ok(&json!({"Vendor": "Contoso", "Systems": {"@odata.id": "/redfish/v1/Systems"}})),
        _ => status(401),
    });
    let error = bmc.await.bmc().identify().await.unwrap_err();
    assert!(matches!(&error, BmcError::BadCredentials { user, .. } if user == "admin"), "{error}");
}

#[tokio::test]
async fn q73_a_manager_without_a_power_state_is_as_good_as_any() {
    let bmc = Scripted::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1" => ok(&json!({"Managers": {"@odata.id": "/redfish/v1/Managers"}})),
        "/redfish/v1/Managers/1" => ok(&json!({"FirmwareVersion": "iLO 6 v1.70", "ManagerType": "BMC"})),
        SYSTEM => {
            let managed = json!({"Links": {"ManagedBy": [{"@odata.id": "/redfish/v1/Managers/1"}]}});
            ok(&system("On", &["On"], managed))
        }
        _ => status(404),
    });
    let bmc = bmc.await.bmc();
    assert_eq!(bmc.identify().await.unwrap().firmware.as_deref(), Some("iLO 6 v1.70"));
    assert_eq!(bmc.power_state().await.unwrap(), PowerState::On);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_servers_of_one_bmc_share_its_session() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counting, highest) = (Arc::clone(&now), Arc::clone(&most));
    let bmc = Scripted::start(move |seen, _| {
        highest.fetch_max(counting.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let answer = match (seen.method.as_str(), seen.path.as_str()) {
            (_, "/redfish/v1") => ok(&json!({"Links": {"Sessions": {"@odata.id": "/redfish/v1/Sessions"}}})),
            ("POST", "/redfish/v1/Sessions") => {
                answer(201, &[("X-Auth-Token", "t"), ("Location", "/redfish/v1/Sessions/1")], "{}")
            }
            ("DELETE", _) => status(204),
            _ if seen.header("x-auth-token").is_none() => status(401),
            _ => ok(&system("On", &["On"], json!({}))),
        };
        std::thread::sleep(Duration::from_millis(2));
        counting.fetch_sub(1, Ordering::SeqCst);
        answer
    });
    let bmc = bmc.await;
    let connector = Connector::new();
    let mut readers = Vec::new();
    for node in 0..4 {
        let at = format!("redfish+http://{}/redfish/v1/Systems/Node{node}", bmc.address()).parse().unwrap();
        let server = connector.connect(&at, Credentials::new("admin", "secret"), Trust::System).unwrap();
        readers.push(tokio::spawn(async move { server.power_state().await }));
    }
    for reader in readers {
        assert_eq!(reader.await.unwrap().unwrap(), PowerState::On);
    }
    assert!(most.load(Ordering::SeqCst) <= 2, "{most:?}");
    let sessions = |method: &str| bmc.writes().iter().filter(|seen| seen.method == method).count();
    assert_eq!(sessions("POST"), 1);
    drop(connector);
    for _ in 0..100 {
        if sessions("DELETE") == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the session was left behind");
}
