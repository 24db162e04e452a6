//! Strategic merge patch, for the lists that the built-in kinds here have: `metadata.ownerReferences` (by uid) and
//! `metadata.finalizers` (a set). All other lists are replaced whole, as their upstream definitions say.

use serde_json::{Map, Value};

/// Applies a strategic merge patch.
pub(super) fn merge(target: &mut Value, patch: Value) {
    match patch {
        Value::Object(patch) => merge_object(target, patch),
        other => *target = other,
    }
}

fn merge_object(target: &mut Value, patch: Map<String, Value>) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(fields) = target.as_object_mut() else { return };
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *fields = patch.into_iter().filter(|(name, _)| name != "$patch").collect();
            return;
        }
        Some("delete") => {
            fields.clear();
            return;
        }
        _ => {}
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            remove_items(fields.get_mut(list), &value);
        } else if name.starts_with('$') {
            // Ordering hints; the lists here have no meaningful order.
        } else if value.is_null() {
            fields.remove(&name);
        } else {
            let slot = fields.entry(name.clone()).or_insert(Value::Null);
            match (name.as_str(), value) {
                ("finalizers", Value::Array(items)) => merge_set(slot, items),
                ("ownerReferences", Value::Array(items)) => merge_by_uid(slot, items),
                (_, value) => merge(slot, value),
            }
        }
    }
}

fn as_list(slot: &mut Value) -> Option<&mut Vec<Value>> {
    if !slot.is_array() {
        *slot = Value::Array(Vec::new());
    }
    slot.as_array_mut()
}

fn remove_items(list: Option<&mut Value>, items: &Value) {
    if let (Some(list), Some(items)) = (list.and_then(Value::as_array_mut), items.as_array()) {
        list.retain(|item| !items.contains(item));
    }
}

fn merge_set(slot: &mut Value, items: Vec<Value>) {
    let Some(list) = as_list(slot) else { return };
    for item in items {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

fn merge_by_uid(slot: &mut Value, items: Vec<Value>) {
    let Some(list) = as_list(slot) else { return };
    if items.iter().any(|item| item.get("$patch").and_then(Value::as_str) == Some("replace")) {
        list.clear();
    }
    for item in items {
        let (uid, directive) = (item.get("uid").cloned(), item.get("$patch").and_then(Value::as_str));
        match directive {
            Some("replace") if uid.is_none() => {}
            Some("delete") => list.retain(|known| known.get("uid") != uid.as_ref()),
            _ => match list.iter_mut().find(|known| known.get("uid") == uid.as_ref()) {
                Some(known) => merge(known, item),
                None => list.push(item),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merges_as_kubectl_expects() {
        let cases = [
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": null, "d": 3}}), json!({"a": {"c": 2, "d": 3}})),
            (json!({"a": {"b": 1}}), json!({"a": {"$patch": "replace", "c": 2}}), json!({"a": {"c": 2}})),
            (json!({"l": [1, 2]}), json!({"l": [3]}), json!({"l": [3]})),
            (
                json!({"finalizers": ["a", "b"]}),
                json!({"$setElementOrder/finalizers": ["b", "c"], "$deleteFromPrimitiveList/finalizers": ["a"],
                       "finalizers": ["c"]}),
                json!({"finalizers": ["b", "c"]}),
            ),
            (
                json!({"ownerReferences": [{"uid": "1", "n": "x"}, {"uid": "2"}]}),
                json!({"ownerReferences": [{"uid": "1", "n": "y"}, {"$patch": "delete", "uid": "2"}, {"uid": "3"}]}),
                json!({"ownerReferences": [{"uid": "1", "n": "y"}, {"uid": "3"}]}),
            ),
        ];
        for (mut target, patch, wanted) in cases {
            merge(&mut target, patch.clone());
            assert_eq!(target, wanted, "{patch}");
        }
    }
}
