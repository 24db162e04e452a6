//! Lists of type set and map hold each element, or each key, once.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::super::Schema;
use super::super::path::Path;
use super::super::structure::ListType;
use crate::status::Cause;

/// Adds a fault for every second element of the same identity; a third is not reported again.
pub(super) fn check(schema: &Schema, value: &Value, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if !schema.inside.keyed || causes.len() >= super::MOST_CAUSES {
        return;
    }
    match value {
        Value::Object(fields) => {
            if let Some(inner) = &schema.additional {
                for (name, value) in fields {
                    check(inner, value, &path.key(name), causes);
                }
            }
            for (name, value) in fields {
                if let Some(inner) = schema.properties.get(name) {
                    check(inner, value, &path.field(name), causes);
                }
            }
        }
        Value::Array(items) => {
            match &schema.list {
                ListType::Atomic => {}
                ListType::Set => repeated(items.iter().cloned(), path, causes),
                ListType::Map(keys) => check_map(keys, items, path, causes),
            }
            if let Some(inner) = &schema.items {
                for (at, item) in items.iter().enumerate() {
                    check(inner, item, &path.index(at), causes);
                }
            }
        }
        _ => {}
    }
}

fn check_map(keys: &[String], items: &[Value], path: &Path<'_>, causes: &mut Vec<Cause>) {
    let wrong = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null());
    if let Some((at, item)) = wrong {
        let detail = "must be an object for an array of list-type map";
        causes.push(Cause::invalid(&path.index(at).bracketed(), item, detail));
        return;
    }
    let identity = |item: &Value| {
        let pairs = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
        Value::Object(pairs.collect::<Map<_, _>>())
    };
    repeated(items.iter().map(identity), path, causes);
}

fn repeated(identities: impl Iterator<Item = Value>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let mut seen: HashMap<String, u32> = HashMap::new();
    for (at, identity) in identities.enumerate() {
        let times = seen.entry(identity.to_string()).or_default();
        if *times == 1 {
            causes.push(Cause::duplicate(&path.index(at).bracketed(), &identity));
        }
        *times = times.saturating_add(1);
    }
}
