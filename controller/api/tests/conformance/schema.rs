//! Two schemas, property by property, in both directions.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::compare::Differences;

/// Keywords whose values are compared as they are.
const KEYWORDS: [&str; 26] = [
    "type",
    "format",
    "default",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "nullable",
    "anyOf",
    "allOf",
    "oneOf",
    "not",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
];

pub(crate) fn compare(found: &mut Differences, path: &str, ours: &Value, theirs: &Value) {
    for keyword in KEYWORDS {
        // A default of false or {} is one: absent is not the same.
        if keyword == "default" && ours[keyword] != theirs[keyword] {
            let text = |schema: &Value| schema.get(keyword).map_or("none".to_owned(), Value::to_string);
            found.add(path, format!("default is {}, upstream {}", text(ours), text(theirs)));
        } else if keyword != "default" {
            found.value(path, keyword, &ours[keyword], &theirs[keyword]);
        }
    }
    sets(found, path, "required", &words(ours, "required"), &words(theirs, "required"));
    sets(found, path, "enum", &words(ours, "enum"), &words(theirs, "enum"));
    sets(found, path, "rule", &rules(ours), &rules(theirs));
    properties(found, path, &ours["properties"], &theirs["properties"]);
    for (inner, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        match (ours.get(inner), theirs.get(inner)) {
            (Some(ours), Some(theirs)) => compare(found, &format!("{path}{mark}"), ours, theirs),
            (None, None) => {}
            (ours, _) => found.add(path, format!("{inner} {}", side(ours.is_some()))),
        }
    }
}

fn properties(found: &mut Differences, path: &str, ours: &Value, theirs: &Value) {
    let empty = Map::new();
    let (ours, theirs) = (ours.as_object().unwrap_or(&empty), theirs.as_object().unwrap_or(&empty));
    for (name, wanted) in theirs {
        found.properties += 1;
        let path = format!("{path}.{name}");
        match ours.get(name) {
            Some(schema) => compare(found, &path, schema, wanted),
            None => found.add(&path, side(false)),
        }
    }
    for name in ours.keys().filter(|name| !theirs.contains_key(*name)) {
        found.add(&format!("{path}.{name}"), side(true));
    }
}

fn side(ours: bool) -> &'static str {
    if ours { "is ours alone" } else { "is missing in ours" }
}

fn sets(found: &mut Differences, path: &str, what: &str, ours: &BTreeSet<String>, theirs: &BTreeSet<String>) {
    for missing in theirs.difference(ours) {
        found.add(path, format!("{what} {missing} {}", side(false)));
    }
    for extra in ours.difference(theirs) {
        found.add(path, format!("{what} {extra} {}", side(true)));
    }
}

fn words(schema: &Value, keyword: &str) -> BTreeSet<String> {
    schema[keyword].as_array().into_iter().flatten().map(Value::to_string).collect()
}

/// CEL rules, whatever their white space.
fn rules(schema: &Value) -> BTreeSet<String> {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    rules
        .map(|rule| {
            let parts = ["rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"];
            let parts = parts.iter().filter_map(|part| match &rule[*part] {
                Value::Null => None,
                Value::String(text) => Some(format!("{part}={}", one_line(text))),
                other => Some(format!("{part}={other}")),
            });
            parts.collect::<Vec<_>>().join(" ")
        })
        .collect()
}
