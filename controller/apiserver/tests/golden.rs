//! Answers of a real kube-apiserver (v1.36.3) to invalid objects, word for word. The files in `golden/` were recorded
//! from it: a definition, and objects sent to it as dry runs. Where it reports several faults of one object their
//! order is random there, so causes are compared as a set and the message only when there is one cause.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// Sends one request and answers the code and the body.
async fn send(router: &axum::Router, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(axum::body::Body::from(body.to_string()))
        .unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// What of a Status is compared.
fn essence(status: &Value) -> Value {
    let causes = status.pointer("/details/causes").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut causes: Vec<Value> = causes.iter().map(|c| json!([c["reason"], c["message"], c["field"]])).collect();
    causes.sort_by_key(Value::to_string);
    let message = if causes.len() > 1 { Value::Null } else { status["message"].clone() };
    json!({"code": status["code"], "reason": status["reason"], "message": message, "causes": causes})
}

fn recorded(status: &Value) -> Value {
    let mut causes = status["causes"].as_array().cloned().unwrap_or_default();
    causes.sort_by_key(Value::to_string);
    let message = if causes.len() > 1 { Value::Null } else { status["message"].clone() };
    json!({"code": status["code"], "reason": status["reason"], "message": message, "causes": causes})
}

fn read(name: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[tokio::test]
async fn invalid_objects_are_refused_in_the_same_words() {
    let golden = read("validation.json");
    let dir = tempfile::tempdir().unwrap();
    let api = common::reopen(dir.path()).await;
    api.install_crds(&[golden["definition"].clone()]).await.unwrap();
    let router = api.router();
    let path = "/apis/golden.example/v1/namespaces/default/sinks?dryRun=All";
    let mut different = Vec::new();
    let cases = golden["cases"].as_array().unwrap();
    for case in cases {
        let object = json!({
            "apiVersion": "golden.example/v1", "kind": "Sink", "metadata": {"name": "x"}, "spec": case["spec"],
        });
        let (code, answer) = send(&router, "POST", path, &object).await;
        let (found, wanted) = match case.get("status") {
            Some(status) => (essence(&answer), recorded(status)),
            None => (json!({"code": code, "spec": answer["spec"]}), json!({"code": 201, "spec": case["stored"]})),
        };
        if found != wanted {
            different.push(format!("{}\n  found  {found}\n  wanted {wanted}", case["spec"]));
        }
    }
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), cases.len(), different.join("\n"));
    assert!(cases.len() > 600);
}
