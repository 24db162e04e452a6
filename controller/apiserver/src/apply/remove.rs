//! Taking fields out of an object.

use serde_json::{Map, Value};

use super::field_set::FieldSet;
use super::path_element::PathElement;
use super::types::Type;
use crate::schema::{Form, ListType};

/// The object without the given fields. Atomic maps and lists only go whole. A container that loses everything becomes
/// null, as upstream: where null is not allowed, validation then refuses the write.
pub(crate) fn without(kind: Type<'_>, value: &Value, fields: &FieldSet) -> Value {
    match (kind.form(Some(value)), value) {
        (Form::Map, Value::Object(map)) if !map.is_empty() && !kind.is_atomic_map() => {
            let mut left = Map::new();
            for (name, value) in map {
                let element = PathElement::field(name);
                if fields.has_member(&element) {
                    continue;
                }
                let inner = kind.field(name).map_or(Type::Deduced, |field| field.inner);
                let below = fields.below(&element);
                left.insert(name.clone(), below.map_or_else(|| value.clone(), |below| without(inner, value, below)));
            }
            if left.is_empty() { Value::Null } else { Value::Object(left) }
        }
        (Form::List, Value::Array(items)) if !items.is_empty() && kind.list_type() != ListType::Atomic => {
            let mut left = Vec::new();
            for item in items {
                let below = match kind.identify(item) {
                    Ok(element) if fields.has_member(&element) => continue,
                    Ok(element) => fields.below(&element),
                    Err(_) => None,
                };
                left.push(below.map_or_else(|| item.clone(), |below| without(kind.element(), item, below)));
            }
            if left.is_empty() { Value::Null } else { Value::Array(left) }
        }
        _ => value.clone(),
    }
}

/// The set with the named fields on the way to its members made members: a set of `a.b.c` then has `a` too if the
/// schema names it, but not `a.b` if that is a key of a map.
pub(crate) fn with_named_parents(kind: Type<'_>, set: &FieldSet) -> FieldSet {
    let mut found = FieldSet::default();
    set.members().for_each(|member| found.add_member(member.clone()));
    for (element, below) in set.children() {
        let inner = match element {
            PathElement::Field(name) => {
                let field = kind.field(name);
                if field.as_ref().is_some_and(|field| field.named) {
                    found.add_member(element.clone());
                }
                field.map_or(Type::Untyped, |field| field.inner)
            }
            PathElement::Key(_) => kind.element(),
            PathElement::Value(_) | PathElement::Index(_) => Type::Untyped,
        };
        found.set_child(element.clone(), with_named_parents(inner, below));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    #[test]
    fn takes_fields_keys_and_elements() {
        let schema = Schema::parse(&json!({"type": "object", "properties": {
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "atomic": {"type": "array", "items": {"type": "string"}},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                     "items": {"type": "object", "properties": {"n": {"type": "integer"}, "v": {"type": "string"}}}},
        }}))
        .unwrap();
        let object = json!({
            "map": {"a": "1", "b": "2"}, "set": ["x", "y"], "atomic": ["1"], "list": [{"n": 1, "v": "a"}, {"n": 2}],
        });
        let fields = FieldSet::decode(&json!({
            "f:map": {"f:a": {}}, "f:set": {"v:\"y\"": {}}, "f:atomic": {"v:\"1\"": {}},
            "f:list": {"k:{\"n\":1}": {"f:v": {}}, "k:{\"n\":2}": {}},
        }))
        .unwrap();
        assert_eq!(
            without(Type::Plain(&schema), &object, &fields),
            json!({"map": {"b": "2"}, "set": ["x"], "atomic": ["1"], "list": [{"n": 1}]})
        );
        let named = with_named_parents(Type::Plain(&schema), &fields);
        assert!(named.has_member(&PathElement::field("map")));
        assert!(named.has_member(&PathElement::field("list")));
    }
}
