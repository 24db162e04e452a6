//! Discovery: what is served, in the old form (one request per group and version) and the aggregated one; and the
//! version and health paths.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::registry::{Registry, Resource, group_version};
use crate::represent::answer as json_answer;

const VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS: &[&str] = &["get", "patch", "update"];
/// The Kubernetes release whose API this server follows.
const KUBERNETES: (&str, &str) = ("1", "36");

/// Answers a discovery or health path; `None` when the path is none.
pub(crate) fn answer(registry: &Registry, path: &str, headers: &HeaderMap) -> Option<Response> {
    let path = path.trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let body = match parts.as_slice() {
        ["healthz" | "readyz" | "livez"] => return Some("ok".into_response()),
        ["version"] => version(),
        ["api" | "apis"] if aggregated(headers).is_some() => {
            let version = aggregated(headers)?;
            return Some(aggregated_answer(registry, parts == ["api"], version));
        }
        ["api"] => json!({
            "kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"], "serverAddressByClientCIDRs": [],
        }),
        ["apis"] => json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(registry)}),
        ["apis", group] => {
            let mut found =
                groups(registry).into_iter().find(|g| g.get("name").and_then(Value::as_str) == Some(group))?;
            crate::object::set_field(&mut found, "kind", "APIGroup".into());
            crate::object::set_field(&mut found, "apiVersion", "v1".into());
            found
        }
        ["api", version] => resource_list(registry, "", version)?,
        ["apis", group, version] => resource_list(registry, group, version)?,
        _ => return None,
    };
    Some(json_answer(StatusCode::OK, &body))
}

fn version() -> Value {
    let (major, minor) = KUBERNETES;
    json!({
        "major": major, "minor": minor,
        "gitVersion": format!("v{major}.{minor}.0+bessemer-{}", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// The version of the aggregated form that a client prefers over the old one, if it asks for one.
fn aggregated(headers: &HeaderMap) -> Option<&'static str> {
    let accept = headers.get(header::ACCEPT)?.to_str().ok()?;
    let asks = accept.split(',').filter(|range| range.contains("as=APIGroupDiscoveryList"));
    let versions: Vec<&str> =
        asks.flat_map(|range| range.split(';').filter_map(|p| p.trim().strip_prefix("v="))).collect();
    ["v2", "v2beta1"].into_iter().find(|version| versions.contains(version))
}

fn aggregated_answer(registry: &Registry, core: bool, version: &'static str) -> Response {
    let groups = registry.groups();
    let items = groups.iter().filter(|(group, _)| group.is_empty() == core).map(|(group, versions)| {
        let versions = versions.iter().map(|version| {
            let resources = registry.in_group_version(group, version);
            let resources: Vec<Value> = resources.into_iter().map(|r| aggregated_resource(r)).collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        });
        json!({"metadata": {"name": group, "creationTimestamp": null}, "versions": versions.collect::<Vec<_>>()})
    });
    let body = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"), "metadata": {},
        "items": items.collect::<Vec<_>>(),
    });
    let mut response = json_answer(StatusCode::OK, &body);
    let kind = match version {
        "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn aggregated_resource(resource: &Resource) -> Value {
    let kind = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    let mut found = json!({
        "resource": resource.plural, "responseKind": kind, "singularResource": resource.singular, "verbs": VERBS,
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
    });
    names(&mut found, resource);
    let mut subresources = Vec::new();
    if resource.has_status {
        subresources.push(json!({"subresource": "status", "responseKind": kind, "verbs": STATUS_VERBS}));
    }
    if resource.scale.is_some() {
        let kind = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        subresources.push(json!({"subresource": "scale", "responseKind": kind, "verbs": STATUS_VERBS}));
    }
    if !subresources.is_empty() {
        crate::object::set_field(&mut found, "subresources", subresources.into());
    }
    found
}

fn names(found: &mut Value, resource: &Resource) {
    for (field, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !list.is_empty() {
            crate::object::set_field(found, field, list.iter().map(String::as_str).collect());
        }
    }
}

fn groups(registry: &Registry) -> Vec<Value> {
    let entry = |group: &str, version: &str| {
        let fields = [("groupVersion", group_version(group, version)), ("version", version.to_owned())];
        fields.into_iter().map(|(k, v)| (k.to_owned(), Value::from(v))).collect::<Map<_, _>>()
    };
    let named = registry.groups().into_iter().filter(|(group, _)| !group.is_empty());
    named
        .map(|(group, versions)| {
            let entries: Vec<_> = versions.iter().map(|version| entry(group, version)).collect();
            json!({"name": group, "versions": entries, "preferredVersion": entries.first()})
        })
        .collect()
}

fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let resources = registry.in_group_version(group, version);
    if resources.is_empty() {
        return None;
    }
    let mut list = Vec::new();
    for resource in resources {
        let mut found = json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": VERBS,
        });
        names(&mut found, resource);
        list.push(found);
        if resource.has_status {
            list.push(json!({
                "name": format!("{}/status", resource.plural), "singularName": "",
                "namespaced": resource.namespaced, "kind": resource.kind, "verbs": STATUS_VERBS,
            }));
        }
        if resource.scale.is_some() {
            list.push(json!({
                "name": format!("{}/scale", resource.plural), "singularName": "", "namespaced": resource.namespaced,
                "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": STATUS_VERBS,
            }));
        }
    }
    let name = group_version(group, version);
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": list}))
}
