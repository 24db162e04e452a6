use std::time::Duration;

use bessemer_fake_bmc::redfish::behaviour::{Location, Reply};
use reqwest::Method;
use serde_json::json;

use crate::client::{Bmc, Read};

const UPDATE: &str = "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate";
const FIRMWARE: &str = "/redfish/v1/UpdateService/FirmwareInventory";

/// Asks the monitor until it says something else than 202, which must be `expected`.
pub(crate) async fn followed(bmc: &Bmc, monitor: &str, expected: u16) -> Read {
    for _ in 0..1000 {
        let read = bmc.send(Method::GET, monitor, None).await;
        if read.status != 202 {
            assert_eq!(read.status, expected, "{read:?}");
            return read;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{monitor} never ended");
}

#[tokio::test]
async fn an_update_runs_and_changes_the_inventory() {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| behaviour.task_time = Duration::from_secs(1));
    let bios = format!("{FIRMWARE}/BIOS");
    assert_eq!(bmc.get(&bios).await["Version"], "2.10.0");
    let accepted = bmc.post(UPDATE, json!({ "ImageURI": "http://192.0.2.1/bios-2.11.3.bin" })).await;
    assert_eq!((accepted.status, &accepted.body["TaskState"]), (202, &json!("Running")));
    let (monitor, task) = (accepted.header("location"), accepted.body["@odata.id"].as_str().unwrap());
    assert_eq!(accepted.body["TaskMonitor"], monitor);
    assert!(bmc.get(task).await["PercentComplete"].as_u64().unwrap() < 100);
    assert_eq!(bmc.get(&bios).await["Version"], "2.10.0", "not before the end");
    let done = followed(&bmc, monitor, 200).await;
    assert_eq!((&done.body["TaskState"], &done.body["PercentComplete"]), (&json!("Completed"), &json!(100)));
    assert_eq!(bmc.get(&bios).await["Version"], "2.11.3");
    let tasks = bmc.get("/redfish/v1/TaskService/Tasks").await;
    assert_eq!(tasks["Members"], json!([{ "@odata.id": task }]));
    let other = json!({ "ImageURI": "https://h/nic_21.0.bin", "Targets": [format!("{FIRMWARE}/NIC")] });
    let accepted = bmc.post(UPDATE, other).await;
    followed(&bmc, accepted.header("location"), 200).await;
    assert_eq!(bmc.get(&format!("{FIRMWARE}/NIC")).await["Version"], "21.0");
}

#[tokio::test]
async fn an_update_may_fail_and_bad_ones_are_refused() {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| behaviour.update_fails = Some("the image is not signed".to_owned()));
    let accepted = bmc.post(UPDATE, json!({ "ImageURI": "http://192.0.2.1/bios-9.9.bin" })).await;
    let failed = followed(&bmc, accepted.header("location"), 500).await;
    assert_eq!(failed.body["error"]["message"], "the image is not signed");
    let task = bmc.get(accepted.body["@odata.id"].as_str().unwrap()).await;
    assert_eq!((&task["TaskState"], &task["TaskStatus"]), (&json!("Exception"), &json!("Critical")));
    assert_eq!(bmc.get(&format!("{FIRMWARE}/BIOS")).await["Version"], "2.10.0");
    assert_eq!(bmc.post(UPDATE, json!({})).await.message(), "ActionParameterMissing");
    let nowhere = json!({ "ImageURI": "http://h/x.bin", "Targets": ["/redfish/v1/Nothing"] });
    assert_eq!(bmc.post(UPDATE, nowhere).await.message(), "ActionParameterValueNotInList");
}

#[tokio::test]
async fn locations_as_vendors_give_them() {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| (behaviour.reset_reply, behaviour.absolute_location) = (Reply::Task, true));
    let accepted = bmc.reset("On").await;
    assert_eq!(accepted.header("location"), format!("{}/redfish/v1/TaskService/TaskMonitors/1", bmc.fake.url()));
    bmc.change(|behaviour| (behaviour.location, behaviour.absolute_location) = (Location::Task, false));
    assert_eq!(bmc.reset("On").await.header("location"), "/redfish/v1/TaskService/Tasks/2");
    bmc.change(|behaviour| behaviour.location = Location::Missing);
    let accepted = bmc.reset("On").await;
    assert_eq!((accepted.status, accepted.header("location")), (202, ""));
}

#[tokio::test]
async fn a_task_may_vanish_when_it_ended() {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| {
        (behaviour.reset_reply, behaviour.task_keep) = (Reply::Task, Some(Duration::ZERO));
    });
    let accepted = bmc.reset("On").await;
    followed(&bmc, accepted.header("location"), 404).await;
    assert_eq!(bmc.get("/redfish/v1/Systems/1").await["PowerState"], "On");
    assert_eq!(bmc.get("/redfish/v1/TaskService/Tasks").await["Members@odata.count"], 0);
}
