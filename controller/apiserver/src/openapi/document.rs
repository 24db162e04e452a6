//! The document of one group and version: the paths of its resources and the schemas of its kinds.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::meta;
use crate::object::set_field;
use crate::registry::Resource;

const API_VERSION: &str = "The version of the schema in which this object is written. Servers turn known versions into \
                           the one they hold, and may refuse others.";
const KIND: &str = "The kind of thing that this object is. It cannot be changed, and follows from the path that a client \
                    uses.";

/// The path of a group and version below `/openapi/v3`.
pub(super) fn base(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

pub(super) fn document(resources: &[&Arc<Resource>]) -> Value {
    let (mut paths, mut schemas) = (Map::new(), meta::schemas());
    for resource in resources {
        add_paths(resource, &mut paths);
        add_schemas(resource, &mut schemas);
    }
    json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths, "components": {"schemas": schemas},
    })
}

/// Upstream's naming: the group's labels reversed, then version and kind.
fn schema_name(resource: &Resource, kind: &str) -> String {
    let group = match resource.group.as_str() {
        "" => "io.k8s.api.core".to_owned(),
        group => group.split('.').rev().collect::<Vec<_>>().join("."),
    };
    format!("{group}.{}.{kind}", resource.version)
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn add_schemas(resource: &Resource, schemas: &mut Map<String, Value>) {
    let gvk = |kind: &str| json!([{"group": resource.group, "version": resource.version, "kind": kind}]);
    let mut schema = resource.open_api.clone().unwrap_or_else(|| json!({"type": "object"}));
    set_field(&mut schema, "x-kubernetes-group-version-kind", gvk(&resource.kind));
    let mut properties = schema.get("properties").cloned().unwrap_or_else(|| json!({}));
    set_field(&mut properties, "apiVersion", json!({"type": "string", "description": API_VERSION}));
    set_field(&mut properties, "kind", json!({"type": "string", "description": KIND}));
    let metadata = json!({"allOf": [reference(meta::OBJECT_META)], "default": {}, "description": "Standard metadata."});
    set_field(&mut properties, "metadata", metadata);
    set_field(&mut schema, "properties", properties);
    let name = schema_name(resource, &resource.kind);
    let list = json!({
        "type": "object", "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "required": ["items"], "x-kubernetes-group-version-kind": gvk(&resource.list_kind),
        "properties": {
            "apiVersion": {"type": "string", "description": API_VERSION},
            "kind": {"type": "string", "description": KIND},
            "metadata": {"allOf": [reference(meta::LIST_META)], "default": {}, "description": "Standard list metadata."},
            "items": {"type": "array", "description": format!("List of {}.", resource.plural), "items": reference(&name)},
        },
    });
    schemas.insert(schema_name(resource, &resource.list_kind), list);
    schemas.insert(name, schema);
}

fn add_paths(resource: &Resource, paths: &mut Map<String, Value>) {
    let namespace = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
    let whole = format!("/{}/{namespace}{}", base(&resource.group, &resource.version), resource.plural);
    let one = format!("{whole}/{{name}}");
    let mut collection = Map::new();
    let mut single = Map::new();
    for (verb, method, action, on_one) in [
        ("list", "get", "list", false),
        ("create", "post", "post", false),
        ("deletecollection", "delete", "deletecollection", false),
        ("get", "get", "get", true),
        ("update", "put", "put", true),
        ("patch", "patch", "patch", true),
        ("delete", "delete", "delete", true),
    ] {
        if resource.allows(verb) {
            let target = if on_one { &mut single } else { &mut collection };
            target.insert(method.to_owned(), operation(resource, action));
        }
    }
    paths.insert(whole, collection.into());
    paths.insert(one.clone(), single.into());
    if resource.has_status {
        let operations = ["get", "put", "patch"].map(|action| (action.to_owned(), operation(resource, action)));
        paths.insert(format!("{one}/status"), Value::Object(operations.into_iter().collect()));
    }
}

fn operation(resource: &Resource, action: &str) -> Value {
    let parameter = |name: &str, description: &str| json!({"name": name, "in": "query", "description": description, "schema": {"type": "string", "uniqueItems": true}});
    let gvk = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    let schema = reference(&schema_name(resource, &resource.kind));
    let mut operation = json!({
        "x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk,
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}},
    });
    if matches!(action, "post" | "put" | "patch") {
        let parameters = json!([
            parameter("dryRun", "Whether nothing is to be stored; the only valid value is All."),
            parameter("fieldManager", "The name of the actor that makes the changes."),
            parameter("fieldValidation", "How to treat unknown and duplicate fields: Ignore, Warn or Strict."),
        ]);
        set_field(&mut operation, "parameters", parameters);
        let content = if action == "patch" {
            let plain = json!({"schema": {"type": "object"}});
            json!({
                "application/apply-patch+yaml": plain, "application/json-patch+json": plain,
                "application/merge-patch+json": plain,
            })
        } else {
            json!({"application/json": {"schema": schema}})
        };
        set_field(&mut operation, "requestBody", json!({"content": content}));
    }
    operation
}
