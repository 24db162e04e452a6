//! Namespaces: the label with their name, the server's own finalizer, and what may be in `spec.finalizers`.

use serde_json::{Map, Value, json};

use crate::object;
use crate::status::Cause;

/// The finalizer that stands for the namespace's contents.
pub(crate) const CONTENTS: &str = "kubernetes";
/// Finalizers without a domain.
const STANDARD: &[&str] = &[CONTENTS, "orphan", "foregroundDeletion"];

/// Every namespace is labelled with its name.
pub(crate) fn label(object: &mut Value) {
    let name = object::name(object).to_owned();
    if let Some(metadata) = object::meta_mut(object) {
        let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
        }
    }
}

/// A condition shows when it changed even when that is not known.
pub(crate) fn show_times(object: &mut Value) {
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut).into_iter().flatten();
    for condition in conditions.filter_map(Value::as_object_mut) {
        condition.entry("lastTransitionTime").or_insert(Value::Null);
    }
}

/// Fills in the spec of a namespace whose finalizers are changed through their own path.
pub(crate) fn finalize(object: &mut Value) -> Vec<Cause> {
    label(object);
    let finalizers = finalizers(object);
    let spec = if finalizers.is_empty() { json!({}) } else { json!({"finalizers": finalizers}) };
    object::set_field(object, "spec", spec);
    let each = finalizers.iter().enumerate();
    each.flat_map(|(at, name)| check_finalizer(name, &format!("spec.finalizers[{at}]"))).collect()
}

pub(super) fn complete(object: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    label(object);
    if let Some(old) = old {
        // Finalizers are changed through their own path only.
        object::set_field(object, "spec", old.get("spec").cloned().unwrap_or_else(|| json!({})));
        return Vec::new();
    }
    let mut finalizers = finalizers(object);
    let causes = finalizers.iter().flat_map(|name| check_finalizer(name, "spec.finalizers")).collect();
    if !finalizers.iter().any(|finalizer| finalizer == CONTENTS) {
        finalizers.push(CONTENTS.to_owned());
    }
    object::set_field(object, "spec", json!({"finalizers": finalizers}));
    object::set_field(object, "status", json!({"phase": "Active"}));
    causes
}

/// `spec.finalizers`.
pub(crate) fn finalizers(namespace: &Value) -> Vec<String> {
    let list = namespace.pointer("/spec/finalizers").and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Why this is no name of a finalizer.
fn check_finalizer(name: &str, field: &str) -> Option<Cause> {
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    let known = name.contains('/') || STANDARD.contains(&name);
    (!known).then(|| Cause::invalid(field, &name.into(), detail))
}
