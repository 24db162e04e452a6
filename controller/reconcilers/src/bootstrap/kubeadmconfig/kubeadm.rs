//! kubeadm's own configuration, `kubeadm.k8s.io/v1beta4`, from the words of Cluster API. Pure.

use bessemer_api::bootstrap::{ClusterConfiguration, InitConfiguration, Timeouts};
use bessemer_api::cluster::{Cluster, NetworkRanges};
use kube::ResourceExt;
use serde::Serialize;
use serde_json::{Map, Value};

const API_VERSION: &str = "kubeadm.k8s.io/v1beta4";

/// Documents for `kubeadm init --config`: JSON, which is YAML, one after the other.
pub(super) fn init_documents(
    cluster: &Cluster,
    version: &str,
    configuration: &ClusterConfiguration,
    init: &InitConfiguration,
) -> String {
    let documents = [cluster_document(cluster, version, configuration), init_document(cluster, init)];
    let texts = documents.iter().map(|document| format!("{document:#}\n")).collect::<Vec<_>>();
    texts.join("---\n")
}

fn cluster_document(cluster: &Cluster, version: &str, configuration: &ClusterConfiguration) -> Value {
    let mut document = same_words(configuration, &["certificateValidityPeriodDays", "caCertificateValidityPeriodDays"]);
    document.insert("apiVersion".to_owned(), API_VERSION.into());
    document.insert("kind".to_owned(), "ClusterConfiguration".into());
    document.insert("clusterName".to_owned(), cluster.name_any().into());
    document.insert("kubernetesVersion".to_owned(), version.into());
    let endpoint = configuration.control_plane_endpoint.clone();
    let endpoint = endpoint.or_else(|| cluster.spec.control_plane_endpoint.as_ref().map(ToString::to_string));
    put(&mut document, "controlPlaneEndpoint", endpoint);
    let days = |days: i32| format!("{}h0m0s", i64::from(days).saturating_mul(24));
    put(&mut document, "certificateValidityPeriod", configuration.certificate_validity_period_days.map(days));
    put(&mut document, "caCertificateValidityPeriod", configuration.ca_certificate_validity_period_days.map(days));
    let network = cluster.spec.cluster_network.clone().unwrap_or_default();
    let mut networking = Map::new();
    let ranges = |ranges: Option<NetworkRanges>| {
        ranges.filter(|ranges| !ranges.cidr_blocks.is_empty()).map(|ranges| ranges.cidr_blocks.join(","))
    };
    put(&mut networking, "dnsDomain", network.service_domain);
    put(&mut networking, "podSubnet", ranges(network.pods));
    put(&mut networking, "serviceSubnet", ranges(network.services));
    if !networking.is_empty() {
        document.insert("networking".to_owned(), Value::Object(networking));
    }
    Value::Object(document)
}

fn init_document(cluster: &Cluster, init: &InitConfiguration) -> Value {
    let mut document = same_words(init, &["localAPIEndpoint", "timeouts"]);
    document.insert("apiVersion".to_owned(), API_VERSION.into());
    document.insert("kind".to_owned(), "InitConfiguration".into());
    tokens(&mut document);
    let port = cluster.spec.cluster_network.as_ref().and_then(|network| network.api_server_port);
    let own = init.local_api_endpoint.clone().unwrap_or_default();
    let mut endpoint = Map::new();
    put(&mut endpoint, "advertiseAddress", own.advertise_address);
    put(&mut endpoint, "bindPort", own.bind_port.or(port));
    if !endpoint.is_empty() {
        document.insert("localAPIEndpoint".to_owned(), Value::Object(endpoint));
    }
    if let Some(timeouts) = &init.timeouts {
        document.insert("timeouts".to_owned(), durations(timeouts));
    }
    Value::Object(document)
}

/// Cluster API counts seconds, kubeadm reads durations.
fn durations(timeouts: &Timeouts) -> Value {
    let mut map = Map::new();
    for (name, seconds) in [
        ("controlPlaneComponentHealthCheck", timeouts.control_plane_component_health_check_seconds),
        ("kubeletHealthCheck", timeouts.kubelet_health_check_seconds),
        ("kubernetesAPICall", timeouts.kubernetes_api_call_seconds),
        ("etcdAPICall", timeouts.etcd_api_call_seconds),
        ("tlsBootstrap", timeouts.tls_bootstrap_seconds),
        ("discovery", timeouts.discovery_seconds),
    ] {
        put(&mut map, name, seconds.map(|seconds| format!("{seconds}s")));
    }
    Value::Object(map)
}

/// `ttlSeconds` of bootstrap tokens is a duration for kubeadm.
fn tokens(document: &mut Map<String, Value>) {
    let list = document.get_mut("bootstrapTokens").and_then(Value::as_array_mut);
    for token in list.into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(seconds) = token.remove("ttlSeconds").and_then(|seconds| seconds.as_i64()) {
            token.insert("ttl".to_owned(), format!("{seconds}s").into());
        }
    }
}

/// What Cluster API and kubeadm write alike: everything but `other`.
fn same_words(part: &impl Serialize, other: &[&str]) -> Map<String, Value> {
    let mut map = match serde_json::to_value(part) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    map.retain(|key, _| !other.contains(&key.as_str()));
    map
}

fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}
