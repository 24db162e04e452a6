use std::time::Duration;

use bessemer_fake_bmc::redfish::behaviour::{Etags, Location, Reply};
use bessemer_fake_bmc::redfish::{Fault, Rule};
use serde_json::{Value, json};

use crate::client::{Bmc, SYSTEM};

async fn with(method: &str, fault: Fault) -> Bmc {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| behaviour.patch_reply = Reply::Body);
    bmc.fake.redfish().faults().add(Rule::on(method, "/Systems/1", fault).times(1));
    bmc
}

fn pxe() -> Value {
    json!({ "Boot": {
        "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe", "BootSourceOverrideMode": "UEFI"
    } })
}

async fn shown(bmc: &Bmc) -> [Value; 3] {
    let boot = bmc.get(SYSTEM).await["Boot"].take();
    ["Enabled", "Target", "Mode"].map(|name| boot[format!("BootSourceOverride{name}")].clone())
}

#[tokio::test]
async fn a_write_that_is_not_done() {
    let bmc = with("PATCH", Fault::Ignore).await;
    assert_eq!(bmc.patch(SYSTEM, pxe()).await.status, 200);
    assert_eq!(shown(&bmc).await, ["Disabled", "None", "UEFI"]);
    assert_eq!(bmc.patch(SYSTEM, pxe()).await.status, 200);
    assert_eq!(shown(&bmc).await, ["Once", "Pxe", "UEFI"], "only once was a lie asked for");
}

#[tokio::test]
async fn an_action_that_is_not_done() {
    let bmc = with("POST", Fault::Ignore).await;
    assert_eq!(bmc.reset("On").await.status, 204);
    assert_eq!(bmc.get(SYSTEM).await["PowerState"], "Off");
}

#[tokio::test]
async fn a_write_that_is_half_done() {
    let bmc = with("PATCH", Fault::Partial(vec!["BootSourceOverrideEnabled".to_owned()])).await;
    assert_eq!(bmc.patch(SYSTEM, pxe()).await.status, 200);
    assert_eq!(shown(&bmc).await, ["Disabled", "Pxe", "UEFI"]);
}

#[tokio::test]
async fn a_write_that_is_done_late() {
    let bmc = with("PATCH", Fault::Late(Duration::from_secs(1))).await;
    assert_eq!(bmc.patch(SYSTEM, pxe()).await.status, 200);
    assert_eq!(shown(&bmc).await, ["Disabled", "None", "UEFI"]);
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_eq!(shown(&bmc).await, ["Once", "Pxe", "UEFI"]);
}

#[tokio::test]
async fn a_read_back_that_flips() {
    let bmc = with("PATCH", Fault::Flip("BootSourceOverrideMode".to_owned(), json!("Legacy"))).await;
    assert_eq!(bmc.patch(SYSTEM, pxe()).await.status, 200);
    assert_eq!(shown(&bmc).await, ["Once", "Pxe", "Legacy"]);
}

#[tokio::test]
async fn a_task_that_does_nothing() {
    let bmc = with("POST", Fault::Ignore).await;
    bmc.change(|behaviour| (behaviour.reset_reply, behaviour.location) = (Reply::Task, Location::Monitor));
    let accepted = bmc.reset("On").await;
    crate::tasks::followed(&bmc, accepted.header("location"), 200).await;
    assert_eq!(bmc.get(SYSTEM).await["PowerState"], "Off");
}

#[tokio::test]
async fn members_headers_and_tags_that_are_missing() {
    let bmc = Bmc::start().await;
    let faults = bmc.fake.redfish().faults();
    faults.add(Rule::on("GET", "/Memory/2$", Fault::NotFound));
    let listed = bmc.get("/redfish/v1/Systems/1/Memory").await;
    let mut found = Vec::new();
    for member in listed["Members"].as_array().unwrap() {
        found.push(bmc.send(reqwest::Method::GET, member["@odata.id"].as_str().unwrap(), None).await.status);
    }
    assert_eq!(found, [200, 404]);
    bmc.change(|behaviour| (behaviour.reset_reply, behaviour.etags) = (Reply::Task, Etags::Strong));
    faults.add(Rule::on("POST", "Reset", Fault::NoLocation));
    assert_eq!(bmc.reset("On").await.header("location"), "");
    faults.add(Rule::on("GET", "/Systems/1$", Fault::NoEtag));
    let read = bmc.send(reqwest::Method::GET, SYSTEM, None).await;
    assert_eq!((read.header("etag"), read.body.get("@odata.etag")), ("", None));
}
