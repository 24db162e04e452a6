//! Reading and writing the metadata of an object held as JSON. The one place that knows where Kubernetes keeps names,
//! versions, owners and finalizers; it knows nothing of resources or storage.

use serde_json::{Map, Value};

use crate::status::ApiError;

/// A string inside `metadata`, empty when absent or of another type.
fn meta_str<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|m| m.get(field)).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    meta_str(object, "name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    meta_str(object, "namespace")
}

pub(crate) fn uid(object: &Value) -> &str {
    meta_str(object, "uid")
}

pub(crate) fn resource_version(object: &Value) -> &str {
    meta_str(object, "resourceVersion")
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !meta_str(object, "deletionTimestamp").is_empty()
}

pub(crate) fn generation(object: &Value) -> i64 {
    object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default()
}

pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// An owner as a dependent names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnerRef<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    /// The owner waits for this dependent when it is deleted in the foreground.
    pub(crate) blocks: bool,
}

pub(crate) fn owners(object: &Value) -> impl Iterator<Item = OwnerRef<'_>> {
    let list = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    list.into_iter().flatten().map(|owner| {
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        let blocks = owner.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or_default();
        OwnerRef { api_version: text("apiVersion"), kind: text("kind"), name: text("name"), uid: text("uid"), blocks }
    })
}

/// The metadata map, created when missing. `None` when the object is no JSON object or its metadata is not one.
pub(crate) fn meta_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    metadata.as_object_mut()
}

pub(crate) fn set_meta(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(metadata) = meta_mut(object) {
        metadata.insert(field.to_owned(), value.into());
    }
}

pub(crate) fn set_field(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

pub(crate) fn remove_field(object: &mut Value, field: &str) -> Option<Value> {
    object.as_object_mut().and_then(|fields| fields.remove(field))
}

/// Drops the owner references for which `gone` holds, and the list itself once it is empty.
pub(crate) fn drop_owners(object: &mut Value, gone: impl Fn(&str) -> bool) {
    let Some(metadata) = meta_mut(object) else { return };
    let Some(list) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) else { return };
    list.retain(|owner| !owner.get("uid").and_then(Value::as_str).is_some_and(&gone));
    if list.is_empty() {
        metadata.remove("ownerReferences");
    }
}

/// Makes whole numbers of floats that are whole, since that is how upstream writes them.
pub(crate) fn shorten_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            // Where floats stop holding every whole number, their text is all there is to say.
            if float.fract() == 0.0
                && float.abs() < 9e15
                && let Ok(whole) = float.to_string().parse::<i64>()
            {
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_numbers),
        Value::Object(fields) => fields.values_mut().for_each(shorten_numbers),
        _ => {}
    }
}

/// Checks that an object has the name that the request's path has.
pub(crate) fn check_name(object: &Value, wanted: &str) -> Result<(), ApiError> {
    let found = name(object);
    if found.is_empty() {
        let why = format!("the name of the object ({wanted} based on URL) was undeterminable: name must be provided");
        return Err(ApiError::bad_request(why));
    }
    if found != wanted {
        let why = format!("the name of the object ({found}) does not match the name on the URL ({wanted})");
        return Err(ApiError::bad_request(why));
    }
    Ok(())
}

/// Now, as Kubernetes writes times: RFC 3339, UTC, whole seconds.
pub(crate) fn timestamp_now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
