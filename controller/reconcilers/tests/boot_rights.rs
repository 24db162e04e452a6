//! A boot server works with the rights that docs/boot.md gives it, and no others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use std::net::IpAddr;

use bessemer_api::Time;
use bessemer_api::bessemer::{BootExchange, BootTrace, HostRecord};
use bessemer_api::metal3::BareMetalHost;
use bessemer_reconcilers::outside::{AddressPool, BootDirectory, NoAddress};
use bessemer_reconcilers::{Hosts, Journal};
use common::{Lab, MAC, NAMESPACE, PATIENCE};
use http::{HeaderValue, Request};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::client::Body;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

const BOOT: &str = "a8f0c9d2-6c8e-4c3c-8a5e-0a2f7f0f4a11";

struct One;

impl AddressPool for One {
    fn subnet(&self) -> String {
        "10.9.0.0/24".to_owned()
    }

    fn contains(&self, address: IpAddr) -> bool {
        address == IpAddr::from([10, 9, 0, 1])
    }

    fn size(&self) -> u128 {
        1
    }

    fn reserve(&self, _: IpAddr) -> Result<(), NoAddress> {
        Ok(())
    }

    fn pick(&self, _: &str, taken: &dyn Fn(IpAddr) -> bool) -> Result<IpAddr, NoAddress> {
        let one = IpAddr::from([10, 9, 0, 1]);
        if taken(one) { Err(NoAddress("it is taken".to_owned())) } else { Ok(one) }
    }
}

/// Somebody who may do what docs/boot.md says, save for the one Secret.
async fn boot_server(lab: &Lab) -> Client {
    let all = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": { "name": "boot" },
        "rules": [
            { "apiGroups": ["metal3.io"], "resources": ["baremetalhosts"], "verbs": ["get", "list", "watch"] },
            { "apiGroups": ["bessemer.dev"], "resources": ["hostrecords"], "verbs": ["get", "list", "watch"] },
            { "apiGroups": ["bessemer.dev"], "resources": ["hostrecords/status"], "verbs": ["patch"] },
            {
                "apiGroups": ["bessemer.dev"],
                "resources": ["bootleases", "boottraces", "boottraces/status"],
                "verbs": all,
            },
        ],
    }))
    .unwrap();
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": { "name": "boot" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "boot" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "boot" }],
    }))
    .unwrap();
    Api::all(lab.client.clone()).create(&Default::default(), &role).await.unwrap();
    Api::all(lab.client.clone()).create(&Default::default(), &binding).await.unwrap();
    let as_boot = lab.server.router().map_request(|mut request: Request<Body>| {
        request.headers_mut().insert("impersonate-user", HeaderValue::from_static("boot"));
        request
    });
    Client::new(as_boot, "default")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_boot_server_needs_no_more_rights_than_it_is_given() {
    let lab = Lab::start_with(&[]).await;
    lab.create::<BareMetalHost>(json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": { "name": "h1" },
        "spec": { "online": true, "bootMACAddress": MAC },
    }))
    .await;
    lab.create::<HostRecord>(json!({
        "apiVersion": "bessemer.dev/v1alpha1",
        "kind": "HostRecord",
        "metadata": { "name": "h1" },
        "spec": {},
    }))
    .await;
    let boot = json!({
        "id": BOOT, "target": "Ramdisk", "step": "Waiting", "enrolled": false,
        "issued": "2026-01-01T00:00:00Z", "expires": "2100-01-01T00:00:00Z",
    });
    lab.patch_status::<HostRecord>("h1", json!({ "status": { "boot": boot } })).await;
    let client = boot_server(&lab).await;
    let refused = Api::<Secret>::all(client.clone()).list(&Default::default()).await.unwrap_err();
    assert!(refused.to_string().contains("cannot list resource \"secrets\""), "{refused}");

    let stop = CancellationToken::new();
    let hosts = tokio::time::timeout(PATIENCE, Hosts::watch(client, stop.clone()));
    let hosts = hosts.await.expect("it waits for what it may not watch").unwrap();
    let address = hosts.lease(&[MAC.to_owned()], true, &One).await.unwrap();
    assert_eq!(address, Some(IpAddr::from([10, 9, 0, 1])));

    assert_eq!(hosts.started(BOOT.parse().unwrap()).await.unwrap(), Some(1));
    let journal = Journal::new();
    let running = tokio::spawn(journal.clone().run(hosts, NAMESPACE.to_owned(), stop.clone()));
    journal.heard(
        MAC,
        BootExchange {
            at: Time(jiff::Timestamp::now()),
            server: "rack-1".to_owned(),
            protocol: "dhcp4".to_owned(),
            asked: "discover".to_owned(),
            answer: "offered 10.9.0.1".to_owned(),
            why: String::new(),
        },
    );
    let trace: BootTrace = lab.until(&MAC.replace(':', "-"), |trace: &BootTrace| trace.status.is_some()).await;
    assert_eq!(trace.owner_references().len(), 1);
    stop.cancel();
    running.await.unwrap();
}
