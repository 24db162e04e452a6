//! The client of workload clusters against a real API server behind TLS: the embedded one, as somebody's cluster.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::time::Duration;

use bessemer_apiserver::ApiServer;
use bessemer_reconcilers::KubeWorkloadClusters;
use bessemer_reconcilers::outside::{ClusterKey, WorkloadClusters, WorkloadError};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_asked_through_its_kubeconfig() {
    let dir = tempfile::tempdir().unwrap();
    let server = ApiServer::open(dir.path()).await.unwrap();
    let stop = CancellationToken::new();
    let serving =
        server.serve_https("127.0.0.1:0".parse().unwrap(), &[], stop.clone().cancelled_owned()).await.unwrap();
    let client = Client::new(server.router(), "default");
    let workload = KubeWorkloadClusters::new(client.clone());
    let cluster = ClusterKey { namespace: "default".to_owned(), name: "first".to_owned() };
    assert!(matches!(workload.initialized(&cluster).await, Err(WorkloadError::NoKubeconfig { .. })));

    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    let kubeconfig = std::fs::read_to_string(&serving.kubeconfig_path).unwrap();
    let secret = json!({ "metadata": { "name": "first-kubeconfig" }, "stringData": { "value": kubeconfig } });
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    assert_eq!(workload.initialized(&cluster).await, Ok(false));
    let maps: Api<ConfigMap> = Api::namespaced(client, "kube-system");
    let map = serde_json::from_value(json!({ "metadata": { "name": "kubeadm-config" } })).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    assert_eq!(workload.initialized(&cluster).await, Ok(true));

    // A changed Secret is used at once: one that asks for a foreign program is not.
    let evil = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": "https://127.0.0.1:1" } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "users": [{ "name": "u", "user": { "exec": { "apiVersion": "client.authentication.k8s.io/v1", "command": "true" } } }],
    });
    let put = |value: String| json!({ "stringData": { "value": value } });
    let patch = |value: String| {
        let secrets = secrets.clone();
        async move {
            secrets.patch("first-kubeconfig", &PatchParams::default(), &Patch::Merge(&put(value))).await.unwrap();
        }
    };
    patch(evil.to_string()).await;
    assert!(matches!(workload.initialized(&cluster).await, Err(WorkloadError::BadKubeconfig { .. })));

    // Nobody listens: an error, and soon.
    let dead = kubeconfig.replace(&serving.local_addr.port().to_string(), "1");
    patch(dead).await;
    let answer = tokio::time::timeout(Duration::from_secs(15), workload.initialized(&cluster)).await.unwrap();
    assert!(matches!(answer, Err(WorkloadError::Unreachable { .. })), "{answer:?}");
    stop.cancel();
    server.close();
}
