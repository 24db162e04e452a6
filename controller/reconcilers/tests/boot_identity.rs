//! Whose machine asks, and how often it has started.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use bessemer_api::bessemer::HostRecord;
use bessemer_api::metal3::BareMetalHost;
use bessemer_protocol::BootId;
use bessemer_reconcilers::Site;
use bessemer_reconcilers::outside::{BootDirectory, BootTargetView, WhoseView};
use common::{Lab, NAMESPACE};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const FIRST: &str = "3c:ec:ef:00:01:01";
const SECOND: &str = "3c:ec:ef:00:01:02";
const BOARD: &str = "4c4c4544-0042-3510-8054-b4c04f4d4c32";

async fn host(lab: &Lab, name: &str, mac: &str) {
    lab.create::<BareMetalHost>(json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": { "name": name },
        "spec": { "online": true, "bootMACAddress": mac },
    }))
    .await;
}

async fn record(lab: &Lab, name: &str, status: Value) {
    lab.create::<HostRecord>(json!({
        "apiVersion": "bessemer.dev/v1alpha1",
        "kind": "HostRecord",
        "metadata": { "name": name },
        "spec": {},
    }))
    .await;
    lab.patch_status::<HostRecord>(name, json!({ "status": status })).await;
}

async fn until(lab: &Lab, macs: &[&str], uuid: Option<&str>, wanted: impl Fn(&WhoseView) -> bool) {
    let macs: Vec<String> = macs.iter().map(|mac| (*mac).to_owned()).collect();
    let uuid = uuid.map(|uuid| uuid.parse::<Uuid>().unwrap());
    let asked = tokio::time::timeout(common::PATIENCE, async {
        while !wanted(&lab.hosts.whose(&macs, uuid)) {
            tokio::task::yield_now().await;
        }
    });
    let outcome = asked.await;
    assert!(outcome.is_ok(), "{macs:?} {uuid:?}: {:?}", lab.hosts.whose(&macs, uuid));
}

fn contradicts(said: &WhoseView, words: &[&str]) -> bool {
    matches!(said, WhoseView::Contradiction(why) if words.iter().all(|word| why.contains(word)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contradiction_is_told_and_is_neither_a_host_nor_a_stranger() {
    let lab = Lab::start_with(&[]).await;
    assert_eq!(lab.hosts.whose(&[FIRST.to_owned()], None), WhoseView::Nobody);
    host(&lab, "h0", FIRST).await;
    until(&lab, &[FIRST], None, |said| *said == WhoseView::Host).await;

    // Its mainboard, in either byte order; what many boards have tells nothing.
    record(&lab, "h0", json!({ "smbiosUuid": BOARD })).await;
    let other = "4c4c4544-0042-3510-8054-b4c04f4d4c33";
    until(&lab, &[FIRST], Some(other), |said| {
        contradicts(said, &[FIRST, "metal/h0", BOARD, other, "delete the HostRecord metal/h0"])
    })
    .await;
    for same in [BOARD, "44454c4c-4200-1035-8054-b4c04f4d4c32", "03000200-0400-0500-0006-000700080009"] {
        assert_eq!(lab.hosts.whose(&[FIRST.to_owned()], Some(same.parse().unwrap())), WhoseView::Host, "{same}");
    }

    // Cards of two hosts in one machine, and one card in two hosts.
    host(&lab, "h1", SECOND).await;
    until(&lab, &[FIRST, SECOND], None, |said| contradicts(said, &["metal/h0", SECOND, "metal/h1"])).await;
    let card = "3c:ec:ef:00:01:03";
    let cards = json!({ "status": {
        "errorMessage": "",
        "operationalStatus": "OK",
        "poweredOn": false,
        "provisioning": { "ID": "", "state": "available" },
        "hardware": { "nics": [{ "mac": card }] },
    } });
    for name in ["h0", "h1"] {
        lab.patch_status::<BareMetalHost>(name, cards.clone()).await;
    }
    until(&lab, &[card], None, |said| contradicts(said, &[card, "leave it in one"])).await;
    let discovering = lab.hosts.clone().discovering(NAMESPACE);
    assert_eq!(discovering.target(&[card.to_owned()]).await.unwrap(), BootTargetView::Unknown, "no stranger either");
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_of_a_boot_are_counted_once_whichever_server_saw_them() {
    let lab = Lab::start_with(&[]).await;
    let boot = BootId::random();
    assert_eq!(lab.hosts.started(boot).await.unwrap(), None, "nobody's");
    host(&lab, "h0", FIRST).await;
    let now = jiff::Timestamp::now().to_string();
    let record_of = |starts: Value| {
        json!({
            "boot": { "id": boot.to_string(), "target": "Ramdisk", "step": "Waiting", "issued": now, "expires": now, "enrolled": false },
            "starts": starts,
        })
    };
    record(&lab, "h0", record_of(json!({ "boot": boot.to_string(), "count": 4, "last": "2026-11-30T12:00:00Z" })))
        .await;
    let others = Site::start(lab.client.clone(), CancellationToken::new()).await.unwrap().hosts();
    tokio::time::timeout(common::PATIENCE, async {
        while lab.hosts.started(boot).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    // Heard by both, and asked for again a moment later.
    let counted =
        futures::future::join_all([others.started(boot), lab.hosts.started(boot), others.started(boot)]).await;
    assert_eq!(counted.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [Some(5); 3]);
    // Another boot is counted anew.
    lab.patch_status::<HostRecord>("h0", json!({ "status": { "starts": { "boot": BootId::random().to_string() } } }))
        .await;
    assert_eq!(others.started(boot).await.unwrap(), Some(1));
}
