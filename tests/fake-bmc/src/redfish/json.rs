//! Small readers of JSON, which in dumps may be anything.

use serde_json::{Map, Value};

/// The schema of a resource: `ComputerSystem` of `#ComputerSystem.v1_20_0.ComputerSystem`.
pub(super) fn kind(body: &Value) -> &str {
    let name = text(body, "@odata.type").unwrap_or_default().trim_start_matches('#');
    name.split('.').next().unwrap_or_default()
}

/// A property that is a string.
pub(super) fn text<'body>(body: &'body Value, key: &str) -> Option<&'body str> {
    body.get(key)?.as_str()
}

/// The path that a link property names, without a trailing slash.
pub(super) fn link(body: &Value, key: &str) -> Option<String> {
    Some(clean(text(body.get(key)?, "@odata.id")?))
}

/// The paths of a collection's members.
pub(super) fn members(body: &Value) -> Vec<String> {
    let members = body.get("Members").and_then(Value::as_array);
    members.into_iter().flatten().filter_map(|member| text(member, "@odata.id").map(clean)).collect()
}

/// A path without query, fragment and trailing slash.
pub(super) fn clean(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.trim_end_matches('/').to_owned()
}

/// Merges as RFC 7396 says, except that null is a value: Redfish has no deletion of properties.
pub(super) fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

/// Sets a property of an object; of nothing else.
pub(super) fn set(body: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(object) = body.as_object_mut() {
        object.insert(key.to_owned(), value.into());
    }
}

/// Sets a property if the object has it: what a model does not show, no write makes it show.
pub(super) fn replace(body: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(held) = body.get_mut(key) {
        *held = value.into();
    }
}

/// Visits every object in a value.
pub(super) fn objects(value: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            visit(object);
            object.values_mut().for_each(|value| objects(value, visit));
        }
        Value::Array(array) => array.iter_mut().for_each(|value| objects(value, visit)),
        _ => {}
    }
}

/// A link.
pub(super) fn reference(path: &str) -> Value {
    serde_json::json!({ "@odata.id": path })
}

/// Replaces the members of a collection and their counts.
pub(super) fn set_members(body: &mut Value, paths: &[String]) {
    set(body, "Members@odata.count", paths.len());
    set(body, "Members", paths.iter().map(|path| reference(path)).collect::<Vec<_>>());
}
