//! How a schema's list and map extensions go together.

use serde_json::{Value, json};

use super::place::Place;
use super::text;
use crate::status::Cause;

/// Adds the faults of one schema's `x-kubernetes-preserve-unknown-fields`, `-map-type`, `-list-type` and
/// `-list-map-keys`.
pub(super) fn check(schema: &Value, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let path = |name: &str| place.child(name).path();
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let detail = "must be true or undefined";
        causes.push(Cause::invalid(&path("x-kubernetes-preserve-unknown-fields"), &false.into(), detail));
    }
    let kind = text(schema, "/type");
    let (map_type, list_type) = (schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type"));
    if map_type.is_some() {
        must_be("object", "x-kubernetes-map-type", kind, place, causes);
    }
    if let Some(found) = map_type.filter(|found| !["atomic", "granular"].iter().any(|known| found == known)) {
        let known = ["atomic".into(), "granular".into()];
        causes.push(Cause::unsupported(&path("x-kubernetes-map-type"), found, &known));
    }
    if list_type.is_some()
        && must_be("array", "x-kubernetes-list-type", kind, place, causes)
        && list_type == Some(&json!("set"))
    {
        check_set_items(schema, place, causes);
    }
    if let Some(found) = list_type.filter(|found| !["atomic", "set", "map"].iter().any(|known| found == known)) {
        let known = ["atomic".into(), "set".into(), "map".into()];
        causes.push(Cause::unsupported(&path("x-kubernetes-list-type"), found, &known));
    }
    let keys =
        schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_map = list_type == Some(&json!("map"));
    if !keys.is_empty() && !is_map {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        causes.push(match list_type {
            None => Cause::required_as(&path("x-kubernetes-list-type"), detail),
            Some(found) => Cause::invalid(&path("x-kubernetes-list-type"), found, detail),
        });
    }
    if is_map {
        check_map(schema, keys, place, causes);
    }
    if is_map || list_type == Some(&json!("set")) {
        check_items(schema, keys, is_map, place, causes);
    }
}

fn must_be(wanted: &str, extension: &str, kind: &str, place: &Place<'_>, causes: &mut Vec<Cause>) -> bool {
    let path = place.child("type").path();
    let detail = format!("must be {wanted} if {extension} is specified");
    match kind {
        kind if kind == wanted => return true,
        "" => causes.push(Cause::required_as(&path, &detail)),
        kind => causes.push(Cause::invalid(&path, &kind.into(), &detail)),
    }
    false
}

fn check_set_items(schema: &Value, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else { return };
    let place = place.child("items");
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let list_type = items.get("x-kubernetes-list-type");
    match text(items, "/type") {
        "array" if list_type.is_some_and(|found| found != "atomic") => {
            let found = list_type.cloned().unwrap_or_default();
            causes.push(Cause::invalid(&place.child("x-kubernetes-list-type").path(), &found, detail));
        }
        "object" if text(items, "/x-kubernetes-map-type") != "atomic" => {
            let found = list_type.cloned().unwrap_or_default();
            causes.push(Cause::invalid(&place.child("x-kubernetes-map-type").path(), &found, detail));
        }
        _ => {}
    }
}

fn check_map(schema: &Value, keys: &[Value], place: &Place<'_>, causes: &mut Vec<Cause>) {
    let keys_path = place.child("x-kubernetes-list-map-keys").path();
    if keys.is_empty() {
        causes.push(Cause::required_as(&keys_path, "must not be empty if x-kubernetes-list-type is map"));
    }
    let Some(items) = schema.get("items") else {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        causes.push(Cause::required_as(&place.child("items").path(), detail));
        return;
    };
    let kind = text(items, "/type");
    let items_place = place.child("items");
    if !items.is_object() {
        let detail = "must only have a single schema if x-kubernetes-list-type is map";
        causes.push(Cause::invalid_hidden(&items_place.path(), detail));
        return;
    }
    if kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        causes.push(Cause::invalid(&items_place.child("type").path(), &kind.into(), detail));
        return;
    }
    let mut seen: Vec<&Value> = Vec::new();
    for key in keys {
        let name = key.as_str().unwrap_or_default();
        match items.get("properties").and_then(|properties| properties.get(name)) {
            Some(field) if matches!(text(field, "/type"), "array" | "object") => {
                let properties = items_place.child("properties");
                let path = properties.key(name).child("type").path();
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                causes.push(Cause::invalid(&path, &kind.into(), detail));
            }
            Some(_) => {}
            None => {
                causes.push(Cause::invalid(&keys_path, &keys.into(), "entries must all be names of item properties"));
            }
        }
        if seen.contains(&key) {
            causes.push(Cause::invalid(&keys_path, &keys.into(), "must not contain duplicate entries"));
        }
        seen.push(key);
    }
}

/// Elements are there, and so are their keys.
fn check_items(schema: &Value, keys: &[Value], is_map: bool, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else { return };
    let place = place.child("items");
    let nullable = |schema: &Value| schema.get("nullable") == Some(&Value::Bool(true));
    if nullable(items) {
        let list_type = if is_map { "map" } else { "set" };
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        causes.push(Cause::forbidden(&place.child("nullable").path(), &detail));
    }
    let required = items.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let properties = place.child("properties");
    for key in keys.iter().filter(|_| is_map) {
        let name = key.as_str().unwrap_or_default();
        let Some(field) = items.get("properties").and_then(|properties| properties.get(name)) else { continue };
        let place = properties.key(name);
        if !required.contains(key) && field.get("default").is_none() {
            let detail =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            causes.push(Cause::required_as(&place.child("default").path(), detail));
        }
        if nullable(field) {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            causes.push(Cause::forbidden(&place.child("nullable").path(), detail));
        }
    }
}
