//! The CRDs of every kind we serve, with the labels by which others find them.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use crate::bessemer::{BootLease, HostRecord};
use crate::bootstrap::KubeadmConfig;
use crate::cluster::{Cluster, Machine};
use crate::controlplane::KubeadmControlPlane;
use crate::infrastructure::{Metal3Cluster, Metal3Machine, Metal3MachineTemplate};
use crate::metal3::BareMetalHost;

/// Found by `clusterctl`'s discovery.
const CLUSTERCTL: (&str, &str) = ("clusterctl.cluster.x-k8s.io", "");
/// Moved with the hierarchy below it.
const MOVE_HIERARCHY: (&str, &str) = ("clusterctl.cluster.x-k8s.io/move-hierarchy", "");
/// Moved, although nothing owns it.
const MOVE: (&str, &str) = ("clusterctl.cluster.x-k8s.io/move", "");
/// The version that keeps the contract v1beta2.
const CONTRACT: (&str, &str) = ("cluster.x-k8s.io/v1beta2", "v1beta2");

fn provider(name: &'static str) -> (&'static str, &'static str) {
    ("cluster.x-k8s.io/provider", name)
}

/// Every CRD, as it is to be installed.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        labelled(BareMetalHost::crd(), &[CLUSTERCTL, MOVE_HIERARCHY, provider("infrastructure-metal3")]),
        labelled(HostRecord::crd(), &[CLUSTERCTL, MOVE, provider("infrastructure-metal3")]),
        labelled(BootLease::crd(), &[CLUSTERCTL, MOVE, provider("infrastructure-metal3")]),
        labelled(Metal3Cluster::crd(), &[CLUSTERCTL, CONTRACT, provider("infrastructure-metal3")]),
        labelled(Metal3Machine::crd(), &[CLUSTERCTL, CONTRACT, provider("infrastructure-metal3")]),
        labelled(Metal3MachineTemplate::crd(), &[CLUSTERCTL, CONTRACT, provider("infrastructure-metal3")]),
        labelled(Cluster::crd(), &[CLUSTERCTL, CONTRACT, provider("cluster-api")]),
        labelled(Machine::crd(), &[CLUSTERCTL, CONTRACT, provider("cluster-api")]),
        labelled(KubeadmConfig::crd(), &[CLUSTERCTL, CONTRACT, provider("bootstrap-kubeadm")]),
        labelled(KubeadmControlPlane::crd(), &[CLUSTERCTL, CONTRACT, provider("control-plane-kubeadm")]),
    ]
}

fn labelled(mut crd: CustomResourceDefinition, labels: &[(&str, &str)]) -> CustomResourceDefinition {
    let labels: BTreeMap<String, String> =
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    crd.metadata.labels = Some(labels);
    crd
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_contract_label_names_a_served_version() {
        for crd in crds() {
            let labels = crd.metadata.labels.unwrap_or_default();
            if let Some(version) = labels.get("cluster.x-k8s.io/v1beta2") {
                assert!(
                    crd.spec.versions.iter().any(|served| served.served && &served.name == version),
                    "{}",
                    crd.spec.names.kind
                );
            }
        }
    }

    /// `properties` beside `additionalProperties` is not structural: a real API server refuses it.
    #[test]
    fn schemas_are_structural() {
        fn check(path: &str, schema: &Value) {
            let Value::Object(map) = schema else { return };
            assert!(!(map.contains_key("properties") && map.contains_key("additionalProperties")), "{path}");
            assert!(!map.contains_key("$ref"), "{path}");
            for (name, child) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let open = child.get("x-kubernetes-preserve-unknown-fields").is_some()
                    || child.get("x-kubernetes-int-or-string").is_some();
                assert!(child.get("type").is_some() || open, "{path}.{name} has no type: {child}");
                check(&format!("{path}.{name}"), child);
            }
            if let Some(items) = map.get("items") {
                check(&format!("{path}[]"), items);
            }
        }
        for crd in crds() {
            for version in &crd.spec.versions {
                let schema = serde_json::to_value(&version.schema).unwrap();
                check(&crd.spec.names.kind, &schema["openAPIV3Schema"]);
            }
        }
    }
}
