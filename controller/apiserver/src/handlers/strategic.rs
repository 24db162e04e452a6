//! Strategic merge patch: a merge patch whose lists merge as the schema says (by a key, as a set, or not at all), with
//! directives for replacing, deleting, ordering and keeping. Built-in kinds only.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::apply::metadata_schema;
use crate::gotext;
use crate::schema::Schema;
use crate::status::ApiError;

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const SET_ORDER: &str = "$setElementOrder/";

type Fields = Map<String, Value>;

/// Applies a strategic merge patch to an object of the schema.
pub(super) fn merge(schema: &Schema, target: &mut Value, patch: Value) -> Result<(), ApiError> {
    let (Some(target), Value::Object(patch)) = (target.as_object_mut(), patch) else {
        return Err(ApiError::bad_request("invalid JSON document"));
    };
    merge_object(Node { schema: Some(schema), is_object: true }, target, patch)
}

/// A place in the schema; unknown places merge like plain JSON.
#[derive(Clone, Copy)]
struct Node<'a> {
    schema: Option<&'a Schema>,
    /// The place holds a whole object, with metadata of its own.
    is_object: bool,
}

impl<'a> Node<'a> {
    fn field(self, name: &str) -> Node<'a> {
        let schema = if self.is_object && name == "metadata" {
            Some(metadata_schema())
        } else {
            self.schema.and_then(|schema| schema.field(name))
        };
        Node { schema, is_object: false }
    }

    fn item(self) -> Node<'a> {
        Node { schema: self.schema.and_then(Schema::element), is_object: false }
    }

    fn merges(self) -> bool {
        self.schema.is_some_and(|schema| schema.patch_strategy().merge)
    }

    fn merge_key(self) -> &'a str {
        self.schema.map(|schema| schema.patch_strategy().merge_key.as_str()).unwrap_or_default()
    }
}

fn merge_object(node: Node<'_>, target: &mut Fields, mut patch: Fields) -> Result<(), ApiError> {
    match patch.get(PATCH) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            patch.remove(PATCH);
            *target = patch;
            return Ok(());
        }
        Some(Value::String(directive)) if directive == "delete" => {
            target.clear();
            return Ok(());
        }
        Some(other) => return Err(unknown_directive(other, Value::Object(patch.clone()))),
    }
    retain_keys(target, &mut patch)?;
    merge_ordered(node, target, &mut patch)?;
    for (key, value) in patch {
        let (name, deletes) = match key.strip_prefix(DELETE_FROM) {
            Some(name) => (name.to_owned(), true),
            None if key.starts_with("$deleteFromPrimitiveList") => {
                return Err(ApiError::bad_request("invalid patch format of primitive list"));
            }
            None => (key, false),
        };
        if value.is_null() {
            target.remove(&name);
            continue;
        }
        merge_field(node.field(&name), target, name, value, deletes)?;
    }
    Ok(())
}

fn merge_field(node: Node<'_>, target: &mut Fields, name: String, value: Value, deletes: bool) -> Result<(), ApiError> {
    match (target.get_mut(&name), value) {
        (Some(Value::Object(found)), Value::Object(patch)) => merge_object(node, found, patch),
        (Some(Value::Array(found)), Value::Array(patch)) => {
            if deletes {
                let gone: HashSet<&Value> = patch.iter().collect();
                found.retain(|item| !gone.contains(item));
            } else if node.merges() {
                let before = std::mem::take(found);
                *found = merge_list(node, before, patch)?;
            } else {
                *found = patch;
            }
            Ok(())
        }
        (_, _) if deletes => Ok(()),
        (_, value) => {
            match plain(value) {
                Some(value) => target.insert(name, value),
                None => target.remove(&name),
            };
            Ok(())
        }
    }
}

/// A patch value that nothing is there for yet: without nulls, and without what only directs.
fn plain(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(fields) => {
            if fields.contains_key(PATCH) {
                return None;
            }
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.filter_map(|(name, value)| Some((name, plain(value)?))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().filter_map(plain).collect()),
        other => other,
    })
}

/// Keeps only the fields that `$retainKeys` names; the patch may not set others.
fn retain_keys(target: &mut Fields, patch: &mut Fields) -> Result<(), ApiError> {
    let Some(kept) = patch.remove(RETAIN) else { return Ok(()) };
    let bad = || ApiError::bad_request("invalid patch format of retainKeys");
    let kept = kept.as_array().ok_or_else(bad)?;
    let kept: HashSet<&str> = kept.iter().filter_map(Value::as_str).collect();
    let keeps = |name: &str| kept.contains(name);
    let directs = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !directs(name) && !keeps(name)) {
        return Err(bad());
    }
    target.retain(|name, _| keeps(name));
    Ok(())
}

/// Merges the lists that the patch gives an order for, and puts them into that order.
fn merge_ordered(node: Node<'_>, target: &mut Fields, patch: &mut Fields) -> Result<(), ApiError> {
    let names: Vec<String> = patch.keys().filter(|key| key.starts_with("$setElementOrder")).cloned().collect();
    for key in names {
        let bad = || ApiError::bad_request("invalid patch format of setElementOrder list");
        let name = key.strip_prefix(SET_ORDER).ok_or_else(bad)?;
        let order = match patch.remove(&key) {
            Some(Value::Array(order)) => order,
            other => return Err(mismatch(&other.unwrap_or_default())),
        };
        let node = node.field(name);
        let before = match target.get(name) {
            None => None,
            Some(Value::Array(items)) => Some(items.clone()),
            Some(other) => return Err(mismatch(other)),
        };
        let changes = match patch.remove(name) {
            None => None,
            Some(Value::Array(items)) => Some(items),
            Some(other) => return Err(mismatch(&other)),
        };
        if let Some(changes) = &changes {
            check_order(node.merge_key(), changes, &order)?;
        }
        let merged = match (before.clone(), changes) {
            (None, None) => continue,
            (Some(before), None) => before,
            (None, Some(changes)) => changes.into_iter().filter_map(plain).collect(),
            (Some(before), Some(changes)) if node.merges() => merge_list(node, before, changes)?,
            (Some(_), Some(changes)) => changes,
        };
        let merged = in_order(node.merge_key(), merged, &order, &before.unwrap_or_default());
        target.insert(name.to_owned(), Value::Array(merged));
    }
    Ok(())
}

/// Refuses a list whose elements stand in another order than the patch itself asks for.
fn check_order(key: &str, changes: &[Value], order: &[Value]) -> Result<(), ApiError> {
    if order.is_empty() {
        return Ok(());
    }
    let mut wanted = order.iter();
    for item in changes.iter().filter(|item| item.get(PATCH).is_none()) {
        if !wanted.any(|other| same_element(key, item, other)) {
            let (changes, order) = (gotext::plain(&changes.into()), gotext::plain(&order.into()));
            return Err(ApiError::unexplained(format!(
                "The order in patch list:\n{changes}\n doesn't match $setElementOrder list:\n{order}\n"
            )));
        }
    }
    Ok(())
}

/// Where the elements of a list are, by their key, or by all of them without one. The first of several counts.
struct Places<'a> {
    key: &'a str,
    places: HashMap<&'a Value, usize>,
}

impl<'a> Places<'a> {
    fn of(key: &'a str, list: &'a [Value]) -> Self {
        let mut places = Self { key, places: HashMap::with_capacity(list.len()) };
        for (at, item) in list.iter().enumerate() {
            if let Some(wanted) = if key.is_empty() { Some(item) } else { item.get(key) } {
                places.add(wanted, at);
            }
        }
        places
    }

    fn add(&mut self, wanted: &'a Value, at: usize) {
        self.places.entry(wanted).or_insert(at);
    }

    fn at(&self, wanted: &Value) -> Option<usize> {
        self.places.get(wanted).copied()
    }

    /// Where the list has the element that `item` is, or is a version of.
    fn of_item(&self, item: &Value) -> Option<usize> {
        self.at(if self.key.is_empty() { item } else { item.get(self.key)? })
    }
}

fn same_element(key: &str, left: &Value, right: &Value) -> bool {
    if key.is_empty() { left == right } else { left.get(key).is_some_and(|value| right.get(key) == Some(value)) }
}

/// Merges by key, or as a set; then elements that the patch has come in its order.
fn merge_list(node: Node<'_>, before: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, ApiError> {
    if before.is_empty() && patch.is_empty() {
        return Ok(before);
    }
    if before.iter().chain(&patch).any(Value::is_array) {
        return Err(ApiError::unprocessable());
    }
    if !before.iter().chain(&patch).any(Value::is_object) {
        let mut seen = HashSet::new();
        let merged = before.iter().chain(&patch).filter(|item| seen.insert(*item)).cloned().collect();
        return Ok(in_order("", merged, &patch, &before));
    }
    let key = node.merge_key();
    if key.is_empty() {
        return Err(ApiError::unexplained("cannot merge lists without merge key"));
    }
    let (mut merged, changes) = with_directives(key, before, patch)?;
    let before = merged.clone();
    // A merge leaves an element's key as it is, since the change has the same.
    let mut known = Places::of(key, &before);
    for change in &changes {
        let wanted = change.get(key).ok_or_else(|| no_key(key, change))?;
        match known.at(wanted).and_then(|at| merged.get_mut(at)) {
            Some(Value::Object(found)) => {
                merge_object(node.item(), found, change.as_object().cloned().unwrap_or_default())?;
            }
            _ => {
                known.add(wanted, merged.len());
                merged.push(change.clone());
            }
        }
    }
    Ok(in_order(key, merged, &changes, &before))
}

/// Carries out the elements that only direct; answers what is left of the list, and the changes still to merge into it.
fn with_directives(key: &str, mut before: Vec<Value>, patch: Vec<Value>) -> Result<(Vec<Value>, Vec<Value>), ApiError> {
    let (mut changes, mut replaces, mut gone) = (Vec::new(), false, HashSet::new());
    for item in patch {
        match item.get(PATCH) {
            None => changes.push(item),
            Some(Value::String(directive)) if directive == "delete" => {
                let wanted = item.get(key).ok_or_else(|| no_key(key, &item))?;
                gone.insert(wanted.clone());
            }
            Some(Value::String(directive)) if directive == "replace" => replaces = true,
            Some(Value::String(directive)) if directive == "merge" => {
                return Err(ApiError::unexplained("merging lists cannot yet be specified in the patch"));
            }
            Some(other) => return Err(unknown_directive(other, item.clone())),
        }
    }
    if !gone.is_empty() {
        before.retain(|known| known.get(key).is_none_or(|found| !gone.contains(found)));
    }
    Ok(if replaces { (changes, Vec::new()) } else { (before, changes) })
}

/// Elements that `order` has come in that order; the others stay before the ones they stood before.
fn in_order(key: &str, merged: Vec<Value>, order: &[Value], before: &[Value]) -> Vec<Value> {
    let (order, before) = (Places::of(key, order), Places::of(key, before));
    let (mut ordered, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| order.of_item(item).is_some());
    ordered.sort_by_key(|item| order.of_item(item));
    others.sort_by_key(|item| before.of_item(item).unwrap_or(usize::MAX));
    let (mut ordered, mut others) = (ordered.into_iter().peekable(), others.into_iter().peekable());
    let mut sorted = Vec::new();
    loop {
        let first = match (others.peek(), ordered.peek()) {
            (Some(other), Some(next)) => {
                before.of_item(other).zip(before.of_item(next)).is_some_and(|(other, next)| other < next)
            }
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return sorted,
        };
        sorted.extend(if first { others.next() } else { ordered.next() });
    }
}

fn unknown_directive(found: &Value, fields: Value) -> ApiError {
    let (found, fields) = (gotext::plain(found), gotext::plain(&fields));
    ApiError::unexplained(format!("unknown patch type: {found} in map: {fields}"))
}

fn no_key(key: &str, item: &Value) -> ApiError {
    ApiError::unexplained(format!("map: {} does not contain declared merge key: {key}", gotext::plain(item)))
}

fn mismatch(found: &Value) -> ApiError {
    ApiError::unexplained(format!("expected a []interface {{}}, but received a {}", gotext::type_name(found)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        Schema::parse(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "ports": {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "n",
                      "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                          "tags": {"type": "array", "x-kubernetes-patch-strategy": "merge"}}}},
        }}))
        .unwrap()
    }

    fn merged(target: Value, patch: Value) -> Result<Value, String> {
        let mut target = target;
        merge(&schema(), &mut target, patch).map(|()| target).map_err(|error| error.to_string())
    }

    #[test]
    fn merges_as_upstream() {
        let meta = |finalizers: Value, owners: Value| json!({"metadata": {"finalizers": finalizers, "ownerReferences": owners}});
        let cases = [
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": null, "d": 3}}), json!({"a": {"c": 2, "d": 3}})),
            (json!({"a": {"b": 1}}), json!({"a": {"$patch": "replace", "c": 2}}), json!({"a": {"c": 2}})),
            (json!({"a": {"b": 1}}), json!({"a": {"$patch": "delete"}}), json!({"a": {}})),
            (json!({}), json!({"a": {"x": null, "y": {"$patch": "delete"}, "z": 1}}), json!({"a": {"z": 1}})),
            (json!({"l": [1, 2]}), json!({"l": [3]}), json!({"l": [3]})),
            (
                json!({"a": {"b": 1, "c": 2}}),
                json!({"a": {"$retainKeys": ["c", "d"], "d": 3}}),
                json!({"a": {"c": 2, "d": 3}}),
            ),
            (
                json!({"metadata": {"finalizers": ["a", "b"]}}),
                json!({"metadata": {"$setElementOrder/finalizers": ["c", "b"], "finalizers": ["c"],
                                    "$deleteFromPrimitiveList/finalizers": ["a"]}}),
                json!({"metadata": {"finalizers": ["c", "b"]}}),
            ),
            (
                meta(json!(["a"]), json!([{"uid": "1", "n": "x"}, {"uid": "2"}])),
                meta(json!(["b"]), json!([{"uid": "1", "n": "y"}, {"$patch": "delete", "uid": "2"}, {"uid": "3"}])),
                meta(json!(["b", "a"]), json!([{"uid": "1", "n": "y"}, {"uid": "3"}])),
            ),
            (
                json!({"ports": [{"n": 1, "v": "a", "tags": ["x"]}, {"n": 2}]}),
                json!({"ports": [{"n": 2, "v": "b"}, {"n": 1, "tags": ["y"]}]}),
                json!({"ports": [{"n": 2, "v": "b"}, {"n": 1, "v": "a", "tags": ["y", "x"]}]}),
            ),
            (
                json!({"ports": [{"n": 1}, {"n": 2}, {"n": 3}]}),
                json!({"$setElementOrder/ports": [{"n": 3}, {"n": 1}]}),
                json!({"ports": [{"n": 2}, {"n": 3}, {"n": 1}]}),
            ),
            (
                json!({"ports": [{"n": 1}]}),
                json!({"ports": [{"$patch": "replace"}, {"n": 9}]}),
                json!({"ports": [{"n": 9}]}),
            ),
        ];
        for (target, patch, wanted) in cases {
            assert_eq!(merged(target, patch.clone()).as_ref(), Ok(&wanted), "{patch}");
        }
    }

    /// Took minutes when each element was looked for in the whole list.
    #[test]
    fn long_lists_merge_in_little_time() {
        let begun = std::time::Instant::now();
        let names = |from: usize| (from..from + 40_000).map(|n| format!("x/{n}")).collect::<Vec<_>>();
        let target = json!({"metadata": {"finalizers": names(0)}});
        let patch = json!({"metadata": {"finalizers": names(20_000), "$deleteFromPrimitiveList/finalizers": names(0)}});
        let found = merged(target, patch).unwrap();
        assert_eq!(found["metadata"]["finalizers"].as_array().unwrap().len(), 40_000);
        let ports = |from: usize| (from..from + 40_000).map(|n| json!({"n": n})).collect::<Vec<_>>();
        let gone = (0..20_000).map(|n| json!({"$patch": "delete", "n": n}));
        let changes: Vec<Value> = ports(20_000).into_iter().chain(gone).collect();
        let found = merged(json!({"ports": ports(0)}), json!({"ports": changes})).unwrap();
        assert_eq!(found, json!({"ports": ports(20_000)}));
        assert!(begun.elapsed() < std::time::Duration::from_secs(30));
    }

    #[test]
    fn refuses_broken_directives() {
        let target = json!({"a": {"b": 1}, "ports": [{"n": 1}]});
        let cases = [
            (json!({"a": {"$patch": "merge"}}), "unknown patch type"),
            (json!({"a": {"$retainKeys": "x"}}), "invalid patch format of retainKeys"),
            (json!({"a": {"$retainKeys": ["b"], "c": 1}}), "invalid patch format of retainKeys"),
            (json!({"$setElementOrder": []}), "invalid patch format of setElementOrder list"),
            (json!({"$setElementOrder/ports": "x"}), "expected a []interface {}, but received a string"),
            (json!({"$deleteFromPrimitiveList": []}), "invalid patch format of primitive list"),
            (json!({"ports": [{"v": 1}]}), "does not contain declared merge key"),
            (json!({"ports": [{"$patch": "delete"}]}), "does not contain declared merge key"),
            (json!({"$setElementOrder/ports": [{"n": 2}], "ports": [{"n": 1}]}), "The order in patch list"),
        ];
        for (patch, wanted) in cases {
            let error = merged(target.clone(), patch.clone()).unwrap_err();
            assert!(error.contains(wanted), "{patch}: {error}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), (0..3).prop_map(Value::from)];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let name = "ports|n|tags|a|metadata|finalizers|\\$patch|\\$retainKeys|\\$setElementOrder/ports";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map(name, inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn never_panics(target in any_json(), patch in any_json()) {
            let _ = merged(target, patch);
        }

        /// Without lists and directives, a strategic patch is a merge patch (RFC 7386), but that it drops nulls below new fields.
        #[test]
        fn is_a_merge_patch_where_there_are_no_lists(
            target in prop::collection::btree_map("[a-c]", 0..3i32, 0..4),
            patch in prop::collection::btree_map("[a-c]", prop::option::of(0..3i32), 0..4),
        ) {
            let (target, patch) = (json!({"x": target}), json!({"x": patch}));
            let mut plain = target.clone();
            json_patch::merge(&mut plain, &patch);
            prop_assert_eq!(merged(target, patch), Ok(plain));
        }
    }
}
