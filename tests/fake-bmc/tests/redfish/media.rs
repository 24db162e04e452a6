use std::time::Duration;

use bessemer_fake_bmc::machine::BootSource;
use bessemer_fake_bmc::redfish::behaviour::Reply;
use bessemer_fake_bmc::{HostOptions, seed};
use serde_json::{Value, json};

use crate::client::{Bmc, Read, SYSTEM};

const CD: &str = "/redfish/v1/Systems/1/VirtualMedia/Cd";
const SECOND: Duration = Duration::from_secs(1);
const ISO: &str = "http://192.0.2.1/images/boot.iso";

async fn insert(bmc: &Bmc, body: Value) -> Read {
    bmc.post(&format!("{CD}/Actions/VirtualMedia.InsertMedia"), body).await
}

async fn eject(bmc: &Bmc) -> Read {
    bmc.post(&format!("{CD}/Actions/VirtualMedia.EjectMedia"), json!({})).await
}

#[tokio::test]
async fn an_image_goes_in_boots_and_comes_out() {
    let bmc = Bmc::start().await;
    assert_eq!(insert(&bmc, json!({ "Image": ISO, "Inserted": true, "WriteProtected": true })).await.status, 204);
    let slot = bmc.get(CD).await;
    let shown = ["Image", "Inserted", "ImageName", "ConnectedVia"].map(|name| slot[name].clone());
    assert_eq!(shown, [json!(ISO), json!(true), json!("boot.iso"), json!("URI")]);
    let boot = json!({ "Boot": { "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd" } });
    bmc.patch(SYSTEM, boot).await;
    bmc.reset("On").await;
    let source = bmc.fake.host().last_boot().unwrap().source;
    assert_eq!(source, BootSource::Cd { image: Some(ISO.to_owned()) });
    assert_eq!(eject(&bmc).await.status, 204);
    let slot = bmc.get(CD).await;
    assert_eq!((&slot["Image"], &slot["Inserted"]), (&Value::Null, &json!(false)));
    assert_eq!(insert(&bmc, json!({})).await.message(), "ActionParameterMissing");
    assert_eq!(insert(&bmc, json!({ "Image": ISO, "Shoe": 1 })).await.message(), "ActionParameterUnknown");
}

#[tokio::test]
async fn quirks_of_slots() {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| {
        behaviour.media_image_only = true;
        behaviour.media_needs_iso = true;
        behaviour.media_refuses_second = true;
        behaviour.media_keeps_image = true;
        behaviour.media_eject_lag = Duration::from_secs(3600);
    });
    assert_eq!(insert(&bmc, json!({ "Image": ISO, "Inserted": true })).await.status, 400);
    assert_eq!(insert(&bmc, json!({ "Image": format!("{ISO}?token=1") })).await.status, 400);
    assert_eq!(insert(&bmc, json!({ "Image": ISO })).await.status, 204);
    assert_eq!(insert(&bmc, json!({ "Image": ISO })).await.status, 409);
    eject(&bmc).await;
    assert_eq!(bmc.get(CD).await["Inserted"], true, "it shows for a while");
    assert_eq!(insert(&bmc, json!({ "Image": ISO })).await.status, 500);
    bmc.change(|behaviour| behaviour.media_eject_lag = Duration::ZERO);
    let slot = bmc.get(CD).await;
    let shown = ["Image", "Inserted", "ConnectedVia"].map(|name| slot[name].clone());
    assert_eq!(shown, [json!(ISO), json!(false), json!("NotConnected")]);
    assert_eq!(insert(&bmc, json!({ "Image": ISO })).await.status, 204);
}

#[tokio::test]
async fn an_insert_may_take_a_task() {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| (behaviour.action_reply, behaviour.task_time) = (Reply::Task, SECOND));
    let accepted = insert(&bmc, json!({ "Image": ISO })).await;
    assert_eq!(accepted.status, 202);
    assert_eq!(bmc.get(CD).await["Inserted"], false, "not yet");
    let monitor = accepted.header("location").to_owned();
    crate::tasks::followed(&bmc, &monitor, 200).await;
    assert_eq!(bmc.get(CD).await["Image"], ISO);
}

#[tokio::test]
async fn a_slot_without_actions_takes_a_patch() {
    let Ok(tree) = seed::dump("lenovo-sr670v2-xcc-2.83") else {
        return println!("SKIP no test data: set BESSEMER_TEST_DATA");
    };
    let bmc = Bmc::with(HostOptions::numbered(0), &tree).await;
    let slot = "/redfish/v1/Managers/1/VirtualMedia/EXT1";
    assert_eq!(bmc.patch(slot, json!({ "Image": ISO, "Inserted": true })).await.status, 204);
    assert_eq!(bmc.get(slot).await["Image"], ISO);
    assert_eq!(bmc.patch(slot, json!({ "Image": null })).await.status, 204);
    assert_eq!(bmc.get(slot).await["Inserted"], false);
    assert_eq!(bmc.fake.redfish().recorder().lines().len(), 4);
}

#[tokio::test]
async fn a_slot_with_actions_takes_no_patch() {
    let bmc = Bmc::start().await;
    assert_eq!(bmc.patch(CD, json!({ "Image": ISO })).await.message(), "PropertyNotWritable");
}
