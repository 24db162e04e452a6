//! The labels of a CRD. Upstream's files carry few; the others are set when a provider is built and installed.

use serde_json::{Map, Value, json};

use crate::compare::Differences;
use crate::upstream;

const INSTALLED: &str = "clusterctl.cluster.x-k8s.io";
const PROVIDER: &str = "cluster.x-k8s.io/provider";

pub(crate) fn compare(found: &mut Differences, ours: &Value, theirs: &Value) {
    let mut wanted = theirs["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    add_installed(&mut wanted, theirs);
    let empty = Map::new();
    let labels = ours["metadata"]["labels"].as_object().unwrap_or(&empty);
    for name in wanted.keys().chain(labels.keys().filter(|name| !wanted.contains_key(*name))) {
        let value = |labels: &Map<String, Value>| labels.get(name).cloned().unwrap_or_default();
        found.value("labels", name, &value(labels), &value(&wanted));
    }
}

fn add_installed(wanted: &mut Map<String, Value>, theirs: &Value) {
    let version = &upstream::version(theirs)["name"];
    wanted.insert(INSTALLED.to_owned(), json!(""));
    if version == "v1beta2" {
        wanted.insert(format!("cluster.x-k8s.io/{}", "v1beta2"), version.clone());
    }
    let provider = match theirs["spec"]["group"].as_str().unwrap() {
        "metal3.io" | "infrastructure.cluster.x-k8s.io" => "infrastructure-metal3",
        "ipam.metal3.io" => "ipam-metal3",
        "bootstrap.cluster.x-k8s.io" => "bootstrap-kubeadm",
        "controlplane.cluster.x-k8s.io" => "control-plane-kubeadm",
        "ipam.cluster.x-k8s.io" if version == "v1alpha2" => "ipam-in-cluster",
        "clusterctl.cluster.x-k8s.io" => {
            wanted.insert("clusterctl.cluster.x-k8s.io/core".to_owned(), json!("inventory"));
            return;
        }
        _ => "cluster-api",
    };
    wanted.insert(PROVIDER.to_owned(), json!(provider));
}
