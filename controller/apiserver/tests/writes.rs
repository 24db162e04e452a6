//! Writes as a real kube-apiserver (v1.36.3) answered them: server-side apply, patches, scale, metadata. The requests and
//! answers in `golden/writes.json` were recorded from it; versions, uids and times are masked. Where it reports several
//! things its order is random, so those are compared without order.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use std::sync::LazyLock;

use http_body_util::BodyExt as _;
use regex::Regex;
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;

struct Answer {
    code: u16,
    body: Value,
    warnings: Vec<String>,
}

async fn send(router: &axum::Router, request: &Value, body: Vec<u8>) -> Answer {
    let text = |field: &str| request[field].as_str().unwrap_or_default();
    let mut builder = http::Request::builder().method(text("method")).uri(text("path"));
    builder = builder.header("user-agent", text("agent"));
    if !request["type"].is_null() {
        builder = builder.header("content-type", text("type"));
    }
    let response = router.clone().oneshot(builder.body(axum::body::Body::from(body)).unwrap()).await.unwrap();
    let warnings = response.headers().get_all("warning").iter().map(|value| value.to_str().unwrap().to_owned());
    let warnings = warnings.collect();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
    Answer { code, body, warnings }
}

/// The bytes of a recorded body; `last` is the answer before it.
fn body(recorded: &Value, last: &Value) -> Vec<u8> {
    match recorded {
        Value::Null => Vec::new(),
        Value::String(text) => text.clone().into_bytes(),
        Value::Object(fields) if fields.contains_key("$repeat") => {
            let times = usize::try_from(fields["$times"].as_u64().unwrap()).unwrap();
            Value::from(vec![fields["$repeat"].clone(); times]).to_string().into_bytes()
        }
        Value::Object(fields) if fields.contains_key("$last") => {
            let mut whole = last.clone();
            for (name, value) in fields["$last"].as_object().unwrap() {
                whole[name] = value.clone();
            }
            for (name, value) in fields["$metadata"].as_object().unwrap() {
                whole["metadata"][name] = value.clone();
            }
            whole.to_string().into_bytes()
        }
        other => {
            let mut other = other.clone();
            if let Some(letters) = other.pointer("/metadata/annotations/a/$letters").and_then(Value::as_u64) {
                other["metadata"]["annotations"]["a"] = "x".repeat(usize::try_from(letters).unwrap()).into();
            }
            other.to_string().into_bytes()
        }
    }
}

static UID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap());
static TIME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").unwrap());
static VERSION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"(resourceVersion\\?":\\?")\d+"#).unwrap());

/// Masks what differs from run to run, and sorts what has no order.
fn masked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut found = Map::new();
            for (name, value) in fields {
                let value = match (name.as_str(), value) {
                    ("resourceVersion" | "uid", Value::String(_)) => json!(format!("<{name}>")),
                    ("time" | "creationTimestamp" | "deletionTimestamp", Value::String(_)) => json!("<t>"),
                    ("creationTimestamp", Value::Null) => continue,
                    ("message", Value::String(text)) => unordered(&text_masked(text)),
                    // Entries are in order of time, and the recording knew other seconds.
                    ("causes" | "managedFields", Value::Array(items)) => {
                        let mut items: Vec<Value> = items.iter().map(masked).collect();
                        items.sort_by_key(Value::to_string);
                        items.into()
                    }
                    (_, value) => masked(value),
                };
                found.insert(name.clone(), value);
            }
            Value::Object(found)
        }
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::String(text) => text_masked(text).into(),
        other => other.clone(),
    }
}

fn text_masked(text: &str) -> String {
    let text = UID.replace_all(text, "<uid>");
    let text = TIME.replace_all(&text, "<t>");
    VERSION.replace_all(&text, "$1<version>").into_owned()
}

/// A message that lists several things, as a sorted list of them.
fn unordered(message: &str) -> Value {
    if message.contains("\n") {
        let mut lines: Vec<&str> = message.lines().collect();
        lines.sort_unstable();
        return lines.into();
    }
    match message.split_once(" is invalid: [") {
        Some((subject, list)) => {
            let mut parts: Vec<&str> = list.trim_end_matches(']').split(", ").collect();
            parts.sort_unstable();
            json!([subject, parts])
        }
        None => message.into(),
    }
}

#[tokio::test]
async fn writes_are_answered_as_upstream_answers_them() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/writes.json");
    let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let api = common::reopen(dir.path()).await;
    api.install_crds(&[golden["definition"].clone()]).await.unwrap();
    let router = api.router();
    for name in ["golden", "golden2"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let request = json!({"method": "POST", "path": "/api/v1/namespaces", "type": "application/json"});
        assert_eq!(send(&router, &request, namespace.to_string().into_bytes()).await.code, 201);
    }
    let mut last = Value::Null;
    let mut different = Vec::new();
    let requests = golden["requests"].as_array().unwrap();
    for request in requests {
        let answer = send(&router, request, body(&request["body"], &last)).await;
        last = answer.body;
        let warnings: Vec<String> = answer.warnings.iter().map(|warning| text_masked(warning)).collect();
        let found = json!({"code": answer.code, "body": masked(&last), "warnings": warnings});
        let wanted =
            json!({"code": request["code"], "body": masked(&request["answer"]), "warnings": request["warnings"]});
        if found != wanted {
            let title = request["title"].as_str().unwrap();
            let (method, path) = (request["method"].as_str().unwrap(), request["path"].as_str().unwrap());
            different.push(format!("{title}: {method} {path}\n  found  {found}\n  wanted {wanted}"));
        }
    }
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), requests.len(), different.join("\n"));
    assert!(requests.len() > 250);
}

/// Merging knows texts, numbers and lists; that a text is base64 or a time, and a number whole, is for the type to say.
/// The texts are those of upstream's sources, all but the last: it cuts such a number without a word.
#[tokio::test]
async fn an_apply_is_read_as_the_type_of_its_kind() {
    let dir = tempfile::TempDir::new().unwrap();
    let (api, _) = common::open(dir.path()).await;
    let router = api.router();
    let apply = async |path: &str, object: &Value| {
        let request = json!({"method": "PATCH", "path": format!("{path}?fieldManager=test"), "agent": "test",
            "type": "application/apply-patch+yaml"});
        let answer = send(&router, &request, object.to_string().into_bytes()).await;
        (answer.code, answer.body["message"].as_str().unwrap_or_default().to_owned())
    };
    let (core, leases) = ("/api/v1/namespaces/default", "/apis/coordination.k8s.io/v1/namespaces/default/leases/a");
    let (hooks, metadata) =
        ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/a", json!({"name": "a"}));
    let cases = [
        (
            format!("{core}/secrets/a"),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"k": "%%"}}),
            "/v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 0",
        ),
        (
            format!("{core}/configmaps/a"),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "binaryData": {"k": "%%"}}),
            "/v1, Kind=ConfigMap: error decoding from json: illegal base64 data at input byte 0",
        ),
        (
            leases.to_owned(),
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata,
                "spec": {"renewTime": "soon"}}),
            "coordination.k8s.io/v1, Kind=Lease: parsing time \"soon\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"soon\" as \"2006\"",
        ),
        (
            leases.to_owned(),
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata,
                "spec": {"leaseDurationSeconds": 1.5}}),
            "coordination.k8s.io/v1, Kind=Lease: cannot convert float64 to int32",
        ),
        (
            hooks.to_owned(),
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": metadata, "webhooks": [{"name": "a.b.c", "clientConfig": {"caBundle": "%%"}}]}),
            "admissionregistration.k8s.io/v1, Kind=ValidatingWebhookConfiguration: error decoding from json: \
             illegal base64 data at input byte 0",
        ),
    ];
    for (path, object, wanted) in &cases {
        let of = wanted.split_once(": ").unwrap().0;
        let (kind, why) = (of, wanted.strip_prefix(of).unwrap());
        let wanted = format!(
            "failed to convert new object (/a; {kind}) to proper version: \
             unable to convert unstructured object to {kind}{why}"
        );
        assert_eq!(apply(path, object).await, (500, wanted));
    }
    let large = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata,
        "spec": {"leaseDurationSeconds": 9_999_999_999_i64}});
    assert_eq!(apply(leases, &large).await.0, 400);
    for (path, ..) in &cases {
        let request = json!({"method": "GET", "path": path, "agent": "test"});
        assert_eq!(send(&router, &request, Vec::new()).await.code, 404, "{path}");
    }
}
