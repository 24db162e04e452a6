//! What is special about single kinds: fields filled in on write, rules of their own, and the second face of events.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::object;
use crate::registry::{Flavour, Resource};
use crate::status::{ApiError, Cause};

/// Fills in what the server sets on every write of a kind. `old` is the stored object on updates.
pub(crate) fn complete(resource: &Resource, object: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    match resource.flavour {
        Flavour::Namespace => complete_namespace(object, old),
        Flavour::Secret => complete_secret(object, old),
        Flavour::ConfigMap => keep_immutable(object, old, &["data", "binaryData"]),
        Flavour::Definition => crate::crd::complete(object, old),
        _ => Vec::new(),
    }
}

fn complete_namespace(object: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    let name = object::name(object).to_owned();
    if let Some(metadata) = object::meta_mut(object) {
        let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
        }
    }
    // The spec holds nothing but the server's own finalizer.
    object::set_field(object, "spec", json!({"finalizers": ["kubernetes"]}));
    if old.is_none() {
        object::set_field(object, "status", json!({"phase": "Active"}));
    }
    Vec::new()
}

fn complete_secret(object: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    if let Some(Value::Object(plain)) = object::remove_field(object, "stringData")
        && let Some(fields) = object.as_object_mut()
    {
        let data = fields.entry("data").or_insert_with(|| Value::Object(Map::new()));
        if let Some(data) = data.as_object_mut() {
            for (key, value) in plain {
                data.insert(key, STANDARD.encode(value.as_str().unwrap_or_default()).into());
            }
        }
    }
    if object.get("type").is_none() {
        object::set_field(object, "type", "Opaque".into());
    }
    let mut causes = keep_immutable(object, old, &["data", "type"]);
    let kind = object.get("type").cloned().unwrap_or_default();
    if let Some(old) = old
        && old.get("type").is_some_and(|before| *before != kind)
    {
        causes.push(Cause::invalid("type", &kind, "field is immutable"));
    }
    causes
}

/// An object marked immutable keeps its data and the mark.
fn keep_immutable(object: &Value, old: Option<&Value>, fields: &[&str]) -> Vec<Cause> {
    let Some(old) = old.filter(|old| old.get("immutable") == Some(&Value::Bool(true))) else { return Vec::new() };
    let changed = |field: &&str| object.get(*field) != old.get(*field);
    let fields = fields.iter().copied().chain(["immutable"]).filter(|f| changed(f));
    fields.map(|field| Cause::forbidden(field, "field is immutable when `immutable` is set")).collect()
}

/// Field names of `events.k8s.io/v1` beside those of the core group, in which events are stored.
const EVENT_NAMES: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
];

/// Turns an object of the served version into the stored form.
///
/// # Errors
/// When the conversion between the two versions fails.
pub(crate) fn to_stored(resource: &Resource, mut object: Value) -> Result<Value, ApiError> {
    object::shorten_numbers(&mut object);
    match resource.flavour {
        Flavour::Custom => return resource.conversion.convert(object, &resource.stored_api_version),
        Flavour::NewEvent => rename(&mut object, EVENT_NAMES.iter().copied()),
        _ => {}
    }
    object::set_field(&mut object, "apiVersion", resource.stored_api_version.as_str().into());
    Ok(object)
}

/// Turns a stored object into the served version.
///
/// # Errors
/// When the conversion between the two versions fails.
pub(crate) fn to_served(resource: &Resource, mut object: Value) -> Result<Value, ApiError> {
    match resource.flavour {
        Flavour::Custom => return resource.conversion.convert(object, &resource.api_version()),
        Flavour::NewEvent => rename(&mut object, EVENT_NAMES.iter().map(|(new, core)| (*core, *new))),
        _ => {}
    }
    object::set_field(&mut object, "apiVersion", resource.api_version().into());
    Ok(object)
}

/// Whether this stored object can be served as it is.
pub(crate) fn is_stored_form(resource: &Resource, object: &Value) -> bool {
    match resource.flavour {
        Flavour::NewEvent => false,
        Flavour::Custom => resource.conversion.is_current(object, &resource.api_version()),
        _ => true,
    }
}

fn rename<'a>(object: &mut Value, names: impl Iterator<Item = (&'a str, &'a str)>) {
    let Some(fields) = object.as_object_mut() else { return };
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builtin(flavour: Flavour) -> Resource {
        crate::builtin::resources().into_iter().find(|r| r.flavour == flavour).unwrap()
    }

    #[test]
    fn events_have_two_faces() {
        let new = builtin(Flavour::NewEvent);
        let sent = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "regarding": {"name": "a"}, "note": "n"});
        let stored = to_stored(&new, sent.clone()).unwrap();
        assert_eq!(
            stored,
            json!({"apiVersion": "v1", "kind": "Event", "involvedObject": {"name": "a"}, "message": "n"})
        );
        assert_eq!(to_served(&new, stored).unwrap(), sent);
    }

    #[test]
    fn secrets_take_plain_text_and_keep_their_type() {
        let secret = builtin(Flavour::Secret);
        let mut object = json!({"stringData": {"a": "x"}, "data": {"b": "eQ=="}});
        assert!(complete(&secret, &mut object, None).is_empty());
        assert_eq!(object, json!({"data": {"a": "eA==", "b": "eQ=="}, "type": "Opaque"}));
        let mut changed = json!({"type": "other"});
        assert_eq!(complete(&secret, &mut changed, Some(&object)).len(), 1);
    }
}
