//! Filling in the defaults of a schema.

use serde_json::Value;

use super::Schema;

/// Sets every missing field that has a default. A null in a field that has a default but may not be null counts as
/// missing.
pub(crate) fn default(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in &schema.properties {
                if let Some(default) = &inner.default {
                    let missing = fields.get(name).is_none_or(|now| now.is_null() && !inner.nullable);
                    if missing {
                        fields.insert(name.clone(), default.clone());
                    }
                }
            }
            for (name, value) in fields {
                if let Some(inner) = schema.properties.get(name).or(schema.additional.as_deref()) {
                    self::default(inner, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = &schema.items {
                items.iter_mut().for_each(|item| self::default(inner, item));
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
    fn fills_nested_defaults_and_leaves_the_rest() {
        let schema = Schema::parse(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "default": {}, "properties": {
                "mode": {"type": "string", "default": "UEFI"},
                "kept": {"type": "string", "default": "x"},
                "nulled": {"type": "string", "default": "y"},
                "nullable": {"type": "string", "default": "z", "nullable": true},
                "none": {"type": "object", "properties": {"inner": {"type": "string", "default": "i"}}},
            }},
            "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"default": 1}}}},
        }}))
        .unwrap();
        let mut object = json!({"spec": {"kept": "own", "nulled": null, "nullable": null}, "list": [{}, {"n": 2}]});
        default(&schema, &mut object);
        assert_eq!(
            object,
            json!({"spec": {"mode": "UEFI", "kept": "own", "nulled": "y", "nullable": null},
                   "list": [{"n": 1}, {"n": 2}]})
        );
        let mut empty = json!({});
        default(&schema, &mut empty);
        assert_eq!(empty["spec"]["mode"], "UEFI");
    }
}
