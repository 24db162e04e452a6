//! Kinds that nobody acts on say so, once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use std::time::Duration;

use bessemer_api::infrastructure::{GROUP as INFRASTRUCTURE, Metal3DataClaim};
use bessemer_api::ipam_metal3::{GROUP as IPAM, IpPool};
use bessemer_api::metal3::{BmcEventSubscription, DataImage, GROUP as METAL3, HostClaim, HostFirmwareSettings};
use common::{Lab, PATIENCE};
use kube::Api;
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

#[tokio::test(flavor = "multi_thread")]
async fn what_has_been_said_is_not_written_again() {
    let lab = Lab::start().await;
    let claim = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "HostClaim", "metadata": { "name": "one" },
        "spec": { "poweredOn": true },
    });
    lab.create::<HostClaim>(claim).await;
    let api = lab.api::<HostClaim>();
    said(&api, "one", "/status/conditions/0").await;
    let version = api.get("one").await.unwrap().metadata.resource_version;

    // A label wakes the reconciler; the next change after it is that of the label alone.
    lab.patch::<HostClaim>("one", json!({ "metadata": { "labels": { "a": "b" } } })).await;
    let labelled = api.get("one").await.unwrap().metadata.resource_version;
    assert_ne!(version, labelled);
    let rewritten = await_condition(api.clone(), "one", |object: Option<&HostClaim>| {
        object.is_some_and(|object| {
            object.metadata.resource_version != version && object.metadata.resource_version != labelled
        })
    });
    assert!(tokio::time::timeout(Duration::from_secs(1), rewritten).await.is_err(), "written again");
}
