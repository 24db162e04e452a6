//! Filling in the defaults of a schema.

use serde_json::Value;

use super::Schema;

/// Drops nulls from fields that may not be null and have no default to take their place. Comes before [`default`].
pub(crate) fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| match schema.field(name) {
            Some(inner) if value.is_null() => inner.nullable || inner.default.is_some(),
            Some(inner) => {
                drop_nulls(inner, value);
                true
            }
            None => true,
        }),
        Value::Array(items) => {
            if let Some(inner) = &schema.items {
                items.iter_mut().for_each(|item| drop_nulls(inner, item));
            }
        }
        _ => {}
    }
}

/// Sets every missing field that has a default. A null in a field that has a default but may not be null counts as
/// missing.
pub(crate) fn default(schema: &Schema, value: &mut Value) {
    if !schema.inside.defaults {
        return;
    }
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
                match (schema.properties.get(name), schema.additional.as_deref()) {
                    (Some(inner), _) => self::default(inner, value),
                    (None, Some(inner)) => element(inner, value),
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = &schema.items {
                items.iter_mut().for_each(|item| element(inner, item));
            }
        }
        _ => {}
    }
}

fn element(schema: &Schema, value: &mut Value) {
    if let Some(default) = schema.default.as_ref().filter(|_| value.is_null() && !schema.nullable) {
        *value = default.clone();
    }
    self::default(schema, value);
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

    #[test]
    fn nulls_go_where_nothing_wants_them() {
        let schema = Schema::parse(&json!({"type": "object", "properties": {
            "plain": {"type": "string"}, "may": {"type": "string", "nullable": true},
            "filled": {"type": "string", "default": "d"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
        }}))
        .unwrap();
        let mut object = json!({"plain": null, "may": null, "filled": null, "unknown": null, "map": {"a": null}});
        drop_nulls(&schema, &mut object);
        assert_eq!(object, json!({"may": null, "filled": null, "unknown": null, "map": {}}));
    }
}
