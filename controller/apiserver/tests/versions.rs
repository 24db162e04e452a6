//! A kind with two versions: conversion by a registered hook on every way in and out, storage migration, selectable
//! fields, deprecated versions, names that are taken, and the end of a definition with its instances.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use std::sync::Arc;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

struct Client(axum::Router);

impl Client {
    async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value, Vec<String>) {
        let (method, kind) = match method {
            "APPLY" => ("PATCH", "application/apply-patch+yaml"),
            "PATCH" => (method, "application/merge-patch+json"),
            _ => (method, "application/json"),
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
        let response = self.0.clone().oneshot(request.body(axum::body::Body::from(body)).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter().map(|w| w.to_str().unwrap().to_owned()).collect();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null), warnings)
    }

    async fn get(&self, path: &str) -> Value {
        let (code, found, _) = self.send("GET", path, &Value::Null).await;
        assert_eq!(code, 200, "{path}: {found}");
        found
    }
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// `v1` has one field `size: "2x3"`, `v2` has `width` and `height`.
fn definition(storage: &str) -> Value {
    let version = |name: &str, spec: Value, more: Value| {
        let mut version = json!({
            "name": name, "served": true, "storage": name == storage, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": spec, "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
            }}},
        });
        for (field, value) in more.as_object().unwrap() {
            version[field] = value.clone();
        }
        version
    };
    let number = json!({"type": "integer"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.two.example"},
        "spec": {
            "group": "two.example", "scope": "Namespaced", "names": {"plural": "boxes", "kind": "Box", "singular": "box"},
            "versions": [
                version("v1", json!({"type": "object", "properties": {"size": {"type": "string"}}}), json!({"deprecated": true})),
                version(
                    "v2",
                    json!({"type": "object", "properties": {
                        "width": number, "height": number, "open": {"type": "boolean", "default": false},
                    }}),
                    json!({"selectableFields": [{"jsonPath": ".spec.width"}, {"jsonPath": ".spec.open"}]}),
                ),
            ],
        },
    })
}

fn convert(mut object: Value, from: &str, to: &str) -> Result<Value, String> {
    let spec = object["spec"].take();
    object["spec"] = match (from, to) {
        ("v1", "v2") => {
            let size = spec["size"].as_str().unwrap_or("0x0").to_owned();
            let (width, height) = size.split_once('x').ok_or_else(|| format!("size {size:?} has no x"))?;
            let number = |text: &str| text.parse::<i64>().map_err(|error| error.to_string());
            json!({"width": number(width)?, "height": number(height)?})
        }
        _ => json!({"size": format!("{}x{}", spec["width"], spec["height"])}),
    };
    Ok(object)
}

fn object(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("two.example/{version}"), "kind": "Box", "metadata": {"name": name}, "spec": spec})
}

async fn open(dir: &std::path::Path) -> (bessemer_apiserver::ApiServer, Client) {
    let api = common::reopen(dir).await;
    api.register_conversion("two.example", "Box", Arc::new(convert));
    let client = Client(api.router());
    (api, client)
}

#[tokio::test]
async fn a_hook_converts_on_every_way_in_and_out() {
    let dir = tempfile::tempdir().unwrap();
    let (api, client) = open(dir.path()).await;
    api.install_crds(&[definition("v1")]).await.unwrap();
    let (v1, v2) = ("/apis/two.example/v1/namespaces/default/boxes", "/apis/two.example/v2/namespaces/default/boxes");

    let (code, made, warnings) = client.send("POST", v1, &object("v1", "a", json!({"size": "2x3"}))).await;
    assert_eq!((code, made["spec"].clone()), (201, json!({"size": "2x3"})));
    assert_eq!(warnings, ["299 - \"two.example/v1 Box is deprecated; use two.example/v2 Box\""]);
    let found = client.get(&format!("{v2}/a")).await;
    // As upstream: what a version adds by default is for those who write it.
    assert_eq!(found["spec"], json!({"width": 2, "height": 3}));
    assert_eq!(found["apiVersion"], "two.example/v2");
    assert_eq!(found["metadata"]["uid"], made["metadata"]["uid"]);

    let (code, patched, warnings) = client.send("PATCH", &format!("{v2}/a"), &json!({"spec": {"width": 7}})).await;
    assert_eq!((code, patched["spec"].clone()), (200, json!({"width": 7, "height": 3})));
    assert!(warnings.is_empty());
    assert_eq!(client.get(&format!("{v1}/a")).await["spec"], json!({"size": "7x3"}));

    client.send("POST", v2, &object("v2", "b", json!({"width": 1, "height": 1, "open": true}))).await;
    let names = |list: &Value| {
        list["items"].as_array().unwrap().iter().map(|o| o["metadata"]["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&client.get(&format!("{v2}?fieldSelector=spec.width%3D7")).await), ["a"]);
    let (code, refused, _) = client.send("GET", &format!("{v1}?fieldSelector=spec.width%3D7"), &Value::Null).await;
    assert_eq!((code, refused["message"].as_str().unwrap_or_default()), (400, "field label not supported: spec.width"));
    let listed = client.get(v1).await;
    assert_eq!(listed["items"][1]["spec"], json!({"size": "1x1"}));

    // What cannot be converted is an error with the hook's words.
    client.send("POST", v1, &object("v1", "c", json!({"size": "odd"}))).await;
    let (code, failed, _) = client.send("GET", &format!("{v2}/c"), &Value::Null).await;
    assert_eq!(code, 500);
    assert_eq!(failed["message"], "conversion webhook for two.example/v1, Kind=Box failed: size \"odd\" has no x");
    client.send("DELETE", &format!("{v1}/c"), &Value::Null).await;

    // Another storage version: the old form is still read, and a write migrates it.
    api.install_crds(&[definition("v2")]).await.unwrap();
    let stored = client.get(&format!("{DEFINITIONS}/boxes.two.example")).await;
    assert_eq!(stored["status"]["storedVersions"], json!(["v1", "v2"]));
    assert_eq!(client.get(&format!("{v2}/a")).await["spec"]["width"], 7);
    let (code, ..) = client.send("PATCH", &format!("{v2}/a"), &json!({"metadata": {"labels": {"m": "1"}}})).await;
    assert_eq!(code, 200);
    assert_eq!(client.get(&format!("{v1}/a")).await["spec"], json!({"size": "7x3"}));
    let mut one = definition("v2");
    one["spec"]["versions"] = json!([one["spec"]["versions"][1]]);
    let refused = api.install_crds(&[one]).await.unwrap_err().to_string();
    assert!(refused.contains("v1 was previously a storage version"), "{refused}");
}

/// A hook that breaks its word: what it converted once, it fails to convert again. Nobody may take what was sent for the
/// whole list.
#[tokio::test]
async fn a_list_with_an_object_that_cannot_be_converted_again_is_no_list() {
    let dir = tempfile::tempdir().unwrap();
    let api = common::reopen(dir.path()).await;
    let seen = Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let hook = move |object: Value, from: &str, to: &str| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if name.starts_with('z') && to == "v2" {
            let mut seen = seen.lock().unwrap();
            if seen.contains(&name) {
                return Err("not again".to_owned());
            }
            seen.push(name);
        }
        convert(object, from, to)
    };
    api.register_conversion("two.example", "Box", Arc::new(hook));
    let client = Client(api.router());
    api.install_crds(&[definition("v1")]).await.unwrap();
    let (v1, v2) = ("/apis/two.example/v1/namespaces/default/boxes", "/apis/two.example/v2/namespaces/default/boxes");
    let make = async |name: &str| {
        let mut made = object("v1", name, json!({"size": "2x3"}));
        made["metadata"]["annotations"] = json!({"fill": "x".repeat(40_000)});
        assert_eq!(client.send("POST", v1, &made).await.0, 201);
    };
    make("z1").await;
    let (code, told, _) = client.send("GET", v2, &Value::Null).await;
    assert_eq!((code, told["kind"].as_str()), (500, Some("Status")), "{told}");
    assert_eq!(client.send("DELETE", &format!("{v1}/z1"), &Value::Null).await.0, 200);
    for name in ["a", "b", "c", "d", "e", "z2"] {
        make(name).await;
    }
    // The beginning is under way by then, so the rest does not come.
    let request = http::Request::get(v2).body(axum::body::Body::empty()).unwrap();
    let response = client.0.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.into_body().collect().await.is_err());
}

#[tokio::test]
async fn new_defaults_show_in_what_was_stored_before() {
    let dir = tempfile::tempdir().unwrap();
    let (api, client) = open(dir.path()).await;
    let mut before = definition("v2");
    before["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["open"] =
        json!({"type": "boolean"});
    api.install_crds(&[before]).await.unwrap();
    let path = "/apis/two.example/v2/namespaces/default/boxes";
    client.send("POST", path, &object("v2", "a", json!({"width": 1, "height": 2}))).await;
    assert_eq!(client.get(&format!("{path}/a")).await["spec"], json!({"width": 1, "height": 2}));
    api.install_crds(&[definition("v2")]).await.unwrap();
    assert_eq!(client.get(&format!("{path}/a")).await["spec"], json!({"width": 1, "height": 2, "open": false}));
    assert_eq!(client.get(path).await["items"][0]["spec"]["open"], false);
}

#[tokio::test]
async fn names_are_taken_and_become_free() {
    let dir = tempfile::tempdir().unwrap();
    let (api, client) = open(dir.path()).await;
    api.install_crds(&[definition("v2")]).await.unwrap();
    let mut other = definition("v2");
    other["metadata"]["name"] = "crates.two.example".into();
    other["spec"]["names"] = json!({"plural": "crates", "kind": "Box", "singular": "crate", "shortNames": ["box"]});
    api.install_crds(&[other]).await.unwrap();
    let found = client.get(&format!("{DEFINITIONS}/crates.two.example")).await;
    let condition = |found: &Value, at: usize| {
        let condition = &found["status"]["conditions"][at];
        json!([condition["type"], condition["status"], condition["reason"], condition["message"]])
    };
    assert_eq!(
        condition(&found, 0),
        json!(["NamesAccepted", "False", "ListKindConflict", "\"BoxList\" is already in use"])
    );
    assert_eq!(condition(&found, 1), json!(["Established", "False", "NotAccepted", "not all names are accepted"]));
    let (code, ..) = client.send("GET", "/apis/two.example/v2/crates", &Value::Null).await;
    assert_eq!(code, 404);

    client.send("DELETE", &format!("{DEFINITIONS}/boxes.two.example"), &Value::Null).await;
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let found = client.get(&format!("{DEFINITIONS}/crates.two.example")).await;
        if condition(&found, 1)
            == json!(["Established", "True", "InitialNamesAccepted", "the initial names have been accepted"])
        {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{found}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    client.get("/apis/two.example/v2/crates").await;
}

#[tokio::test]
async fn a_definition_waits_for_its_instances() {
    let dir = tempfile::tempdir().unwrap();
    let (api, client) = open(dir.path()).await;
    api.install_crds(&[definition("v2")]).await.unwrap();
    let path = "/apis/two.example/v2/namespaces/default/boxes";
    let mut held = object("v2", "held", json!({}));
    held["metadata"]["finalizers"] = json!(["test.example/hold"]);
    client.send("POST", path, &held).await;
    client.send("POST", path, &object("v2", "free", json!({}))).await;
    let (code, answer, _) = client.send("DELETE", &format!("{DEFINITIONS}/boxes.two.example"), &Value::Null).await;
    assert_eq!(code, 200);
    assert_eq!(answer["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    let last = answer["status"]["conditions"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (last["type"].clone(), last["reason"].clone()),
        (json!("Terminating"), json!("InstanceDeletionInProgress"))
    );
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    while client.send("GET", &format!("{path}/free"), &Value::Null).await.0 != 404 {
        assert!(tokio::time::Instant::now() < deadline, "the instance stays");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    // By both ways to create, as a kube-apiserver v1.36.3 answers.
    let why =
        "boxes.two.example \"late\" is forbidden: create not allowed while custom resource definition is terminating";
    let late = object("v2", "late", json!({}));
    let applied = format!("{path}/late?fieldManager=m");
    for (method, path) in [("POST", path), ("APPLY", applied.as_str())] {
        let (code, answer, _) = client.send(method, path, &late).await;
        assert_eq!((code, &answer["message"]), (403, &json!(why)), "{method}");
    }
    let (code, ..) = client.send("PATCH", &format!("{path}/held"), &json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(code, 200);
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    while client.send("GET", &format!("{DEFINITIONS}/boxes.two.example"), &Value::Null).await.0 == 200 {
        assert!(tokio::time::Instant::now() < deadline, "the definition stays");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn openapi_documents_are_kept_under_their_hash() {
    let dir = tempfile::tempdir().unwrap();
    let (api, client) = open(dir.path()).await;
    api.install_crds(&[definition("v2")]).await.unwrap();
    let index = client.get("/openapi/v3").await;
    let url = index["paths"]["apis/two.example/v2"]["serverRelativeURL"].as_str().unwrap().to_owned();
    let document = client.get(&url).await;
    let schema = &document["components"]["schemas"]["example.two.v2.Box"];
    assert_eq!(
        schema["x-kubernetes-group-version-kind"],
        json!([{"group": "two.example", "version": "v2", "kind": "Box"}])
    );
    let meta =
        schema["properties"]["metadata"]["allOf"][0]["$ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    assert!(document["components"]["schemas"][&meta]["properties"]["ownerReferences"].is_object());
    let get = |uri: String, tag: Option<String>| {
        let mut request = http::Request::builder().uri(uri);
        if let Some(tag) = tag {
            request = request.header("if-none-match", tag);
        }
        client.0.clone().oneshot(request.body(axum::body::Body::empty()).unwrap())
    };
    let response = get(url.clone(), None).await.unwrap();
    assert_eq!(response.headers()["cache-control"], "public, immutable");
    let tag = response.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(get(url.clone(), Some(tag)).await.unwrap().status(), 304);
    let moved = get("/openapi/v3/apis/two.example/v2?hash=OLD".to_owned(), None).await.unwrap();
    assert_eq!((moved.status().as_u16(), moved.headers()["location"].to_str().unwrap()), (301, url.as_str()));
}
