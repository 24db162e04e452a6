//! Kinds that nobody acts on say so, once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use std::time::Duration;

use bessemer_api::infrastructure::{GROUP as INFRASTRUCTURE, Metal3DataClaim};
use bessemer_api::ipam_metal3::{GROUP as IPAM, IpPool};
use bessemer_api::metal3::{
    BmcEventSubscription, DataImage, GROUP as METAL3, HostClaim, HostFirmwareComponents, HostFirmwareSettings,
};
use common::{Lab, PATIENCE};
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

/// Waits until `pointer` of the object holds something, and answers with that.
async fn said<K>(api: &Api<K>, name: &str, pointer: &'static str) -> Value
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
    K: Send + 'static,
{
    let find = move |object: Option<&K>| {
        object.and_then(|object| serde_json::to_value(object).unwrap().pointer(pointer).cloned())
    };
    let there = await_condition(api.clone(), name, |object: Option<&K>| find(object).is_some());
    let object = tokio::time::timeout(PATIENCE, there).await.expect("nothing said").unwrap();
    find(object.as_ref()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_that_nobody_acts_on_say_so() {
    let lab = Lab::start().await;
    let object = |group: &str, version: &str, kind: &str, spec: Value| json!({ "apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": { "name": "one" }, "spec": spec });

    lab.create::<HostClaim>(object(METAL3, "v1alpha1", "HostClaim", json!({ "poweredOn": true }))).await;
    let condition = said(&lab.api::<HostClaim>(), "one", "/status/conditions/0").await;
    assert_eq!((&condition["type"], &condition["status"]), (&json!("Ready"), &json!("False")));
    assert_eq!(condition["reason"], "NotImplemented");

    let settings = json!({ "settings": { "ProcTurboMode": "Disabled", "Cores": 8 } });
    lab.create::<HostFirmwareSettings>(object(METAL3, "v1alpha1", "HostFirmwareSettings", settings)).await;
    let condition = said(&lab.api::<HostFirmwareSettings>(), "one", "/status/conditions/0").await;
    assert_eq!((&condition["type"], &condition["reason"]), (&json!("Valid"), &json!("NotImplemented")));

    lab.create::<BmcEventSubscription>(object(METAL3, "v1alpha1", "BMCEventSubscription", json!({ "hostName": "x" })))
        .await;
    let error = said(&lab.api::<BmcEventSubscription>(), "one", "/status/error").await;
    assert!(error.as_str().unwrap().starts_with("NotImplemented: "), "{error}");

    lab.create::<DataImage>(object(METAL3, "v1alpha1", "DataImage", json!({ "url": "http://x/cd.iso" }))).await;
    assert_eq!(said(&lab.api::<DataImage>(), "one", "/status/error/count").await, 1);

    let claim = object(INFRASTRUCTURE, "v1beta2", "Metal3DataClaim", json!({ "template": { "name": "t" } }));
    lab.create::<Metal3DataClaim>(claim).await;
    let error = said(&lab.api::<Metal3DataClaim>(), "one", "/status/errorMessage").await;
    assert!(error.as_str().unwrap().starts_with("NotImplemented: "), "{error}");

    lab.create::<IpPool>(object(IPAM, "v1alpha1", "IPPool", json!({ "namePrefix": "pool" }))).await;
    said(&lab.api::<IpPool>(), "one", "/metadata/annotations/bessemer.dev~1not-implemented").await;
}

/// How often the controller of `kind` has reconciled in this program.
fn reconciles(kind: &str) -> usize {
    let start = format!("controller_runtime_reconcile_total{{controller=\"{kind}\",");
    let metrics = bessemer_reconcilers::metrics();
    let counts = metrics.lines().filter(|line| line.starts_with(&start));
    counts.map(|line| line.rsplit_once(' ').unwrap().1.parse::<usize>().unwrap()).sum()
}

/// Waits until it has done so `count` times; the counter cannot be subscribed to.
async fn reconciled(kind: &str, count: usize) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while reconciles(kind) < count {
        assert!(tokio::time::Instant::now() < deadline, "{kind}: {} reconciles, not {count}", reconciles(kind));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_been_said_is_not_written_again() {
    // No other test of this program has objects of this kind: all that is counted is of the one here.
    const KIND: &str = "HostFirmwareComponents";
    let lab = Lab::start().await;
    let components = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": KIND, "metadata": { "name": "one" }, "spec": { "updates": [] },
    });
    lab.create::<HostFirmwareComponents>(components).await;
    let api = lab.api::<HostFirmwareComponents>();
    said(&api, "one", "/status/conditions/0").await;
    let version = async || api.get("one").await.unwrap().metadata.resource_version;
    let written = version().await;
    // One for the object, one for what the first has written.
    reconciled(KIND, 2).await;
    assert_eq!(version().await, written, "written again after its own write");

    // A label wakes the reconciler once more.
    let label = Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    let labelled = api.patch("one", &PatchParams::default(), &label).await.unwrap().metadata.resource_version;
    assert_ne!(written, labelled);
    reconciled(KIND, 3).await;
    assert_eq!(version().await, labelled, "written again after a label");
    assert_eq!(reconciles(KIND), 3, "woken by a write of its own");
}
