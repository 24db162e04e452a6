//! Dropping fields that a schema does not name.

use serde_json::Value;

use super::{Schema, child, is_object_field};

/// Drops unknown fields of a whole object and answers their paths.
pub(crate) fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    prune_at(schema, object, "", true, &mut dropped);
    dropped
}

fn prune_at(schema: &Schema, value: &mut Value, path: &str, is_object: bool, dropped: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                if is_object && is_object_field(name) {
                    return true;
                }
                let path = child(path, name);
                match schema.properties.get(name).or(schema.additional.as_deref()) {
                    Some(inner) => {
                        prune_at(inner, value, &path, inner.embedded, dropped);
                        true
                    }
                    None if schema.preserve_unknown => true,
                    None => {
                        dropped.push(path);
                        false
                    }
                }
            });
        }
        Value::Array(items) => {
            if let Some(inner) = &schema.items {
                for (at, item) in items.iter_mut().enumerate() {
                    prune_at(inner, item, &format!("{path}[{at}]"), inner.embedded, dropped);
                }
            }
        }
        _ => {}
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
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {}}}},
                "list": {"type": "array", "items": {"type": "object", "properties": {"x": {}}}},
                "whole": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {}},
            }},
        }}))
        .unwrap();
        let mut object = json!({"apiVersion": "v", "kind": "K", "metadata": {"name": "n"}, "top": 1, "spec": {
            "a": "1", "b": 2, "free": {"z": 1, "known": {"q": 1}}, "map": {"k": {"x": 1, "y": 2}},
            "list": [{"x": 1, "y": 2}], "whole": {"kind": "Z", "extra": 1},
        }});
        let dropped = prune(&schema, &mut object);
        assert_eq!(
            dropped,
            ["spec.b", "spec.free.known.q", "spec.list[0].y", "spec.map.k.y", "spec.whole.extra", "top"]
        );
        assert_eq!(
            object,
            json!({"apiVersion": "v", "kind": "K", "metadata": {"name": "n"}, "spec": {
                "a": "1", "free": {"z": 1, "known": {}}, "map": {"k": {"x": 1}}, "list": [{"x": 1}],
                "whole": {"kind": "Z"},
            }})
        );
    }
}
