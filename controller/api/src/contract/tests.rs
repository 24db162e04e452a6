//! Objects of both contracts, and those of the most minimal providers.

use kube::core::{DynamicObject, ObjectMeta, TypeMeta};
use serde_json::{Value, json};

use super::*;
use crate::cluster::{AddressKind, ApiEndpoint, FailureDomain, MachineAddress, VersionCount};
use crate::conditions::{Status, mirror};

fn object(kind: &str, data: Value) -> DynamicObject {
    let types = TypeMeta { api_version: "infrastructure.example.com/v1".to_owned(), kind: kind.to_owned() };
    let metadata = ObjectMeta { name: Some("thing".to_owned()), ..ObjectMeta::default() };
    DynamicObject { types: Some(types), metadata, data }
}

fn domain(name: &str, control_plane: bool) -> FailureDomain {
    FailureDomain { name: name.to_owned(), control_plane: Some(control_plane), ..FailureDomain::default() }
}

#[test]
fn infrastructure_of_a_cluster() {
    let endpoint = json!({ "host": "10.0.0.1", "port": 6443 });
    let table = [
        (
            Contract::V1Beta2,
            json!({ "spec": { "controlPlaneEndpoint": endpoint }, "status": {
                "initialization": { "provisioned": true },
                "failureDomains": [{ "name": "b", "controlPlane": true }, { "name": "a" }],
            }}),
            (true, Some(ApiEndpoint::new("10.0.0.1", 6443)), vec![domain("a", false), domain("b", true)]),
        ),
        (
            Contract::V1Beta1,
            json!({ "spec": { "controlPlaneEndpoint": { "host": "", "port": 0 } }, "status": {
                "ready": true,
                "failureDomains": { "b": { "controlPlane": true }, "a": {} },
            }}),
            (true, None, vec![domain("a", false), domain("b", true)]),
        ),
        (Contract::V1Beta2, json!({ "status": { "ready": true } }), (false, None, vec![])),
        (Contract::V1Beta1, json!({ "status": { "initialization": { "provisioned": true } } }), (false, None, vec![])),
        (Contract::V1Beta1, json!({}), (false, None, vec![])),
    ];
    for (contract, data, (provisioned, endpoint, domains)) in table {
        let object = object("Infra", data);
        let read = InfraCluster(Foreign::new(&object, contract));
        assert_eq!(read.provisioned().unwrap(), provisioned);
        assert_eq!(read.endpoint().unwrap(), endpoint);
        assert_eq!(read.failure_domains().unwrap(), domains);
    }
}

#[test]
fn what_a_machine_runs_on() {
    let address = |kind, address: &str| MachineAddress { kind, address: address.to_owned() };
    let new = object(
        "Infra",
        json!({ "spec": { "providerID": "x://1", "failureDomain": "old" }, "status": {
            "initialization": { "provisioned": true },
            "addresses": [{ "type": "InternalIP", "address": "10.0.0.7" }],
            "failureDomain": "a",
            "interruptible": true,
        }}),
    );
    let read = InfraMachine(Foreign::new(&new, Contract::V1Beta2));
    assert!(read.provisioned().unwrap() && read.interruptible().unwrap());
    assert_eq!(read.provider_id().unwrap().as_deref(), Some("x://1"));
    assert_eq!(read.addresses().unwrap(), [address(AddressKind::InternalIP, "10.0.0.7")]);
    assert_eq!(read.failure_domain().unwrap().as_deref(), Some("a"));

    let bare = object("Infra", json!({ "spec": { "providerID": "", "failureDomain": "old" } }));
    let read = InfraMachine(Foreign::new(&bare, Contract::V1Beta2));
    assert!(!read.provisioned().unwrap() && !read.interruptible().unwrap());
    assert_eq!(read.provider_id().unwrap(), None);
    assert_eq!(read.failure_domain().unwrap().as_deref(), Some("old"));
}

#[test]
fn the_most_minimal_provider_is_understood() {
    let cluster =
        object("MinimalCluster", json!({ "spec": { "nodeCount": 3 }, "status": { "ready": true, "vip": "10.0.0.1" } }));
    let read = InfraCluster(Foreign::new(&cluster, Contract::V1Beta1));
    assert!(read.provisioned().unwrap() && read.endpoint().unwrap().is_none());
    assert!(read.failure_domains().unwrap().is_empty());

    let machine = object(
        "MinimalMachine",
        json!({ "spec": { "instanceType": "small" }, "status": {
            "ready": true, "addresses": ["10.0.0.7", "fd00::7", "node-7"], "providerID": "minimal://7",
        }}),
    );
    let read = InfraMachine(Foreign::new(&machine, Contract::V1Beta1));
    assert!(read.provisioned().unwrap());
    assert_eq!(read.provider_id().unwrap().as_deref(), Some("minimal://7"));
    let kinds: Vec<AddressKind> = read.addresses().unwrap().into_iter().map(|address| address.kind).collect();
    assert_eq!(kinds, [AddressKind::InternalIP, AddressKind::InternalIP, AddressKind::Hostname]);

    let plane = object(
        "MinimalControlPlane",
        json!({ "spec": { "replicas": 3 }, "status": {
            "ready": true, "replicas": 3, "readyReplicas": 2, "initialized": true, "controlPlaneReady": true,
        }}),
    );
    let read = ControlPlane(Foreign::new(&plane, Contract::V1Beta1));
    assert!(read.initialized().unwrap() && read.is_provisioning().unwrap() && !read.is_upgrading().unwrap());
    assert_eq!(read.replicas().unwrap(), Some(3));
    assert_eq!(read.ready_replicas().unwrap(), Some(2));
    assert_eq!(read.available_replicas().unwrap(), Some(3), "none is said to be unavailable");
    assert!(read.is_scaling().unwrap(), "updatedReplicas is not there");
}

#[test]
fn bootstrap_data() {
    for (contract, status, created) in [
        (Contract::V1Beta2, json!({ "initialization": { "dataSecretCreated": true } }), true),
        (Contract::V1Beta2, json!({ "ready": true }), false),
        (Contract::V1Beta1, json!({ "ready": true }), true),
        (Contract::V1Beta1, json!({ "ready": null }), false),
    ] {
        let mut config = object("Boot", json!({ "status": status }));
        config.data["status"]["dataSecretName"] = "secret".into();
        let read = BootstrapConfig(Foreign::new(&config, contract));
        assert_eq!(read.data_secret_created().unwrap(), created);
        assert_eq!(read.data_secret_name().unwrap().as_deref(), Some("secret"));
    }
}

#[test]
fn versions_and_counts_of_a_control_plane() {
    let counts = json!({ "replicas": 3, "readyReplicas": 3, "upToDateReplicas": 3, "availableReplicas": 3 });
    let with = |key: &str, value: Value| {
        let mut counts = counts.clone();
        counts[key] = value;
        counts
    };
    let old_and_new = json!([{ "version": "v1.35.1", "replicas": 2 }, { "version": "v1.36.0", "replicas": 1 }]);
    for (status, oldest, upgrading, scaling) in [
        (json!({}), None, false, true),
        (counts.clone(), None, false, false),
        (with("version", "v1.36.0".into()), Some("v1.36.0"), false, false),
        (with("version", "v1.35.9".into()), Some("v1.35.9"), true, false),
        (with("version", "v1.36.0+fips".into()), Some("v1.36.0+fips"), false, false),
        (with("versions", old_and_new), Some("v1.35.1"), true, false),
        (with("availableReplicas", 2.into()), None, false, true),
        (with("upToDateReplicas", Value::Null), None, false, true),
    ] {
        let plane = object("Plane", json!({ "spec": { "replicas": 3, "version": "v1.36.0" }, "status": status }));
        let read = ControlPlane(Foreign::new(&plane, Contract::V1Beta2));
        assert_eq!(read.oldest_version().unwrap().as_deref(), oldest, "{status}");
        assert_eq!(read.is_provisioning().unwrap(), oldest.is_none());
        assert_eq!(read.is_upgrading().unwrap(), upgrading, "{status}");
        assert_eq!(read.is_scaling().unwrap(), scaling, "{status}");
    }
    let plane =
        object("Plane", json!({ "spec": { "version": "v1" }, "status": { "versions": [{ "version": "v1" }] } }));
    let read = ControlPlane(Foreign::new(&plane, Contract::V1Beta2));
    assert_eq!(read.versions().unwrap(), [VersionCount { version: "v1".to_owned(), replicas: None }]);
    assert!(!read.is_scaling().unwrap(), "it has no replicas");
}

#[test]
fn machines_of_a_control_plane() {
    let gates = json!([{ "conditionType": "Gate", "polarity": "Negative" }]);
    let taints = json!([{ "key": "k", "effect": "NoSchedule", "propagation": "Always" }]);
    let new = json!({ "metadata": { "labels": { "a": "b" } }, "spec": {
        "infrastructureRef": { "apiGroup": "g.io", "kind": "K", "name": "n" },
        "readinessGates": gates, "taints": taints, "deletion": { "nodeDrainTimeoutSeconds": 600 },
    }});
    let old = json!({
        "metadata": { "labels": { "a": "b" } },
        "infrastructureRef": { "apiVersion": "g.io/v1", "kind": "K", "name": "n", "namespace": "x" },
        "readinessGates": gates, "taints": taints, "nodeDrainTimeout": "10m0s",
    });
    for (contract, template) in [(Contract::V1Beta2, new), (Contract::V1Beta1, old)] {
        let plane = object("Plane", json!({ "spec": { "machineTemplate": template } }));
        let machines = ControlPlane(Foreign::new(&plane, contract)).machines();
        assert_eq!(machines.metadata().unwrap().labels["a"], "b");
        let reference = machines.infrastructure_ref().unwrap().unwrap();
        assert_eq!(
            (reference.api_group.as_str(), reference.kind.as_str(), reference.name.as_str()),
            ("g.io", "K", "n")
        );
        assert_eq!(machines.readiness_gates().unwrap()[0].condition_type, "Gate");
        assert_eq!(machines.taints().unwrap()[0].key, "k");
        assert_eq!(machines.deletion().unwrap().node_drain_timeout_seconds, Some(600));
        assert_eq!(machines.deletion().unwrap().node_deletion_timeout_seconds, None);
    }
}

#[test]
fn what_breaks_the_contract_is_named() {
    let plane = object(
        "Plane",
        json!({ "spec": { "replicas": "three", "version": "latest", "machineTemplate": { "nodeDrainTimeout": "soon" } },
                "status": { "ready": "yes", "version": "v1.36.0",
                            "versions": [{ "version": "v2" }, { "version": "v1" }] } }),
    );
    let old = Foreign::new(&plane, Contract::V1Beta1);
    for (error, text) in [
        (
            InfraCluster(old).provisioned().unwrap_err(),
            "Plane thing: .status.ready does not keep the contract v1beta1: invalid type: string",
        ),
        (ControlPlane(old).replicas().unwrap_err(), "Plane thing: .spec.replicas does not keep"),
        (
            ControlPlane(old).is_upgrading().unwrap_err(),
            ".spec.version does not keep the contract v1beta1: \"latest\" is no version",
        ),
        (
            ControlPlane(old).versions().unwrap_err(),
            ".status.versions does not keep the contract v1beta1: v1 stands behind a newer version",
        ),
        (ControlPlane(old).machines().deletion().unwrap_err(), "\"soon\" is no duration"),
    ] {
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn conditions_of_either_contract() {
    let old = json!([{ "type": "Ready", "status": "False", "severity": "Error" }, { "status": "True" }, 7]);
    let new = json!([{ "type": "Ready", "status": "True", "reason": "R", "message": "m",
                       "lastTransitionTime": "1970-01-01T00:00:07Z", "observedGeneration": 3 }]);
    for (status, shown, reason, count) in [
        (json!({ "conditions": old }), Status::False, "NoReasonReported", 1),
        (json!({ "conditions": new }), Status::True, "R", 1),
        (json!({ "conditions": old, "v1beta2": { "conditions": new } }), Status::True, "R", 1),
        (
            json!({ "conditions": [{ "type": "Ready", "status": "Perhaps" }] }),
            Status::Unknown,
            "InvalidConditionReported",
            1,
        ),
        (json!({ "conditions": "none" }), Status::Unknown, "NotYetReported", 0),
        (json!(null), Status::Unknown, "NotYetReported", 0),
    ] {
        let object = object("Infra", json!({ "status": status }));
        let conditions = Foreign::new(&object, Contract::V1Beta1).conditions();
        let mirrored = mirror(&conditions, "Ready", "InfrastructureReady", None);
        assert_eq!((mirrored.status, mirrored.reason.as_str(), conditions.len()), (shown, reason, count));
    }
}
