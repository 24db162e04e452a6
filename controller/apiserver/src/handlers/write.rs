//! What all writes share: admission (shape, unknown fields, defaults) before the transaction, and replacing a stored
//! object by a new one inside it.

use std::sync::Arc;

use serde_json::Value;

use super::{Call, Part, metadata};
use crate::flavour;
use crate::lifecycle;
use crate::object;
use crate::registry::{Flavour, Resource};
use crate::schema::{self, Subject};
use crate::status::{ApiError, Cause};
use crate::store::Txn;

/// Largest object stored, in bytes; etcd's limit.
const OBJECT_LIMIT: usize = 1536 * 1024;

/// Deepest nesting of an object stored. Readers of JSON stop at 128, and a list wraps its objects twice.
pub(super) const DEPTH_LIMIT: usize = 120;

/// Brings an object that a client sent into the form that may be stored: right kind, known fields, defaults filled in.
/// Answers a warning for each field that was dropped.
pub(super) fn admit(call: &Call, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let mut unknown = metadata::admit(call, object)?;
    unknown.extend(schema::prune(&call.resource.schema, object));
    if let Some(why) = schema::unreadable(&call.resource.schema, object) {
        let (kind, version) = (&call.resource.kind, &call.resource.version);
        let message = format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}");
        return Err(ApiError::bad_request(message));
    }
    schema::drop_nulls(&call.resource.schema, object);
    schema::default(&call.resource.schema, object);
    let named = |path: &String| format!("unknown field \"{path}\"");
    match call.query.get("fieldValidation") {
        "Strict" if !unknown.is_empty() => {
            let fields = unknown.iter().map(named).collect::<Vec<_>>().join(", ");
            Err(ApiError::bad_request(format!("strict decoding error: {fields}")))
        }
        "" | "Warn" => Ok(unknown.iter().map(named).collect()),
        "Ignore" | "Strict" => Ok(Vec::new()),
        other => Err(ApiError::bad_request(format!("fieldValidation: Unsupported value: {other:?}"))),
    }
}

/// Refuses an object that breaks its schema, the rules of its kind, or the size limit.
/// `old` is what it replaces, whose faults are tolerated where they stay as they were.
pub(super) fn check(
    resource: &Resource,
    object: &Value,
    old: Option<&Value>,
    part: Part,
    mut causes: Vec<Cause>,
) -> Result<(), ApiError> {
    if is_deeper_than(object, DEPTH_LIMIT) {
        return Err(too_deep());
    }
    let subject = if part == Part::Status { Subject::Status } else { Subject::Whole };
    schema::validate(&resource.schema, object, old, subject, &mut causes);
    if !causes.is_empty() {
        return Err(ApiError::invalid(resource.kind_subject(object::name(object)), causes));
    }
    if object.to_string().len() > OBJECT_LIMIT {
        return Err(ApiError::too_large(OBJECT_LIMIT));
    }
    Ok(())
}

/// Whether `value` has a leaf below more than `levels` objects and lists. Goes no deeper than that itself.
pub(super) fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_object() || value.is_array() };
    match value {
        Value::Object(fields) => fields.values().any(|field| is_deeper_than(field, below)),
        Value::Array(items) => items.iter().any(|item| is_deeper_than(item, below)),
        _ => false,
    }
}

/// The refusal of such an object.
pub(super) fn too_deep() -> ApiError {
    ApiError::bad_request(format!("the object is nested deeper than {DEPTH_LIMIT} levels"))
}

/// The end of a write: what it left stored, or nothing of it when the client only wanted to see.
pub(super) fn finish<T>(
    txn: &mut Txn<'_>,
    dry_run: bool,
    write: impl FnOnce(&mut Txn<'_>) -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    let start = txn.savepoint();
    let result = write(txn);
    if dry_run {
        txn.roll_back(start);
    }
    result
}

/// The stored object, or 404.
pub(super) fn stored(txn: &Txn<'_>, resource: &Resource, namespace: &str, name: &str) -> Result<Arc<Value>, ApiError> {
    txn.get(&resource.key(namespace, name)).ok_or_else(|| ApiError::not_found(resource.subject(name)))
}

/// Replaces the stored `current` by the admitted, served `new`. A write that changes nothing stores nothing, and the
/// last finalizer of an object in deletion takes the object with it.
pub(super) fn replace(
    txn: &mut Txn<'_>,
    resource: &Resource,
    current: &Arc<Value>,
    mut new: Value,
    part: Part,
) -> Result<Arc<Value>, ApiError> {
    let old = flavour::to_served(resource, Value::clone(current))?;
    metadata::check_update(resource, &new, &old)?;
    if part == Part::Status {
        let status = object::remove_field(&mut new, "status");
        new = old.clone();
        put_status(&mut new, status);
    } else {
        metadata::keep_server_owned(&mut new, &old);
        if resource.has_status {
            put_status(&mut new, old.get("status").cloned());
        }
    }
    let causes = if part == Part::Main { flavour::complete(resource, &mut new, Some(&old)) } else { Vec::new() };
    if metadata::counts_generations(resource) && spec_changed(resource, &old, &new) {
        object::set_meta(&mut new, "generation", object::generation(&old).saturating_add(1));
    }
    check(resource, &new, Some(&old), part, causes)?;

    let key = resource.key(object::namespace(&old), object::name(&old));
    let new = flavour::to_stored(resource, new)?;
    if new == **current {
        return Ok(Arc::clone(current));
    }
    if object::is_deleting(&new) && object::finalizers(&new).next().is_none() {
        let last = txn.put(key.clone(), new);
        // A namespace has its contents to wait for, too.
        if resource.flavour == Flavour::Namespace {
            lifecycle::finish_namespace(txn, &key.name);
            return Ok(txn.get(&key).unwrap_or(last));
        }
        return Ok(txn.delete(key).unwrap_or(last));
    }
    Ok(txn.put(key, new))
}

fn put_status(object: &mut Value, status: Option<Value>) {
    match status {
        Some(status) => object::set_field(object, "status", status),
        None => {
            object::remove_field(object, "status");
        }
    }
}

/// Whether anything but metadata (and a status with its own path) differs.
fn spec_changed(resource: &Resource, old: &Value, new: &Value) -> bool {
    let counted = |name: &str| name != "metadata" && !(resource.has_status && name == "status");
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return true };
    let fields = old.keys().chain(new.keys()).filter(|name| counted(name));
    fields.into_iter().any(|name| old.get(name) != new.get(name))
}
