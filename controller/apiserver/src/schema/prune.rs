//! Dropping fields that a schema does not name.

use serde_json::{Map, Value};

use super::{Schema, is_object_field};

/// What an embedded object's metadata may hold.
const METADATA: &[&str] = &[
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Drops unknown fields of a whole object and answers their paths, sorted.
pub(crate) fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut walk = Walk { path: String::new(), dropped: Vec::new() };
    walk.value(Some(schema), object, true, schema.preserve_unknown);
    walk.dropped.sort();
    walk.dropped
}

/// As [`prune`], for a value that is no object of its own unless its schema says so.
pub(crate) fn prune_value(schema: &Schema, value: &mut Value) {
    let mut walk = Walk { path: String::new(), dropped: Vec::new() };
    walk.value(Some(schema), value, schema.embedded, schema.preserve_unknown);
}

struct Walk {
    path: String,
    dropped: Vec<String>,
}

impl Walk {
    /// `keep`: unknown fields at this level stay.
    fn value(&mut self, schema: Option<&Schema>, value: &mut Value, is_object: bool, keep: bool) {
        match value {
            Value::Object(fields) => self.fields(schema, fields, is_object, keep),
            Value::Array(items) => {
                let inner = schema.and_then(|schema| schema.items.as_deref());
                // A list that keeps the unknown lets its elements keep theirs.
                let keep = keep || inner.is_some_and(|inner| inner.preserve_unknown);
                if keep && inner.is_none() {
                    return;
                }
                for (at, item) in items.iter_mut().enumerate() {
                    let above = self.enter(&format!("[{at}]"), "");
                    self.value(inner, item, inner.is_some_and(|inner| inner.embedded), keep);
                    self.path.truncate(above);
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, schema: Option<&Schema>, fields: &mut Map<String, Value>, is_object: bool, keep: bool) {
        fields.retain(|name, value| {
            if is_object && is_object_field(name) {
                if name == "metadata" && !self.path.is_empty() {
                    self.metadata(value);
                }
                return true;
            }
            let named = schema.and_then(|schema| schema.properties.get(name));
            let above = self.enter(name, ".");
            let kept = match named.or(schema.and_then(|schema| schema.additional.as_deref())) {
                Some(inner) => {
                    self.value(Some(inner), value, inner.embedded, inner.preserve_unknown);
                    true
                }
                None => keep,
            };
            if !kept {
                self.dropped.push(self.path.clone());
            }
            self.path.truncate(above);
            kept
        });
    }

    fn metadata(&mut self, metadata: &mut Value) {
        let Some(fields) = metadata.as_object_mut() else { return };
        fields.retain(|name, value| {
            let known = METADATA.contains(&name.as_str());
            if !known {
                self.dropped.push(format!("{}.metadata.{name}", self.path));
            }
            known && !(name == "creationTimestamp" && value.is_null())
        });
    }

    fn enter(&mut self, step: &str, separator: &str) -> usize {
        let above = self.path.len();
        if above > 0 {
            self.path.push_str(separator);
        }
        self.path.push_str(step);
        above
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeps_what_is_named_and_reports_the_rest() {
        let schema = Schema::parse(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "a": {"type": "string"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                         "properties": {"known": {"type": "object", "properties": {}}}},
                "open": {"type": "object", "additionalProperties": true},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {}}}},
                "list": {"type": "array", "items": {"type": "object", "properties": {"x": {}}}},
                "whole": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {}},
            }},
        }}))
        .unwrap();
        let mut object = json!({"apiVersion": "v", "kind": "K", "metadata": {"name": "n"}, "top": 1, "spec": {
            "a": "1", "b": 2, "free": {"z": {"deep": [{"y": 1}]}, "known": {"q": 1}}, "open": {"k": {"x": 1}, "l": 1},
            "map": {"k": {"x": 1, "y": 2}}, "list": [{"x": 1, "y": 2}],
            "whole": {"kind": "Z", "extra": 1, "metadata": {"name": "w", "creationTimestamp": null, "odd": 1}},
        }});
        let dropped = prune(&schema, &mut object);
        assert_eq!(
            dropped,
            [
                "spec.b",
                "spec.free.known.q",
                "spec.list[0].y",
                "spec.map.k.y",
                "spec.open.k.x",
                "spec.whole.extra",
                "spec.whole.metadata.odd",
                "top"
            ]
        );
        assert_eq!(
            object,
            json!({"apiVersion": "v", "kind": "K", "metadata": {"name": "n"}, "spec": {
                "a": "1", "free": {"z": {"deep": [{"y": 1}]}, "known": {}}, "open": {"k": {}, "l": 1},
                "map": {"k": {"x": 1}}, "list": [{"x": 1}], "whole": {"kind": "Z", "metadata": {"name": "w"}},
            }})
        );
    }
}
