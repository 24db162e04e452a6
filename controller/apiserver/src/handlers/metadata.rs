//! The rules of `metadata`: which fields it has, which shapes they take, which of them the server owns.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::Call;
use crate::object;
use crate::registry::{Flavour, Resource};
use crate::schema::{self, Schema};
use crate::status::{ApiError, Cause};

/// Fields that a client's write never changes.
const SERVER_OWNED: &[&str] =
    &["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "namespace"];

static SHAPE: LazyLock<Schema> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let map = json!({"type": "object", "additionalProperties": text});
    let label = json!({"type": "string", "maxLength": 63, "pattern": "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"});
    let owner = json!({
        "type": "object", "required": ["apiVersion", "kind", "name", "uid"],
        "properties": {
            "apiVersion": text, "kind": text, "name": text, "uid": text,
            "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
        },
    });
    let schema = json!({"type": "object", "properties": {
        "name": text, "generateName": text, "namespace": text, "uid": text, "resourceVersion": text,
        "generation": {"type": "integer"}, "creationTimestamp": text, "deletionTimestamp": text,
        "deletionGracePeriodSeconds": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": label}, "annotations": map,
        "ownerReferences": {"type": "array", "items": owner},
        "finalizers": {"type": "array", "items": {"type": "string", "minLength": 1}},
        "managedFields": {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": true}},
    }});
    Schema::parse(&schema).unwrap_or_else(|_| Schema::anything())
});

static SUBDOMAIN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SUBDOMAIN_PATTERN).ok());
const SUBDOMAIN_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const LONGEST_NAME: usize = 253;
const LONGEST_NAMESPACE: usize = 63;
/// Upstream cuts `generateName` so that prefix and suffix fit a label.
const LONGEST_PREFIX: usize = 58;

/// Checks that an object says of itself what the request's path says, and that its metadata has the right shape.
/// Unknown metadata fields are dropped; answers their paths.
pub(super) fn admit(call: &Call, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let resource = &call.resource;
    check_kind(resource, object)?;
    let Some(metadata) = object::meta_mut(object) else {
        return Err(ApiError::bad_request("metadata: must be an object"));
    };
    metadata.retain(|_, value| !value.is_null());
    // Links are gone from Kubernetes.
    metadata.remove("selfLink");
    if resource.namespaced {
        let found = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
        if !found.is_empty() && found != call.namespace {
            let why = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(ApiError::bad_request(why));
        }
        metadata.insert("namespace".to_owned(), call.namespace.as_str().into());
    } else {
        metadata.remove("namespace");
    }
    let mut whole = Value::Object(std::mem::take(metadata));
    let dropped = schema::prune(&SHAPE, &mut whole);
    let causes = schema::validate_at(&SHAPE, &whole, "metadata");
    object::set_field(object, "metadata", whole);
    if !causes.is_empty() {
        return Err(ApiError::invalid(resource.kind_subject(object::name(object)), causes));
    }
    Ok(dropped.into_iter().map(|path| format!("metadata.{path}")).collect())
}

fn check_kind(resource: &Resource, object: &Value) -> Result<(), ApiError> {
    if !object.is_object() {
        return Err(ApiError::bad_request("the body of the request must be one object"));
    }
    let said = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    if said("kind").is_empty() {
        return Err(ApiError::bad_request("Object 'Kind' is missing"));
    }
    let (version, wanted) = (said("apiVersion"), resource.api_version());
    if version != wanted {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({wanted})"
        )));
    }
    if said("kind") != resource.kind {
        let found = said("kind");
        let wanted = &resource.kind;
        return Err(ApiError::bad_request(format!(
            "the kind in the data ({found}) does not match the expected kind ({wanted})"
        )));
    }
    Ok(())
}

/// Gives a new object its name, identity and first generation.
pub(super) fn begin(resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
    if !object::resource_version(object).is_empty() {
        return Err(ApiError::bad_request("resourceVersion should not be set on objects to be created"));
    }
    let Some(metadata) = object::meta_mut(object) else {
        return Err(ApiError::bad_request("metadata: must be an object"));
    };
    for field in SERVER_OWNED.iter().filter(|field| **field != "namespace") {
        metadata.remove(*field);
    }
    metadata.remove("resourceVersion");
    let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (mut name, prefix) = (text("name"), text("generateName"));
    if name.is_empty() {
        if prefix.is_empty() {
            let cause = Cause::required("metadata.name");
            return Err(ApiError::invalid(resource.kind_subject(""), vec![cause]));
        }
        let prefix: String = prefix.chars().take(LONGEST_PREFIX).collect();
        name = format!("{prefix}{}", suffix());
        metadata.insert("name".to_owned(), name.as_str().into());
    }
    check_name(resource, &name)?;
    metadata.insert("uid".to_owned(), uuid::Uuid::new_v4().to_string().into());
    metadata.insert("creationTimestamp".to_owned(), object::timestamp_now().into());
    if counts_generations(resource) {
        metadata.insert("generation".to_owned(), 1.into());
    }
    Ok(())
}

fn check_name(resource: &Resource, name: &str) -> Result<(), ApiError> {
    let longest = if resource.flavour == Flavour::Namespace { LONGEST_NAMESPACE } else { LONGEST_NAME };
    let fits = SUBDOMAIN.as_ref().is_none_or(|pattern| pattern.is_match(name));
    let problem = if name.len() > longest {
        format!("must be no more than {longest} bytes")
    } else if !fits || (resource.flavour == Flavour::Namespace && name.contains('.')) {
        format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{}')",
            SUBDOMAIN_PATTERN.trim_start_matches('^').trim_end_matches('$')
        )
    } else {
        return Ok(());
    };
    let cause = Cause::invalid("metadata.name", &name.into(), &problem);
    Err(ApiError::invalid(resource.kind_subject(name), vec![cause]))
}

/// Five characters without vowels and look-alikes, as upstream.
fn suffix() -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let random = uuid::Uuid::new_v4().into_bytes();
    random
        .iter()
        .take(5)
        .filter_map(|byte| LETTERS.get(usize::from(*byte) % LETTERS.len()))
        .map(|b| char::from(*b))
        .collect()
}

/// Which kinds count the changes of their spec.
pub(super) fn counts_generations(resource: &Resource) -> bool {
    resource.is_custom() || resource.flavour == Flavour::Definition
}

/// Puts the fields that the server owns back to what they were.
pub(super) fn keep_server_owned(object: &mut Value, old: &Value) {
    let Some(metadata) = object::meta_mut(object) else { return };
    for field in SERVER_OWNED.iter().chain(&["resourceVersion"]) {
        match old.get("metadata").and_then(|m| m.get(*field)) {
            Some(value) => metadata.insert((*field).to_owned(), value.clone()),
            None => metadata.remove(*field),
        };
    }
}

/// What an update may not do to metadata.
pub(super) fn check_update(resource: &Resource, object: &Value, old: &Value, is_patch: bool) -> Result<(), ApiError> {
    let name = object::name(old);
    let subject = || resource.subject(name);
    object::check_name(object, name)?;
    let (sent, now) = (object::uid(object), object::uid(old));
    if !sent.is_empty() && sent != now {
        if is_patch {
            // Upstream checks the metadata of custom objects twice.
            let cause = Cause::invalid("metadata.uid", &sent.into(), "field is immutable");
            let causes = vec![cause; if resource.is_custom() { 2 } else { 1 }];
            return Err(ApiError::invalid(resource.kind_subject(name), causes));
        }
        let why = format!("Precondition failed: UID in precondition: {sent}, UID in object meta: {now}");
        return Err(ApiError::conflict(subject(), &why));
    }
    let sent = object::resource_version(object);
    if !sent.is_empty() && sent != object::resource_version(old) {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        return Err(ApiError::conflict(subject(), why));
    }
    let added = |finalizer: &&str| !object::finalizers(old).any(|known| known == *finalizer);
    if object::is_deleting(old) && object::finalizers(object).any(|finalizer| added(&finalizer)) {
        let detail = "no new finalizers can be added if the object is being deleted";
        let cause = Cause::forbidden("metadata.finalizers", detail);
        return Err(ApiError::invalid(resource.kind_subject(name), vec![cause]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rfc() {
        let secrets = crate::builtin::resources().into_iter().find(|r| r.plural == "secrets").unwrap();
        for good in ["a", "a-b.c", "1"] {
            assert!(check_name(&secrets, good).is_ok(), "{good}");
        }
        for bad in ["A", "-a", "a.", "a/b", "ü", "", "a_b"] {
            assert!(check_name(&secrets, bad).is_err(), "{bad}");
        }
        assert!(check_name(&secrets, &"a".repeat(254)).is_err());
    }

    #[test]
    fn the_static_patterns_compile() {
        assert!(SUBDOMAIN.is_some());
        assert!(!schema::validate_at(&SHAPE, &json!({"labels": {"a": "-"}}), "metadata").is_empty());
        assert_eq!(suffix().len(), 5);
    }
}
