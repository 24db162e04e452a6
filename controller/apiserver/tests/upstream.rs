//! The published definitions of Cluster API and Metal3 are taken as they are, and their rules decide right.
//!
//! They are in `$BESSEMER_TEST_DATA/crds`, by default `../shared/data` beside the checkout.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

fn definitions() -> Option<Vec<Value>> {
    let data = std::env::var_os("BESSEMER_TEST_DATA")
        .map_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), Into::into);
    let files = std::fs::read_dir(data.join("crds")).ok()?;
    let read = |file: std::fs::DirEntry| -> Value {
        let mut definition: Value = serde_saphyr::from_str(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
        definition.as_object_mut().unwrap().remove("status");
        definition
    };
    let mut found: Vec<Value> = files.map(|file| read(file.unwrap())).collect();
    found.sort_by_key(|definition| definition["metadata"]["name"].to_string());
    Some(found)
}

async fn post(router: &axum::Router, path: &str, body: &Value) -> (u16, String) {
    let request = http::Request::builder().method("POST").uri(path).header("content-type", "application/json");
    let request = request.body(axum::body::Body::from(body.to_string())).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    (code, answer["message"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn published_definitions_are_taken_and_their_rules_decide() {
    let Some(definitions) = definitions() else {
        println!("SKIP no test data: set BESSEMER_TEST_DATA");
        return;
    };
    assert!(definitions.len() > 40);
    let dir = tempfile::tempdir().unwrap();
    let api = common::reopen(dir.path()).await;
    let started = std::time::Instant::now();
    api.install_crds(&definitions).await.unwrap();
    println!("{} definitions in {:?}", definitions.len(), started.elapsed());
    let router = api.router();

    let config = |args: Value, partition: &str| {
        json!({
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig", "metadata": {"name": "c"},
            "spec": {
                "clusterConfiguration": {"apiServer": {"extraArgs": args}},
                "diskSetup": {"partitions": [{"device": "/dev/sda", "diskLayout": [{"percentage": 50, "partitionType": partition}]}]},
            },
        })
    };
    let path = "/apis/bootstrap.cluster.x-k8s.io/v1beta2/namespaces/default/kubeadmconfigs?dryRun=All";
    let one = json!([{"name": "v", "value": "1"}, {"name": "w", "value": "2"}]);
    assert_eq!(post(&router, path, &config(one.clone(), "Linux")).await, (201, String::new()));
    let guid = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";
    let (code, message) = post(&router, path, &config(one.clone(), guid)).await;
    assert_eq!(code, 201, "{message}");
    let (code, message) = post(&router, path, &config(one, "Nope")).await;
    assert_eq!(code, 422);
    assert!(message.contains("partitionType must be one of Linux, LinuxSwap, LinuxRAID"), "{message}");
    let twice = json!([{"name": "v", "value": "1"}, {"name": "v", "value": "2"}]);
    let (code, message) = post(&router, path, &config(twice, "Linux")).await;
    assert_eq!(code, 422);
    assert!(message.ends_with("Invalid value: extraArgs name must be unique"), "{message}");
}
