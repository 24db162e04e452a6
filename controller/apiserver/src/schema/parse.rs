//! Reading a schema from the JSON of a definition.

use serde_json::Value;
use thiserror::Error;

use super::format::Format;
use super::{Bounds, Inside, Kind, ListType, PatchStrategy, Rule, Schema, child, pattern};
use crate::cel::Root;

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: {problem}")]
pub(crate) struct SchemaError {
    path: String,
    problem: String,
}

impl Schema {
    /// Parses a schema; every problem names the path inside the schema.
    pub(crate) fn parse(json: &Value) -> Result<Self, SchemaError> {
        parse(json, "", Root::Resource)
    }
}

fn fault(path: &str, problem: impl Into<String>) -> SchemaError {
    SchemaError { path: if path.is_empty() { "schema".to_owned() } else { path.to_owned() }, problem: problem.into() }
}

fn parse(json: &Value, path: &str, root: Root) -> Result<Schema, SchemaError> {
    let fields = json.as_object().ok_or_else(|| fault(path, "must be an object"))?;
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or_default();
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let one = |name: &str| match fields.get(name) {
        Some(inner) => below(inner, &child(path, name)).map(|schema| Some(Box::new(schema))),
        None => Ok(None),
    };
    let many = |name: &str| match fields.get(name).and_then(Value::as_array) {
        Some(list) => list.iter().map(|inner| below(inner, &child(path, name))).collect(),
        None => Ok(Vec::new()),
    };

    let mut schema = Schema {
        kind: text("type").map(|name| kind(name, path)).transpose()?,
        nullable: flag("nullable"),
        int_or_string: flag("x-kubernetes-int-or-string"),
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        embedded: flag("x-kubernetes-embedded-resource"),
        items: one("items")?,
        required: strings(fields.get("required")),
        default: fields.get("default").cloned(),
        allowed: fields.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        bounds: bounds(json),
        list: match text("x-kubernetes-list-type") {
            Some("map") => ListType::Map(strings(fields.get("x-kubernetes-list-map-keys"))),
            Some("set") => ListType::Set,
            _ => ListType::Atomic,
        },
        special_text: text("format").is_some_and(|format| !matches!(format, "" | "byte")),
        atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
        patch: PatchStrategy::parse(
            text("x-kubernetes-patch-strategy").unwrap_or_default(),
            text("x-kubernetes-patch-merge-key").unwrap_or_default(),
        ),
        all_of: many("allOf")?,
        any_of: many("anyOf")?,
        one_of: many("oneOf")?,
        not: one("not")?,
        ..Schema::default()
    };
    if let Some(written) = text("pattern") {
        let regex = pattern::compile(written).map_err(|error| fault(path, format!("pattern {written:?}: {error}")))?;
        schema.pattern = Some((written.to_owned(), regex));
    }
    if let Some(name) = text("format") {
        let kind = schema.kind.filter(|_| !schema.int_or_string);
        schema.format = Format::parse(kind, name).map(|format| (format, name.to_owned()));
    }
    match fields.get("additionalProperties") {
        // Any key, but nothing is said of its value, so that objects in it lose all they hold. As upstream.
        Some(Value::Bool(true)) => schema.additional = Some(Box::default()),
        Some(Value::Bool(false)) | None => {}
        Some(inner) => schema.additional = Some(Box::new(below(inner, &child(path, "additionalProperties"))?)),
    }
    if let Some(properties) = fields.get("properties").and_then(Value::as_object) {
        for (name, inner) in properties {
            schema.properties.insert(name.clone(), below(inner, &child(path, name))?);
        }
    }
    let rules = fields.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    schema.rules = rules.map(|rule| Rule::parse(rule, &schema, root)).collect();
    schema.inside = inside(&schema);
    Ok(schema)
}

/// A schema inside another.
fn below(json: &Value, path: &str) -> Result<Schema, SchemaError> {
    let embedded = json.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    parse(json, path, if embedded { Root::Resource } else { Root::Plain })
}

fn inside(schema: &Schema) -> Inside {
    let below = schema.properties.values().chain(schema.additional.as_deref()).chain(schema.items.as_deref());
    let here = Inside {
        keyed: schema.list != ListType::Atomic,
        embedded: schema.embedded,
        defaults: schema.default.is_some(),
        rules: !schema.rules.is_empty(),
    };
    below.fold(here, |sum, inner| Inside {
        keyed: sum.keyed || inner.inside.keyed,
        embedded: sum.embedded || inner.inside.embedded,
        defaults: sum.defaults || inner.inside.defaults,
        rules: sum.rules || inner.inside.rules,
    })
}

fn kind(name: &str, path: &str) -> Result<Kind, SchemaError> {
    Ok(match name {
        "object" => Kind::Object,
        "array" => Kind::Array,
        "string" => Kind::String,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "boolean" => Kind::Boolean,
        other => return Err(fault(path, format!("unknown type {other:?}"))),
    })
}

fn bounds(json: &Value) -> Bounds {
    let float = |name: &str| json.get(name).and_then(Value::as_f64);
    let count = |name: &str| json.get(name).and_then(Value::as_u64);
    let flag = |name: &str| json.get(name).and_then(Value::as_bool).unwrap_or_default();
    Bounds {
        minimum: float("minimum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        maximum: float("maximum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        multiple_of: float("multipleOf"),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
    }
}

fn strings(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
