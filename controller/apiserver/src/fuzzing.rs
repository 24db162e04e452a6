//! What fuzz targets call: the parsers and merges that take what clients send. Not part of the API: there with the
//! `fuzzing` feature only. The ordinary tests call the same functions with random input.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use crate::apply::{FieldSet, Managed, Versioned, Versions, Writer, apply, same_but_for_times, track};
use crate::body;
use crate::builtin::{Message, decode, empty};
use crate::cel::{Budget, Program, Root, Wanted, value::Value as Cel};
use crate::handlers::try_patch;
use crate::protobuf;
use crate::schema::Schema;
use crate::selector::Selector;

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "a": {"type": "integer"}, "s": {"type": "string", "default": "x"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "list": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "items": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n", "p"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "n",
                "items": {"type": "object", "properties": {
                    "n": {"type": "integer"}, "p": {"type": "string", "default": "x"}, "v": {"type": "string"},
                }},
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "either": {"x-kubernetes-int-or-string": true},
        }},
    }});
    Arc::new(Schema::parse(&schema).unwrap_or_else(|_| Schema::anything()))
});

struct OneVersion;

impl Versions for OneVersion {
    fn convert<'a>(&self, object: &'a Value, api_version: &str) -> Option<Versioned<'a>> {
        Some(Versioned { object: Cow::Borrowed(object), schema: self.schema(api_version)? })
    }

    fn schema(&self, api_version: &str) -> Option<Arc<Schema>> {
        (api_version == "v1").then(|| Arc::clone(&SCHEMA))
    }
}

fn as_writer<T>(then: impl FnOnce(&Writer<'_>) -> T) -> T {
    then(&Writer {
        manager: "fuzz",
        api_version: "v1",
        subresource: "",
        reset: FieldSet::of(&[&["status"]]),
        nothing: json!({"apiVersion": "v1", "kind": "K"}),
        is_custom: true,
        versions: &OneVersion,
    })
}

/// The parts of an input, which newlines part.
fn parts(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    (data.get(..at).unwrap_or_default(), data.get(at.saturating_add(1)..).unwrap_or_default())
}

/// A patch (`data` after its first line) of each kind on an object (the first line).
pub fn patch(data: &[u8]) {
    let (object, patch) = parts(data);
    let Ok((object, _)) = body::json(object) else { return };
    for kind in 0..3 {
        let mut target = object.clone();
        try_patch(&SCHEMA, kind, &mut target, patch);
    }
}

/// An apply of a configuration (`data` after its first line, YAML or JSON) on a live object (the first line) with
/// whatever `managedFields` it has; then an update to what came of it.
///
/// # Panics
/// When applying the same again changes anything.
pub fn server_side_apply(data: &[u8]) {
    let (live, config) = parts(data);
    let (Ok((live, _)), Ok((config, _))) = (body::json(live), body::yaml_object(config)) else { return };
    let applied = as_writer(|writer| apply(writer, Some(&live), &config, true));
    if let Ok(once) = applied {
        if let Ok(twice) = as_writer(|writer| apply(writer, Some(&once), &config, true)) {
            assert!(same_but_for_times(&once, &twice), "applying twice: {once} became {twice}");
        }
        let mut new = once;
        let sent = live.pointer("/metadata/managedFields").cloned();
        as_writer(|writer| track(writer, Some(&live), &mut new, sent.as_ref()));
        let managed = Managed::of(&new);
        let mut again = Value::Null;
        managed.write_to(&mut again);
    }
}

/// The bytes of a message (`data` after its first), as the body of every built-in kind's objects; and `data` as a whole
/// body, envelope and all. What can be read is then treated as a body is: checked, and brought into Go's form.
pub fn protobuf(data: &[u8]) {
    let (_, raw) = data.split_at(data.len().min(1));
    for resource in crate::builtin::resources() {
        let Some(message) = resource.message else { continue };
        let whole = protobuf::enveloped(&resource.api_version(), &resource.kind, raw);
        for body in [whole.as_slice(), data] {
            let read = protobuf::open(body).and_then(|envelope| envelope.decode(message));
            let Ok(mut object) = read else { continue };
            if decode::check(message, &object).is_ok() {
                empty::settle(message, &mut object);
            }
        }
    }
}

/// A body in JSON and in YAML, with what a strict reader would refuse in it.
///
/// # Panics
/// When what was read of JSON is not what is read of that written again.
pub fn bodies(data: &[u8]) {
    for message in [None, Message::named("apiextensions.v1.CustomResourceDefinition")] {
        let Ok((value, problems)) = body::typed_json(data, message) else { continue };
        body::in_order(data, problems);
        let (again, repeated) = body::json(value.to_string().as_bytes()).unwrap_or_default();
        assert!(again == value && repeated.is_empty(), "{value} was read again as {again}");
    }
    if let Ok((_, problems)) = body::yaml(data) {
        problems.iter().for_each(|problem| drop(body::warnings(problem)));
    }
}

/// A label selector (the first line) and a field selector (the rest), on an object.
pub fn selectors(data: &[u8]) {
    let (labels, fields) = parts(data);
    let (Ok(labels), Ok(fields)) = (std::str::from_utf8(labels), std::str::from_utf8(fields)) else { return };
    let object = json!({"metadata": {"name": "a", "namespace": "b", "labels": {"a": "b", "c.d/e": "5"}}});
    for resource in crate::builtin::resources().into_iter().take(2) {
        if let Ok(selector) = Selector::parse(&resource, labels, fields) {
            selector.matches(&object);
        }
    }
}

/// A rule of a schema: compiled, its cost estimated, and run on an object and what it was.
pub fn cel(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    for wanted in [Wanted::Bool, Wanted::Text] {
        let Ok(program) = Program::compile(source, &SCHEMA, Root::Resource, true, wanted) else { continue };
        program.cost(&SCHEMA);
        let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": {
            "a": 1, "s": "x", "map": {"k": "v"}, "list": ["a", "b"], "set": ["a"], "items": [{"n": 1, "v": "x"}], "either": "1",
        }});
        let value = || Cel::of(&object, Some(&SCHEMA), Root::Resource);
        drop(program.run(value(), Some(value()), &mut Budget::default()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// JSON out of the words that the schema and the directives know, so that random input gets somewhere.
    fn any_object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3i64).prop_map(Value::from),
            "[a-c]{0,2}|v1|replace|delete|merge|Apply|Update|FieldsV1".prop_map(Value::from),
        ];
        let tree = leaf.prop_recursive(5, 40, 5, |inner| {
            let name = "spec|a|s|map|whole|list|set|items|free|either|n|p|\\$patch|\\$retainKeys|\\$setElementOrder/items|\
                        \\$deleteFromPrimitiveList/list|f:spec|f:set|v:\"a\"|k:\\{\"n\":1\\}|op|path|value|\\.";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(name, inner, 0..5).prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        });
        (tree.clone(), tree).prop_map(|(spec, fields)| {
            json!({"apiVersion": "v1", "kind": "K", "spec": spec, "metadata": {"name": "x", "managedFields": [{
                "manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
            }]}})
        })
    }

    fn lines(first: &Value, rest: impl std::fmt::Display) -> Vec<u8> {
        format!("{first}\n{rest}").into_bytes()
    }

    proptest! {
        #[test]
        fn no_object_and_patch_panic(object in any_object(), patch in any_object()) {
            super::patch(&lines(&object, &patch));
            super::patch(&lines(&object, &patch["spec"]));
        }

        #[test]
        fn no_live_object_and_configuration_panic(live in any_object(), config in any_object()) {
            let mut config = config;
            crate::apply::take_managed_fields(&mut config);
            super::server_side_apply(&lines(&live, &config));
        }

        #[test]
        fn no_bytes_panic(data in prop::collection::vec(any::<u8>(), 0..64)) {
            super::patch(&data);
            super::server_side_apply(&data);
            super::selectors(&data);
            super::protobuf(&data);
            super::bodies(&data);
            super::cel(&data);
        }

        #[test]
        fn no_rule_panics(words in prop::collection::vec(
            "self\\.(spec|metadata\\.name)|\\.(a|s|map|list|items|either)|==|&&|\\|\\||\\+|-|\\(|\\)|\\[|\\]|,|!|\\?|:|1|'x'|\\{|\\}|\
             \\.(all|map|exists|filter)\\(x, |x|true|in|size\\(|has\\(|\\.matches\\('|oldSelf|\\.value\\(\\)|string\\(|/|%|<", 0..12,
        )) {
            super::cel(words.concat().as_bytes());
        }

        /// Tags and lengths that fit together, so that random input gets inside.
        #[test]
        fn no_message_panics(parts in prop::collection::vec((1u8..16, 0u8..6, prop::collection::vec(any::<u8>(), 0..12)), 0..6)) {
            let mut data = vec![0];
            for (number, wire, inside) in parts {
                data.push(number << 3 | wire);
                if wire == 2 {
                    data.push(u8::try_from(inside.len()).unwrap());
                }
                data.extend(inside);
            }
            super::protobuf(&data);
        }

        #[test]
        fn no_body_panics(text in "[\\[\\]{}:,\"'ab1&*!|>#%@\n\\\\u -]{0,32}") {
            super::bodies(text.as_bytes());
        }

        #[test]
        fn no_selector_panics(labels in "[a-z/.!=(), ]{0,16}|a (in|notin) \\([a-c,]{0,4}\\)", fields in "[a-z.!=,\\\\]{0,12}") {
            super::selectors(format!("{labels}\n{fields}").as_bytes());
        }
    }
}
