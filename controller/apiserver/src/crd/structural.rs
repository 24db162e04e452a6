//! Whether a schema is structural: every value has a type, and conditions (`anyOf` and the like) only narrow what is
//! defined outside of them.

use serde_json::{Map, Value, json};

use super::place::Place;
use crate::schema::go_pattern;
use crate::status::Cause;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// The faults of a schema, sorted by their text, as upstream reports them.
pub(super) fn check(schema: &Value, place: &Place<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    invariants(schema, Level::Root, place, &mut causes);
    complete_conditions(schema, schema, place, place, &mut causes);
    causes.sort_by_key(Cause::line);
    causes
}

fn text<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

fn object<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    schema.get(name).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn list<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = (usize, &'a Value)> + use<'a> {
    schema.get(name).and_then(Value::as_array).into_iter().flatten().enumerate()
}

fn invariants(schema: &Value, level: Level, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let kind = text(schema, "type");
    let items = schema.get("items").filter(|items| items.is_object());
    if kind == "array" && schema.get("items").is_none() {
        causes.push(Cause::required_as(&place.child("items").path(), "must be specified"));
    }
    if let Some(items) = items {
        invariants(items, Level::Item, &place.child("items"), causes);
    }
    let properties = place.child("properties");
    for (name, inner) in object(schema, "properties") {
        invariants(inner, Level::Field, &properties.key(name), causes);
    }
    let additional = schema.get("additionalProperties");
    if let Some(inner) = additional {
        let place = place.child("additionalProperties");
        if level == Level::Root {
            causes.push(Cause::forbidden(&place.path(), "must not be used at the root"));
        }
        if inner.is_object() {
            invariants(inner, Level::Field, &place, causes);
        }
    }
    extensions(schema, place, causes);
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let skip_any = schema.get("anyOf") == Some(&either);
    let skip_first = schema.pointer("/allOf/0/anyOf") == Some(&either);
    conditions(schema, skip_any, skip_first, level, place, causes);

    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let preserves = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let kind_path = place.child("type").path();
    if embedded && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(match kind {
            "" => Cause::required_as(&kind_path, detail),
            kind => Cause::invalid(&kind_path, &kind.into(), detail),
        });
    } else if kind.is_empty() && !flag(schema, "x-kubernetes-int-or-string") && !preserves {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        causes.push(Cause::required_as(&kind_path, detail));
    }
    if embedded && additional.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        causes.push(Cause::forbidden(&place.child("additionalProperties").path(), detail));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        causes.push(Cause::invalid(&kind_path, &kind.into(), "must be object at the root"));
    }
    own_fields(schema, level, embedded, place, causes);
    if embedded && !preserves && object(schema, "properties").next().is_none() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        causes.push(Cause::required_as(&properties.path(), detail));
    }
}

/// `apiVersion`, `kind` and `metadata` are what they are.
fn own_fields(schema: &Value, level: Level, embedded: bool, place: &Place<'_>, causes: &mut Vec<Cause>) {
    let is_object = level == Level::Root || embedded;
    let properties = place.child("properties");
    for (name, inner) in object(schema, "properties") {
        let place = properties.key(name);
        let kind = text(inner, "type");
        match name.as_str() {
            "kind" | "apiVersion" if is_object && kind != "string" => {
                causes.push(Cause::invalid(&place.child("type").path(), &kind.into(), "must be string"));
            }
            "metadata" => {
                if is_object && kind != "object" {
                    causes.push(Cause::invalid(&place.child("type").path(), &kind.into(), "must be object"));
                }
                if level == Level::Root && !only_names(inner) {
                    let detail = "must not specify anything other than name and generateName, but metadata is \
                                  implicitly specified";
                    causes.push(Cause::forbidden(&place.path(), detail));
                }
            }
            _ => {}
        }
    }
}

fn only_names(metadata: &Value) -> bool {
    let names = object(metadata, "properties").all(|(name, _)| matches!(name.as_str(), "name" | "generateName"));
    let mut others = metadata.as_object().into_iter().flat_map(Map::keys);
    names && others.all(|key| matches!(key.as_str(), "type" | "default" | "properties"))
}

fn extensions(schema: &Value, place: &Place<'_>, causes: &mut Vec<Cause>) {
    if !flag(schema, "x-kubernetes-int-or-string") {
        return;
    }
    for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if flag(schema, name) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            causes.push(Cause::invalid(&place.child(name).path(), &true.into(), detail));
        }
    }
}

fn conditions(
    schema: &Value,
    skip_any: bool,
    skip_first: bool,
    level: Level,
    place: &Place<'_>,
    causes: &mut Vec<Cause>,
) {
    if !skip_any {
        for (at, inner) in list(schema, "anyOf") {
            condition(inner, false, level, &place.child("anyOf").index(at), causes);
        }
    }
    for (at, inner) in list(schema, "allOf") {
        condition(inner, skip_first && at == 0, level, &place.child("allOf").index(at), causes);
    }
    for (at, inner) in list(schema, "oneOf") {
        condition(inner, false, level, &place.child("oneOf").index(at), causes);
    }
    if let Some(inner) = schema.get("not") {
        condition(inner, false, level, &place.child("not"), causes);
    }
    let pattern = text(schema, "pattern");
    if let Err(error) = go_pattern(pattern) {
        let why = super::pattern::explained(pattern, &error);
        let detail = format!("must be a valid regular expression, but isn't: {why}");
        causes.push(Cause::invalid(&place.child("pattern").path(), &pattern.into(), &detail));
    }
}

fn condition(schema: &Value, skip_any: bool, level: Level, place: &Place<'_>, causes: &mut Vec<Cause>) {
    conditions(schema, skip_any, false, level, place, causes);
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        condition(items, false, level, &place.child("items"), causes);
    }
    for (name, inner) in object(schema, "properties") {
        condition(inner, false, Level::Field, &place.child("properties").key(name), causes);
    }
    let mut forbid = |name: &str, detail: &str| causes.push(Cause::forbidden(&place.child(name).path(), detail));
    for name in ["type", "title", "description"] {
        if !text(schema, name).is_empty() {
            forbid(name, "must be empty to be structural");
        }
    }
    for name in ["additionalProperties", "default", "x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if schema.get(name).is_some() {
            forbid(name, "must be undefined to be structural");
        }
    }
    for name in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        if list(schema, name).next().is_some() {
            forbid(name, "must be empty to be structural");
        }
    }
    let flags = [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ];
    for name in flags {
        if flag(schema, name) {
            forbid(name, "must be false to be structural");
        }
    }
    if schema.pointer("/properties/metadata").is_some() {
        let place = place.child("properties").key("metadata").path();
        causes.push(Cause::forbidden(&place, "must not be specified in a nested context"));
    }
}

/// What conditions name must be defined outside of them. Only those at the root are looked at, as upstream.
fn complete_conditions(schema: &Value, outside: &Value, at: &Place<'_>, of: &Place<'_>, causes: &mut Vec<Cause>) {
    if let Some(inner) = schema.get("not") {
        complete(inner, outside, at, &of.child("not"), causes);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for (nth, inner) in list(schema, name) {
            complete(inner, outside, at, &of.child(name).index(nth), causes);
        }
    }
}

fn complete(schema: &Value, outside: &Value, at: &Place<'_>, of: &Place<'_>, causes: &mut Vec<Cause>) {
    complete_conditions(schema, outside, at, of, causes);
    let mut missing = |at: &Place<'_>, of: &Place<'_>| {
        causes.push(Cause::required_as(&at.path(), &format!("because it is defined in {}", of.path())));
    };
    if let Some(items) = schema.get("items") {
        let (at, of) = (at.child("items"), of.child("items"));
        match outside.get("items") {
            Some(outside) => complete(items, outside, &at, &of, causes),
            None => missing(&at, &of),
        }
    }
    for (name, inner) in object(schema, "properties") {
        let (properties, conditioned) = (at.child("properties"), of.child("properties"));
        let (at, of) = (properties.key(name), conditioned.key(name));
        match outside.get("properties").and_then(|properties| properties.get(name)) {
            Some(outside) => complete(inner, outside, &at, &of, causes),
            None => causes.push(Cause::required_as(&at.path(), &format!("because it is defined in {}", of.path()))),
        }
    }
}
