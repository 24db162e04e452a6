//! The rules of `metadata`: which fields it has, which shapes they take, which of them the server owns.

mod rules;
mod shape;

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Call, patch};
use crate::apply::metadata_schema;
use crate::builtin::{Message, decode};
use crate::gotext;
use crate::object;
use crate::registry::{Flavour, Resource};
use crate::schema;
use crate::status::{ApiError, Cause, Subject};

/// Fields that a client's write never changes.
const SERVER_OWNED: &[&str] = &["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];
/// Collections that upstream does not keep when nothing is in them.
const LEFT_OUT: &[&str] = &["annotations", "finalizers", "labels", "ownerReferences"];
/// Upstream cuts `generateName` so that prefix and suffix fit a label.
const LONGEST_PREFIX: usize = 58;
/// Names tried before the client is told to come back.
const NAME_ATTEMPTS: usize = 8;

/// Kinds of every group that upstream knows and does not store.
const UNSTORED: &[&str] = &[
    "Status",
    "DeleteOptions",
    "CreateOptions",
    "UpdateOptions",
    "PatchOptions",
    "GetOptions",
    "ListOptions",
    "WatchEvent",
];

/// Where an object comes from, which decides how a client is told that it cannot be read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// The body of a request.
    Body(&'a [u8]),
    /// What a patch made of a stored object, as JSON.
    Patch(&'a str),
    /// The server itself, or an apply that checked it already.
    Trusted,
}

/// Checks that an object says of itself what the request's path says, and that its metadata can be read. Unknown
/// metadata fields are dropped; answers their paths, and warnings.
pub(super) fn admit(
    call: &Call,
    object: &mut Value,
    source: Source<'_>,
) -> Result<(Vec<String>, Vec<String>), ApiError> {
    let resource = &call.resource;
    check_kind(call, object, source)?;
    let metadata = object.get("metadata").filter(|metadata| !metadata.is_null());
    if let Some(why) = metadata.and_then(shape::unreadable) {
        return Err(match source {
            Source::Patch(shown) => patch::unfit(shown, &why),
            _ => call.cannot_be_handled(&why),
        });
    }
    if object.get("metadata").is_some_and(Value::is_null) {
        object::set_field(object, "metadata", Value::Object(Map::new()));
    }
    let Some(metadata) = object::meta_mut(object) else {
        return Err(ApiError::bad_request("metadata: must be an object"));
    };
    metadata.retain(|name, value| !(value.is_null() || LEFT_OUT.contains(&name.as_str()) && is_empty(value)));
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
    let warnings = drop_repeated_owners(metadata).into_iter().collect();
    let mut whole = Value::Object(std::mem::take(metadata));
    let dropped = schema::prune(metadata_schema(), &mut whole);
    object::set_field(object, "metadata", whole);
    Ok((dropped.into_iter().map(|path| format!("metadata.{path}")).collect(), warnings))
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
}

/// An owner named twice is named once; answers a warning.
fn drop_repeated_owners(metadata: &mut Map<String, Value>) -> Option<String> {
    let owners = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut)?;
    let (mut repeated, mut seen) = (Vec::new(), HashSet::new());
    let is_new: Vec<bool> = owners.iter().map(|owner| seen.insert(owner)).collect();
    for (owner, _) in owners.iter().zip(&is_new).filter(|(_, is_new)| !**is_new) {
        repeated.push(owner.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned());
    }
    let mut is_new = is_new.into_iter();
    owners.retain(|_| is_new.next().unwrap_or(true));
    (!repeated.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
             reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            repeated.join(", ")
        )
    })
}

fn check_kind(call: &Call, object: &Value, source: Source<'_>) -> Result<(), ApiError> {
    let resource = &call.resource;
    let said = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (said("apiVersion"), said("kind"));
    if kind.is_empty() {
        return Err(match source {
            Source::Patch(shown) => patch::unfit(shown, &format!("Object 'Kind' is missing in '{shown}'")),
            Source::Body(bytes) => {
                let body = String::from_utf8_lossy(bytes);
                crate::request::unrecognized(&resource.kind, &format!("Object 'Kind' is missing in '{body}'"), bytes)
            }
            Source::Trusted => ApiError::bad_request("Object 'Kind' is missing"),
        });
    }
    let wanted = resource.api_version();
    if let Some(message) = resource.message.filter(|_| kind != resource.kind || version != wanted)
        && !(matches!(source, Source::Body(_)) && is_other_version(resource, kind, version))
    {
        let why = unlike(resource, message, object);
        let short = version.rsplit('/').next().unwrap_or(version);
        return Err(match source {
            Source::Patch(shown) => patch::unfit(shown, &why),
            _ => ApiError::bad_request(format!(
                "{kind} in version {short:?} cannot be handled as a {}: {why}",
                resource.kind
            )),
        });
    }
    let is_patch = matches!(source, Source::Patch(_));
    if version != wanted && !(is_patch && resource.is_custom()) {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({wanted})"
        )));
    }
    if kind == resource.kind && version == wanted {
        return Ok(());
    }
    // Upstream reads custom objects of any kind, and then finds that they are not valid.
    let mut causes = Vec::new();
    if kind != resource.kind {
        causes.push(Cause::invalid("kind", &kind.into(), &format!("must be {}", resource.kind)));
    }
    if version != wanted {
        causes.push(Cause::invalid("apiVersion", &version.into(), &format!("must be {wanted}")));
    }
    let group = version.split_once('/').map(|(group, _)| group).unwrap_or_default();
    let subject = Subject { group: group.into(), kind: kind.into(), name: object::name(object).into() };
    Err(ApiError::invalid(subject, causes))
}

/// Gives a new object its name, identity and first generation. `is_taken` says whether a name is in use.
pub(super) fn begin(resource: &Resource, object: &mut Value, is_taken: impl Fn(&str) -> bool) -> Result<(), ApiError> {
    if !object::resource_version(object).is_empty() {
        return Err(ApiError::unexplained("resourceVersion should not be set on objects to be created"));
    }
    let Some(metadata) = object::meta_mut(object) else {
        return Err(ApiError::bad_request("metadata: must be an object"));
    };
    for field in SERVER_OWNED {
        metadata.remove(*field);
    }
    // A kind that does not count generations keeps the one it was sent with.
    if counts_generations(resource) || metadata.get("generation").and_then(Value::as_i64) == Some(0) {
        metadata.remove("generation");
    }
    metadata.remove("resourceVersion");
    let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, prefix) = (text("name"), text("generateName"));
    if name.is_empty() && !prefix.is_empty() {
        let short: String = prefix.chars().take(LONGEST_PREFIX).collect();
        let mut names = (0..NAME_ATTEMPTS).map(|_| format!("{short}{}", suffix()));
        let Some(name) = names.find(|name| !is_taken(name)) else {
            return Err(ApiError::generated_name_taken(resource.subject(&format!("{short}{}", suffix()))));
        };
        metadata.insert("name".to_owned(), name.into());
    }
    metadata.insert("uid".to_owned(), uuid::Uuid::new_v4().to_string().into());
    metadata.insert("creationTimestamp".to_owned(), object::timestamp_now().into());
    if counts_generations(resource) {
        metadata.insert("generation".to_owned(), 1.into());
    }
    Ok(())
}

/// What is wrong with a new object's metadata.
pub(super) fn faults(resource: &Resource, object: &Value) -> Vec<Cause> {
    rules::on_create(resource, object)
}

/// What is wrong with the metadata of an object that replaces `old`.
pub(super) fn update_faults(resource: &Resource, new: &Value, old: &Value) -> Vec<Cause> {
    rules::on_update(resource, new, old)
}

/// What a client should know of new metadata that is good but odd.
pub(super) fn warnings(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<String> {
    rules::warnings(resource, new, old)
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
    resource.is_custom()
        || matches!(resource.flavour, Flavour::Definition | Flavour::ValidatingWebhook | Flavour::MutatingWebhook)
}

/// Puts the fields that the server owns back to what they were. A uid or time of deletion that the client made up stays,
/// to be refused.
pub(super) fn keep_server_owned(object: &mut Value, old: &Value) {
    let Some(metadata) = object::meta_mut(object) else { return };
    for field in ["generation", "creationTimestamp", "resourceVersion"] {
        restore(metadata, old, field);
    }
    for field in ["uid", "deletionGracePeriodSeconds"] {
        if !metadata.contains_key(field) {
            restore(metadata, old, field);
        }
    }
    if object::is_deleting(old) {
        restore(metadata, old, "deletionTimestamp");
    }
}

fn restore(metadata: &mut Map<String, Value>, old: &Value, field: &str) {
    match old.get("metadata").and_then(|metadata| metadata.get(field)) {
        Some(value) => metadata.insert(field.to_owned(), value.clone()),
        None => metadata.remove(field),
    };
}

/// Whether a write may replace `old` at all: same name, and the version and uid it names.
pub(super) fn check_update(resource: &Resource, object: &Value, old: &Value, is_patch: bool) -> Result<(), ApiError> {
    let name = object::name(old);
    let subject = || resource.subject(name);
    object::check_name(object, name)?;
    let (sent, now) = (object::uid(object), object::uid(old));
    if !is_patch && !sent.is_empty() && sent != now {
        return Err(ApiError::conflict(subject(), &uid_mismatch(resource, object::namespace(old), name, sent, now)));
    }
    let sent = version_of(object)?;
    if sent.is_empty() && !resource.takes_unversioned_updates() {
        let detail = "must be specified for an update";
        let cause = Cause::invalid("metadata.resourceVersion", &0.into(), detail);
        return Err(ApiError::invalid(subject(), vec![cause]));
    }
    if !sent.is_empty() && sent != object::resource_version(old) {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        return Err(ApiError::conflict(subject(), why));
    }
    Ok(())
}

/// The version that an object names; empty when it names none.
pub(super) fn version_of(object: &Value) -> Result<&str, ApiError> {
    let sent = object::resource_version(object);
    if !sent.is_empty() && sent.parse::<u64>().is_err() {
        let why = format!("strconv.ParseUint: parsing {}: invalid syntax", gotext::quoted(sent));
        return Err(ApiError::unexplained(why));
    }
    Ok(sent)
}

/// The words in which upstream's storage says that an object is another one than the client thinks.
pub(super) fn uid_mismatch(resource: &Resource, namespace: &str, name: &str, sent: &str, found: &str) -> String {
    let group = if resource.is_custom() { format!("{}/", resource.group) } else { String::new() };
    let slash = if namespace.is_empty() { "" } else { "/" };
    let key = format!("/registry/{group}{}/{namespace}{slash}{name}", resource.plural);
    format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
         UID in precondition: {sent}, UID in object meta: {found}"
    )
}

/// Versions of built-in groups that upstream knows and does not serve: it reads them, and then sees that they are others
/// than the path's.
const UNSERVED: &[(&str, &[&str])] = &[
    ("admissionregistration.k8s.io", &["v1beta1"]),
    ("apiextensions.k8s.io", &["v1beta1"]),
    ("authentication.k8s.io", &["v1beta1", "v1alpha1"]),
    ("authorization.k8s.io", &["v1beta1"]),
    ("coordination.k8s.io", &["v1beta1"]),
    ("events.k8s.io", &["v1beta1", "v1"]),
    ("rbac.authorization.k8s.io", &["v1beta1", "v1alpha1"]),
    ("", &["v1"]),
];

/// Whether this is the resource's own kind in another version that upstream knows.
fn is_other_version(resource: &Resource, kind: &str, version: &str) -> bool {
    let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
    let is_event = |group: &str| matches!(group, "" | "events.k8s.io");
    let same_group = group == resource.group || (kind == "Event" && is_event(group) && is_event(&resource.group));
    let known = UNSERVED.iter().any(|(of, versions)| *of == group && versions.contains(&version));
    kind == resource.kind && same_group && known
}

/// Why an object of another kind or version cannot stand where one of a built-in kind belongs.
fn unlike(resource: &Resource, message: &Message, object: &Value) -> String {
    let said = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (said("apiVersion"), said("kind"));
    let package = message.go_package();
    let named = |kind: &str| Message::named(&format!("{package}.v1.{kind}"));
    let is_list = kind.strip_suffix("List").is_some_and(|item| named(item).is_some());
    let is_known = named(kind).is_some() || is_list || UNSTORED.contains(&kind) || kind == "List" && package == "core";
    if version != resource.api_version() || !is_known {
        let scheme = "in scheme \"pkg/runtime/scheme.go:111\"";
        return format!("no kind \"{kind}\" is registered for version \"{version}\" {scheme}");
    }
    // It is read as what it says it is before that turns out to be the wrong thing.
    let misread = named(kind).and_then(|known| decode::check(known, object).err());
    misread.unwrap_or_else(|| format!("converting (v1.{kind}) to ({package}.{}): unknown conversion", resource.kind))
}
