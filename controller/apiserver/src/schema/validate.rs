//! Checking a value against a schema, with the causes that a stock API server names.

use serde_json::{Map, Value};

use super::{Kind, ListType, Schema, child, is_object_field};
use crate::status::Cause;

/// Causes reported at most: a bad list of a million items must not make an answer of a million lines.
const MOST_CAUSES: usize = 64;

/// Every way in which an object breaks its schema, up to a limit.
pub(crate) fn validate(schema: &Schema, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    check(schema, object, "", true, &mut causes);
    causes.truncate(MOST_CAUSES);
    causes
}

/// As [`validate`], for a value that is no object of its own, whose fields are named under `path`.
pub(crate) fn validate_at(schema: &Schema, value: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    check(schema, value, path, false, &mut causes);
    causes.truncate(MOST_CAUSES);
    causes
}

fn check(schema: &Schema, value: &Value, path: &str, is_object: bool, causes: &mut Vec<Cause>) {
    if causes.len() >= MOST_CAUSES || (value.is_null() && schema.nullable) {
        return;
    }
    if let Some(wrong) = type_cause(schema, value, path) {
        causes.push(wrong);
        return;
    }
    if !schema.allowed.is_empty() && !schema.allowed.contains(value) {
        causes.push(Cause::unsupported(path, value, &schema.allowed));
    }
    match value {
        Value::String(text) => check_string(schema, text, value, path, causes),
        Value::Number(number) => check_number(schema, number.as_f64().unwrap_or_default(), value, path, causes),
        Value::Array(items) => check_array(schema, items, value, path, causes),
        Value::Object(fields) => check_object(schema, fields, value, path, is_object, causes),
        Value::Null | Value::Bool(_) => {}
    }
    check_combined(schema, value, path, is_object, causes);
}

fn type_cause(schema: &Schema, value: &Value, path: &str) -> Option<Cause> {
    let found = type_name(value);
    if schema.int_or_string {
        let fits = matches!(value, Value::String(_)) || found == "integer";
        return (!fits).then(|| Cause::wrong_type(path, found, "integer,string"));
    }
    let wanted = schema.kind?;
    let fits = found == wanted.name() || (wanted == Kind::Number && found == "integer");
    (!fits).then(|| Cause::wrong_type(path, found, wanted.name()))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_i64() || n.is_u64() || n.as_f64().is_some_and(|f| f.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn check_string(schema: &Schema, text: &str, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let length = text.chars().count() as u64;
    let bounds = &schema.bounds;
    if let Some(min) = bounds.min_length.filter(|min| length < *min) {
        causes.push(Cause::invalid(path, value, &format!("{path} in body should be at least {min} chars long")));
    }
    if let Some(max) = bounds.max_length.filter(|max| length > *max) {
        causes.push(Cause::too_long(path, max));
    }
    if let Some(pattern) = schema.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
        causes.push(Cause::invalid(path, value, &format!("{path} in body should match '{pattern}'")));
    }
    if let Some(format) = schema.format.as_deref().filter(|format| !fits_format(format, text)) {
        causes.push(Cause::invalid(path, value, &format!("{path} in body must be of type {format}: {value}")));
    }
}

/// The formats that other code relies on; unknown formats pass, as upstream.
fn fits_format(format: &str, text: &str) -> bool {
    use base64::Engine as _;
    match format {
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        "byte" => base64::engine::general_purpose::STANDARD.decode(text).is_ok(),
        _ => true,
    }
}

fn check_number(schema: &Schema, number: f64, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let bounds = &schema.bounds;
    let mut limit = |broken: bool, what: String| {
        if broken {
            causes.push(Cause::invalid(path, value, &format!("{path} in body {what}")));
        }
    };
    if let Some(min) = bounds.minimum {
        if bounds.exclusive_minimum {
            limit(number <= min, format!("should be greater than {min}"));
        } else {
            limit(number < min, format!("should be greater than or equal to {min}"));
        }
    }
    if let Some(max) = bounds.maximum {
        if bounds.exclusive_maximum {
            limit(number >= max, format!("should be less than {max}"));
        } else {
            limit(number > max, format!("should be less than or equal to {max}"));
        }
    }
    if let Some(step) = bounds.multiple_of {
        limit(number % step != 0.0, format!("should be a multiple of {step}"));
    }
}

fn check_array(schema: &Schema, items: &[Value], value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let bounds = &schema.bounds;
    if let Some(min) = bounds.min_items.filter(|min| (items.len() as u64) < *min) {
        causes.push(Cause::invalid(path, value, &format!("{path} in body should have at least {min} items")));
    }
    if let Some(max) = bounds.max_items.filter(|max| (items.len() as u64) > *max) {
        causes.push(Cause::too_many(path, items.len(), max));
        return;
    }
    if let Some(inner) = &schema.items {
        for (at, item) in items.iter().enumerate() {
            check(inner, item, &format!("{path}[{at}]"), inner.embedded, causes);
        }
    }
    let mut seen = std::collections::HashSet::new();
    for (at, item) in items.iter().enumerate() {
        let identity = match &schema.list {
            ListType::Atomic => break,
            ListType::Set => item.clone(),
            ListType::Map(keys) => {
                keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone()))).collect::<Map<_, _>>().into()
            }
        };
        if !seen.insert(identity.to_string()) {
            causes.push(Cause::duplicate(&format!("{path}[{at}]"), &identity));
        }
    }
}

fn check_object(
    schema: &Schema,
    fields: &Map<String, Value>,
    value: &Value,
    path: &str,
    is_object: bool,
    causes: &mut Vec<Cause>,
) {
    for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
        causes.push(Cause::required(&child(path, name)));
    }
    let bounds = &schema.bounds;
    if let Some(min) = bounds.min_properties.filter(|min| (fields.len() as u64) < *min) {
        causes.push(Cause::invalid(path, value, &format!("{path} in body should have at least {min} properties")));
    }
    if let Some(max) = bounds.max_properties.filter(|max| (fields.len() as u64) > *max) {
        causes.push(Cause::too_many(path, fields.len(), max));
    }
    for (name, value) in fields {
        if is_object && is_object_field(name) {
            continue;
        }
        if let Some(inner) = schema.properties.get(name).or(schema.additional.as_deref()) {
            check(inner, value, &child(path, name), inner.embedded, causes);
        }
    }
}

fn check_combined(schema: &Schema, value: &Value, path: &str, is_object: bool, causes: &mut Vec<Cause>) {
    let fits = |inner: &Schema| {
        let mut found = Vec::new();
        check(inner, value, path, is_object, &mut found);
        found.is_empty()
    };
    for inner in &schema.all_of {
        check(inner, value, path, is_object, causes);
    }
    if !schema.any_of.is_empty() && !schema.any_of.iter().any(fits) {
        causes.push(Cause::invalid(path, value, &format!("{path} in body must validate at least one schema (anyOf)")));
    }
    if !schema.one_of.is_empty() && schema.one_of.iter().filter(|inner| fits(inner)).count() != 1 {
        let detail = format!("{path} in body must validate one and only one schema (oneOf)");
        causes.push(Cause::invalid(path, value, &detail));
    }
    if schema.not.as_deref().is_some_and(fits) {
        causes.push(Cause::invalid(path, value, &format!("{path} in body must not validate the schema (not)")));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn lines(schema: Value, value: Value) -> Vec<String> {
        let object = json!({"spec": value});
        let schema = Schema::parse(&json!({"type": "object", "properties": {"spec": schema}})).unwrap();
        validate(&schema, &object).iter().map(|cause| format!("{cause:?}")).collect()
    }

    #[test]
    fn accepts_and_rejects() {
        let cases = [
            (json!({"type": "string"}), json!("a"), json!(1)),
            (json!({"type": "integer"}), json!(1), json!(1.5)),
            (json!({"type": "number"}), json!(1), json!("1")),
            (json!({"x-kubernetes-int-or-string": true}), json!("50%"), json!(true)),
            (json!({"type": "string", "nullable": true}), json!(null), json!(1)),
            (json!({"type": "string"}), json!("a"), json!(null)),
            (json!({"type": "string", "enum": ["a", "b"]}), json!("b"), json!("c")),
            (json!({"type": "string", "pattern": "^[a-f]+$"}), json!("abc"), json!("xyz")),
            (json!({"type": "string", "minLength": 1, "maxLength": 2}), json!("ü"), json!("abc")),
            (json!({"type": "string", "format": "date-time"}), json!("2026-11-30T10:00:00Z"), json!("soon")),
            (json!({"type": "integer", "minimum": 1, "maximum": 5}), json!(5), json!(6)),
            (json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true}), json!(1), json!(0)),
            (json!({"type": "array", "maxItems": 1, "items": {"type": "string"}}), json!(["a"]), json!(["a", "b"])),
            (json!({"type": "array", "items": {"type": "string"}}), json!(["a"]), json!([1])),
            (
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]}),
                json!([{"n": 1}, {"n": 2}]),
                json!([{"n": 1}, {"n": 1, "x": 1}]),
            ),
            (json!({"type": "array", "x-kubernetes-list-type": "set"}), json!([1, 2]), json!([1, 1])),
            (json!({"type": "object", "required": ["a"]}), json!({"a": 1}), json!({})),
            (json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), json!("a"), json!(true)),
            (json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), json!({"a": 1}), json!({"a": 1, "b": 1})),
            (json!({"not": {"required": ["a"]}}), json!({}), json!({"a": 1})),
        ];
        for (schema, good, bad) in cases {
            assert_eq!(lines(schema.clone(), good.clone()), [""; 0], "{schema} must accept {good}");
            assert_eq!(lines(schema.clone(), bad.clone()).len(), 1, "{schema} must refuse {bad} once");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z]{0,4}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn pruning_twice_changes_nothing_more(value in any_json()) {
            let schema = Schema::parse(&json!({"type": "object", "properties": {
                "a": {"type": "array", "items": {"type": "object", "properties": {"b": {"default": 1}}}},
                "b": {"type": "object", "additionalProperties": {"type": "string"}},
            }})).unwrap();
            let mut once = value;
            super::super::prune(&schema, &mut once);
            super::super::default(&schema, &mut once);
            validate(&schema, &once);
            let mut twice = once.clone();
            prop_assert!(super::super::prune(&schema, &mut twice).is_empty());
            super::super::default(&schema, &mut twice);
            prop_assert_eq!(once, twice);
        }
    }
}
