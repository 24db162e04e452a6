//! The document of one group and version: the paths of its resources and the schemas of its kinds.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::operations::{self, Place};
use super::schemas::{DELETE_OPTIONS, PATCH, SCALE, STATUS, Schemas};
use crate::discovery::KUBERNETES;
use crate::object::set_field;
use crate::registry::{Flavour, Resource};

/// The path of a group and version below `/openapi/v3`.
pub(super) fn base(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

pub(super) fn document(resources: &[&Arc<Resource>]) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Schemas::default());
    for message in [DELETE_OPTIONS, STATUS, PATCH] {
        schemas.add_message(message);
    }
    for resource in resources {
        add_paths(resource, &mut paths);
        schemas.add_kind(resource);
        if resource.scale.is_some() {
            schemas.add_message(SCALE);
        }
    }
    let mut components = json!({"schemas": schemas.into_value()});
    let info = if resources.iter().all(|resource| resource.is_custom()) {
        json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"})
    } else {
        let scheme = json!({
            "type": "apiKey", "description": "A bearer token.", "name": "authorization", "in": "header",
        });
        set_field(&mut components, "securitySchemes", json!({"BearerToken": scheme}));
        let (major, minor) = KUBERNETES;
        json!({"title": "Kubernetes", "version": format!("{major}.{minor}")})
    };
    json!({"openapi": "3.0.0", "info": info, "paths": paths, "components": components})
}

fn add_paths(resource: &Resource, paths: &mut Map<String, Value>) {
    let base = base(&resource.group, &resource.version);
    let namespace = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
    let whole = format!("/{base}/{namespace}{}", resource.plural);
    let one = format!("{whole}/{{name}}");
    let mut add = |path: String, place: Place| {
        paths.insert(path, operations::path(resource, place));
    };
    add(whole, Place::Collection);
    if resource.namespaced && resource.allows("list") {
        add(format!("/{base}/{}", resource.plural), Place::Everywhere);
    }
    if resource.allows("get") {
        add(one.clone(), Place::Object);
    }
    if resource.has_status {
        add(format!("{one}/status"), Place::Below("status"));
    }
    if resource.scale.is_some() {
        add(format!("{one}/scale"), Place::Below("scale"));
    }
    if resource.flavour == Flavour::Namespace {
        add(format!("{one}/finalize"), Place::Below("finalize"));
    }
}
