//! A small custom kind and an open server, shared by the tests.
#![allow(dead_code, missing_docs, unreachable_pub)]

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
    let api = ApiServer::open(dir).await.unwrap();
    api.install_crds(&[widgets()]).await.unwrap();
    let client = kube::Client::new(api.router(), "default");
    (api, client)
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
