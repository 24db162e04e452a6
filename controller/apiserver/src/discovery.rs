//! Discovery: what is served, in the old form (one request per group and version) and the aggregated one; the version,
//! and the index of paths.

use std::fmt::Write as _;

use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256, Sha512};

use crate::health;
use crate::registry::{Flavour, Registry, Resource, group_version};
use crate::represent::answer as json_answer;
use crate::status::ApiError;

const STATUS_VERBS: &[&str] = &["get", "patch", "update"];
/// The Kubernetes release whose API this server follows.
pub(crate) const KUBERNETES: (&str, &str) = ("1", "36");
/// The oldest release that clients may take it for.
const OLDEST: (&str, &str) = ("1", "35");

/// The order of groups: upstream's for its own, then the others by name.
const GROUP_ORDER: &[&str] = &[
    "",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "rbac.authorization.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
];

/// Answers a discovery or version path; `None` when the path is none.
pub(crate) fn answer(registry: &Registry, head: &Parts) -> Result<Option<Response>, ApiError> {
    let path = head.uri.path().trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let body = match parts.as_slice() {
        [] | [""] => Some(index(registry)),
        ["version"] => Some(version()),
        ["api" | "apis"] if head.method == Method::GET && prefers_aggregated(&head.headers) => {
            return Ok(Some(aggregated_answer(registry, parts == ["api"], &head.headers)));
        }
        ["api"] => Some(json!({
            "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses(head),
        })),
        ["apis"] => Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(registry)})),
        ["apis", group] => groups(registry)
            .into_iter()
            .find(|g| g.get("name").and_then(Value::as_str) == Some(group))
            .map(|mut found| {
                crate::object::set_field(&mut found, "kind", "APIGroup".into());
                crate::object::set_field(&mut found, "apiVersion", "v1".into());
                found
            }),
        ["api", version] => match resource_list(registry, "", version) {
            Some(list) => Some(list),
            // Below /api everything is answered by the core group.
            None => return Err(ApiError::no_such_path()),
        },
        ["apis", group, version] => resource_list(registry, group, version),
        _ => None,
    };
    let Some(body) = body else { return Ok(None) };
    let is_read = matches!(head.method, Method::GET | Method::HEAD);
    let built_in = match parts.as_slice() {
        ["version"] | ["api", ..] => true,
        ["apis", group, version] => registry.has_built_in(group, version),
        _ => false,
    };
    if built_in && !is_read {
        return Err(ApiError::method_not_allowed());
    }
    match spoken(&head.headers) {
        Spoken::Json => Ok(Some(json_answer(StatusCode::OK, &body))),
        // What is built in is reached through a router that looks at the media types first.
        Spoken::Nothing if built_in => Err(ApiError::no_representation(false)),
        Spoken::Nothing | Spoken::OtherForms => {
            let known = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
            Err(ApiError::not_acceptable(known))
        }
    }
}

fn is_json(kind: &str) -> bool {
    matches!(kind, "application/json" | "application/*" | "*/*")
}

/// What a client takes of the plain documents.
#[derive(Debug, PartialEq, Eq)]
enum Spoken {
    Json,
    /// JSON, but of forms only that we do not have.
    OtherForms,
    Nothing,
}

fn spoken(headers: &HeaderMap) -> Spoken {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accept.trim().is_empty() {
        return Spoken::Json;
    }
    let mut found = Spoken::Nothing;
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        if parts.next().is_some_and(is_json) {
            if !parts.any(|parameter| parameter.starts_with("as=")) {
                return Spoken::Json;
            }
            found = Spoken::OtherForms;
        }
    }
    found
}

/// All paths that answer something.
fn index(registry: &Registry) -> Value {
    let mut paths: Vec<String> =
        ["/api", "/apis", "/apis/", "/openapi/v3", "/openapi/v3/", "/version"].map(str::to_owned).to_vec();
    for (group, versions) in registry.groups() {
        if !group.is_empty() {
            paths.push(format!("/apis/{group}"));
        }
        for version in versions {
            paths.push(if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") });
        }
    }
    paths.extend(health::paths());
    paths.sort();
    json!({"paths": paths})
}

fn version() -> Value {
    let ((major, minor), (oldest_major, oldest_minor)) = (KUBERNETES, OLDEST);
    json!({
        "major": major, "minor": minor, "emulationMajor": major, "emulationMinor": minor,
        "minCompatibilityMajor": oldest_major, "minCompatibilityMinor": oldest_minor,
        "gitVersion": format!("v{major}.{minor}.0+bessemer-{}", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "",
        "compiler": "rustc", "platform": format!("linux/{}", go_architecture()),
    })
}

/// Go's name of the processor, which clients print.
fn go_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The groups in the order in which they are listed.
fn ordered(registry: &Registry) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<_> = registry.groups().into_iter().collect();
    let rank = |group: &str| GROUP_ORDER.iter().position(|known| *known == group).unwrap_or(GROUP_ORDER.len());
    groups.sort_by_key(|(group, _)| rank(group));
    groups
}

/// The address by which the client reached the server: it may be reached by any.
fn addresses(head: &Parts) -> Vec<Value> {
    let host = head.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| head.uri.authority().map(http::uri::Authority::as_str));
    host.map(|host| json!({"clientCIDR": "0.0.0.0/0", "serverAddress": host})).into_iter().collect()
}

/// Whether the first form among those a client accepts that we have is the aggregated one.
fn prefers_aggregated(headers: &HeaderMap) -> bool {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else { return false };
    let forms = accept.split(',').filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        is_json(parts.next()?).then_some(())?;
        let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        let parameter = |name: &str| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        match (parameter("as"), parameter("g"), parameter("v")) {
            (None, _, _) => Some(false),
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => Some(true),
            _ => None,
        }
    });
    forms.into_iter().next().unwrap_or_default()
}

fn aggregated_answer(registry: &Registry, core: bool, headers: &HeaderMap) -> Response {
    let groups = ordered(registry);
    let items = groups.iter().filter(|(group, _)| group.is_empty() == core).map(|(group, versions)| {
        let versions = versions.iter().map(|version| {
            let resources = registry.in_group_version(group, version);
            let resources: Vec<Value> = resources.into_iter().map(|r| aggregated_resource(r)).collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        });
        let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
        json!({"metadata": metadata, "versions": versions.collect::<Vec<_>>()})
    });
    let body = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": items.collect::<Vec<_>>(),
    });
    let tag = entity_tag(&body);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let mut response = match known {
        Some(known) if known == tag => StatusCode::NOT_MODIFIED.into_response(),
        _ => json_answer(StatusCode::OK, &body),
    };
    let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    fields.insert(header::VARY, HeaderValue::from_static("Accept"));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        fields.insert(header::ETAG, tag);
    }
    response
}

fn entity_tag(body: &Value) -> String {
    let digest = Sha512::digest(body.to_string().as_bytes());
    let hex = digest.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02X}");
        hex
    });
    format!("\"{hex}\"")
}

/// A kind as discovery names it: built-in ones leave out the group and version they are listed under.
fn response_kind(resource: &Resource) -> Value {
    if resource.is_custom() {
        return json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    }
    json!({"group": "", "version": "", "kind": resource.kind})
}

fn aggregated_resource(resource: &Resource) -> Value {
    let mut found = json!({
        "resource": resource.plural, "responseKind": response_kind(resource),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular, "verbs": resource.verbs,
    });
    names(&mut found, resource);
    let subresources: Vec<Value> = subresources(resource)
        .into_iter()
        .map(|sub| {
            let kind = sub.kind.clone().unwrap_or_else(|| response_kind(resource));
            json!({"subresource": sub.name, "responseKind": kind, "verbs": sub.verbs})
        })
        .collect();
    if !subresources.is_empty() {
        crate::object::set_field(&mut found, "subresources", subresources.into());
    }
    found
}

/// A path below a resource's objects.
struct Subresource {
    name: &'static str,
    verbs: &'static [&'static str],
    /// What it answers, when that is not the kind itself.
    kind: Option<Value>,
}

fn subresources(resource: &Resource) -> Vec<Subresource> {
    let mut found = Vec::new();
    if resource.flavour == Flavour::Namespace {
        found.push(Subresource { name: "finalize", verbs: &["update"], kind: None });
    }
    if resource.has_status {
        found.push(Subresource { name: "status", verbs: STATUS_VERBS, kind: None });
    }
    if resource.scale.is_some() {
        let kind = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        found.push(Subresource { name: "scale", verbs: STATUS_VERBS, kind: Some(kind) });
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
    let named = ordered(registry).into_iter().filter(|(group, _)| !group.is_empty());
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
            "kind": resource.kind, "verbs": resource.verbs,
        });
        names(&mut found, resource);
        if resource.flavour != Flavour::Review {
            crate::object::set_field(&mut found, "storageVersionHash", storage_version_hash(resource).into());
        }
        list.push(found);
        for sub in subresources(resource) {
            let mut entry = json!({
                "name": format!("{}/{}", resource.plural, sub.name), "singularName": "",
                "namespaced": resource.namespaced, "kind": resource.kind, "verbs": sub.verbs,
            });
            if let (Some(entry), Some(Value::Object(kind))) = (entry.as_object_mut(), sub.kind) {
                entry.extend(kind);
            }
            list.push(entry);
        }
    }
    let name = group_version(group, version);
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": list}))
}

/// By which clients see that the stored version of a kind has changed.
fn storage_version_hash(resource: &Resource) -> String {
    let (group, version) = resource.stored_api_version.split_once('/').unwrap_or(("", &resource.stored_api_version));
    // Upstream still stores these as what they were first.
    let version = if resource.flavour == Flavour::Definition { "v1beta1" } else { version };
    let digest = Sha256::digest(format!("{group}/{version}/{}", resource.kind).as_bytes());
    STANDARD.encode(digest.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_upstream_s() {
        let resources = crate::builtin::resources();
        let hash = |plural: &str| storage_version_hash(resources.iter().find(|r| r.plural == plural).unwrap());
        assert_eq!((hash("configmaps"), hash("namespaces")), ("qFsyl6wFWjQ=".to_owned(), "Q3oi5N2YM8M=".to_owned()));
    }
}
