//! A small custom kind and an open server, shared by the tests.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::path::Path;

use bessemer_apiserver::ApiServer;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

/// A definition with what the project's own kinds use: short name, columns, status, defaults, enum, bounds.
pub fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.test.example"},
        "spec": {
            "group": "test.example", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["toys"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Mode", "type": "string", "jsonPath": ".spec.mode"},
                    {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["size"], "properties": {
                        "mode": {"type": "string", "enum": ["UEFI", "legacy"], "default": "UEFI"},
                        "size": {"type": "integer", "minimum": 1, "maximum": 9},
                        "note": {"type": "string", "pattern": "^[a-z]*$"},
                    }},
                    "status": {"type": "object", "properties": {
                        "phase": {"type": "string"},
                        "conditions": {"type": "array", "items": {"type": "object", "properties": {
                            "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
                            "message": {"type": "string"},
                            "lastTransitionTime": {"type": "string", "format": "date-time"},
                        }}},
                    }},
                }}},
            }],
        },
    })
}

pub async fn open(dir: &Path) -> (ApiServer, kube::Client) {
    let api = reopen(dir).await;
    api.install_crds(&[widgets()]).await.unwrap();
    let client = kube::Client::new(api.router(), "default");
    (api, client)
}

/// Opens a server whose state an earlier one in this process may not have let go of yet: a dropped `kube::Client`
/// keeps its service until its worker task has run.
pub async fn reopen(dir: &Path) -> ApiServer {
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        match ApiServer::open(dir).await {
            Ok(api) => return api,
            Err(error) => assert!(tokio::time::Instant::now() < deadline, "{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

pub fn widget_kind() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("test.example", "v1", "Widget"), "widgets")
}

pub fn widget_api(client: &kube::Client) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), "default", &widget_kind())
}

pub fn widget(name: &str, spec: Value) -> DynamicObject {
    DynamicObject::new(name, &widget_kind()).data(json!({"spec": spec}))
}
