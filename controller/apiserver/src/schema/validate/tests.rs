//! Texts were taken from kube-apiserver v1.36.3.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn lines_of(schema: Value, value: Value, old: Option<Value>) -> Vec<String> {
    let schema = Schema::parse(&json!({"type": "object", "properties": {"spec": schema}})).unwrap();
    let (object, old) = (json!({"spec": value}), old.map(|old| json!({"spec": old})));
    let mut causes = Vec::new();
    validate(&schema, &object, old.as_ref(), Subject::Whole, &mut causes);
    causes.iter().map(Cause::line).collect()
}

fn lines(schema: Value, value: Value) -> Vec<String> {
    lines_of(schema, value, None)
}

#[test]
fn accepts_and_rejects() {
    let cases = [
        (json!({"type": "string"}), json!("a"), json!(1)),
        (json!({"type": "integer"}), json!(1.0), json!("1")),
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
        (json!({"not": {"required": ["a"]}}), json!({}), json!({"a": 1})),
    ];
    for (schema, good, bad) in cases {
        assert_eq!(lines(schema.clone(), good.clone()), [""; 0], "{schema} must accept {good}");
        assert_eq!(lines(schema.clone(), bad.clone()).len(), 1, "{schema} must refuse {bad} once");
    }
}

#[test]
fn unchanged_faults_are_tolerated() {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 2}, "size": {"type": "integer"},
        "list": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
            "items": {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "integer", "maximum": 3}}},
        },
    }});
    let old = json!({"name": "long", "size": 1, "list": [{"n": "a", "v": 9}, {"n": "b", "v": 1}]});
    let mut new = old.clone();
    new["size"] = json!(2);
    new["list"] = json!([{"n": "b", "v": 2}, {"n": "a", "v": 9}]);
    assert_eq!(lines_of(schema.clone(), new.clone(), Some(old.clone())), [""; 0]);
    new["name"] = json!("longer");
    new["list"][0]["v"] = json!(8);
    assert_eq!(
        lines_of(schema, new, Some(old)),
        [
            "spec.list[0].v: Invalid value: 8: spec.list[0].v in body should be less than or equal to 3",
            "spec.name: Too long: may not be more than 2 bytes",
        ]
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
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
    fn pruning_and_defaulting_twice_change_nothing_more(value in any_json(), old in any_json()) {
        let schema = Schema::parse(&json!({"type": "object", "properties": {
            "a": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"],
                  "items": {"type": "object", "properties": {"b": {"default": 1}}}},
            "b": {"type": "object", "additionalProperties": {"type": "string", "format": "date-time"}},
            "c": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        }})).unwrap();
        let tidy = |value: &mut Value| {
            let dropped = super::super::prune(&schema, value);
            super::super::drop_nulls(&schema, value);
            super::super::default(&schema, value);
            dropped
        };
        let mut once = value;
        tidy(&mut once);
        validate(&schema, &once, Some(&old), Subject::Whole, &mut Vec::new());
        let mut twice = once.clone();
        prop_assert!(tidy(&mut twice).is_empty());
        prop_assert_eq!(once, twice);
    }
}
