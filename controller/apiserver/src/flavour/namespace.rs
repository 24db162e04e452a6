//! Namespaces: the label with their name, the server's own finalizer, and what may be in `spec.finalizers`.

use serde_json::{Map, Value, json};

use crate::object;
use crate::status::Cause;

/// The finalizer that stands for the namespace's contents.
pub(crate) const CONTENTS: &str = "kubernetes";
/// Finalizers without a domain.
const STANDARD: &[&str] = &[CONTENTS, "orphan", "foregroundDeletion"];

pub(super) fn complete(object: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    let name = object::name(object).to_owned();
    if let Some(metadata) = object::meta_mut(object) {
        let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
        }
    }
    if let Some(old) = old {
        // Finalizers are changed through their own path only.
        object::set_field(object, "spec", old.get("spec").cloned().unwrap_or_else(|| json!({})));
        return Vec::new();
    }
    let mut finalizers = finalizers(object);
    let causes = check_finalizers(&finalizers);
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

/// Which of these are no names of finalizers.
pub(crate) fn check_finalizers(finalizers: &[String]) -> Vec<Cause> {
    let unknown = finalizers.iter().filter(|name| !name.contains('/') && !STANDARD.contains(&name.as_str()));
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    unknown.map(|name| Cause::invalid("spec.finalizers", &name.as_str().into(), detail)).collect()
}
