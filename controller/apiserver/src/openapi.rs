//! OpenAPI v3, as much as kubectl reads before a write: that PATCH knows `fieldValidation`, so that the server checks
//! fields and the client need not; and the schemas of custom kinds.

use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::registry::{Registry, Resource};
use crate::represent::answer as json_answer;

/// Answers a path under `/openapi/v3`; `None` for others.
pub(crate) fn answer(registry: &Registry, path: &str) -> Option<Response> {
    let rest = path.trim_end_matches('/').strip_prefix("/openapi/v3")?;
    if rest.is_empty() {
        return Some(json_answer(StatusCode::OK, &index(registry)));
    }
    let (group, version) = match rest.split('/').skip(1).collect::<Vec<_>>().as_slice() {
        ["api", version] => ("", *version),
        ["apis", group, version] => (*group, *version),
        _ => return None,
    };
    let resources = registry.in_group_version(group, version);
    (!resources.is_empty()).then(|| json_answer(StatusCode::OK, &document(&resources)))
}

fn base(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for (group, versions) in registry.groups() {
        for version in versions {
            let base = base(group, version);
            let url = json!({"serverRelativeURL": format!("/openapi/v3/{base}")});
            paths.insert(base, url);
        }
    }
    json!({"paths": paths})
}

fn document(resources: &[&std::sync::Arc<Resource>]) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for resource in resources {
        let namespace = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
        let base = base(&resource.group, &resource.version);
        let kind = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
        let patch = json!({
            "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind,
            "parameters": [parameter("dryRun"), parameter("fieldValidation")],
            "requestBody": {"content": {"application/merge-patch+json": {"schema": {"type": "object"}}}},
            "responses": {"200": {"description": "OK"}},
        });
        paths.insert(format!("/{base}/{namespace}{}/{{name}}", resource.plural), json!({"patch": patch}));
        if let Some(mut schema) = resource.open_api.clone() {
            crate::object::set_field(&mut schema, "x-kubernetes-group-version-kind", json!([kind]));
            schemas.insert(schema_name(resource), schema);
        }
    }
    json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths, "components": {"schemas": schemas},
    })
}

fn parameter(name: &str) -> Value {
    json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}})
}

/// Upstream's naming: the group's labels reversed, then version and kind.
fn schema_name(resource: &Resource) -> String {
    let group: Vec<&str> = resource.group.split('.').rev().collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}
