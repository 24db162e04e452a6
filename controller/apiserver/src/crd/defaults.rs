//! Whether the defaults of a schema are values that the schema takes.

use serde_json::{Map, Value};

use super::place::Place;
use crate::schema::{self, Schema};
use crate::status::Cause;

/// Adds the faults of every default. `parsed` is the same schema.
pub(super) fn check(json: &Value, parsed: &Schema, place: &Place<'_>, causes: &mut Vec<Cause>) {
    if let Some(default) = json.get("default").filter(|default| !default.is_null()) {
        check_one(parsed, default, &place.child("default").path(), causes);
    }
    // Not inside additionalProperties: a default has no place there.
    if let (Some(items), Some(inner)) = (json.get("items"), parsed.element()) {
        check(items, inner, &place.child("items"), causes);
    }
    let properties = place.child("properties");
    for (name, json) in json.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter) {
        if let Some(inner) = parsed.property(name) {
            check(json, inner, &properties.key(name), causes);
        }
    }
}

fn check_one(parsed: &Schema, default: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut pruned = default.clone();
    schema::prune_value(parsed, &mut pruned);
    if pruned != *default {
        causes.push(Cause::invalid(path, default, "must not have unknown fields"));
    }
    let start = causes.len();
    schema::check_value(parsed, default, None, path, causes);
    if causes.len() == start {
        schema::check_rules(parsed, default, path, causes);
    }
}
