//! Objects inside objects (`x-kubernetes-embedded-resource`): each says its version and kind.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::super::Schema;
use super::super::path::Path;
use crate::status::Cause;

static KIND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^[a-z]([-a-z0-9]*[a-z0-9])?$").ok());

static LABEL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$").ok());

/// Adds the faults of embedded objects' own fields.
pub(super) fn check(schema: &Schema, value: &Value, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if !schema.inside.embedded {
        return;
    }
    match value {
        Value::Object(fields) => {
            if schema.embedded {
                check_one(fields, path, causes);
            }
            for (name, value) in fields {
                if let Some(inner) = schema.properties.get(name) {
                    check(inner, value, &path.field(name), causes);
                } else if let Some(inner) = &schema.additional {
                    check(inner, value, &path.key(name), causes);
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = &schema.items {
                for (at, item) in items.iter().enumerate() {
                    check(inner, item, &path.index(at), causes);
                }
            }
        }
        _ => {}
    }
}

fn check_one(fields: &Map<String, Value>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    for name in ["apiVersion", "kind"].into_iter().filter(|name| !fields.contains_key(*name)) {
        causes.push(Cause::required(&path.field(name).bracketed()));
    }
    let mut fault = |name: &str, value: &Value, detail: &str| {
        causes.push(Cause::invalid(&path.field(name).bracketed(), value, detail));
    };
    for name in ["apiVersion", "kind"] {
        let Some(value) = fields.get(name) else { continue };
        match value.as_str() {
            None => fault(name, value, "must be a string"),
            Some("") => fault(name, value, "must not be empty"),
            Some(text) if name == "apiVersion" && text.matches('/').count() > 1 => {
                fault(name, value, &format!("unexpected GroupVersion string: {text}"));
            }
            Some(text) if name == "kind" => {
                let text = text.to_lowercase();
                let fits = text.len() <= 63 && KIND.as_ref().is_none_or(|pattern| pattern.is_match(&text));
                if !fits {
                    let detail = "may have mixed case, but should otherwise match: a DNS-1035 label must consist of \
                                  lower case alphanumeric characters or '-', start with an alphabetic character, and \
                                  end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
                                  validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
                    fault(name, value, detail);
                }
            }
            Some(_) => {}
        }
    }
    let Some(metadata) = fields.get("metadata") else { return };
    let path = path.field("metadata");
    let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
    if matches!(name, "." | "..") {
        causes.push(Cause::invalid(&path.field("name").bracketed(), &name.into(), &format!("may not be '{name}'")));
    }
    for illegal in ["/", "%"].into_iter().filter(|illegal| name.contains(illegal)) {
        let detail = format!("may not contain '{illegal}'");
        causes.push(Cause::invalid(&path.field("name").bracketed(), &name.into(), &detail));
    }
    for label in metadata.get("labels").and_then(Value::as_object).into_iter().flat_map(Map::values) {
        let text = label.as_str().unwrap_or_default();
        if !LABEL.as_ref().is_none_or(|pattern| pattern.is_match(text)) {
            let detail = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                          '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                          'my_value',  or '12345', regex used for validation is \
                          '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
            causes.push(Cause::invalid(&path.field("labels").bracketed(), label, detail));
        }
    }
}

/// What keeps an embedded object from being read at all; upstream answers 400 then.
pub(crate) fn unreadable(schema: &Schema, value: &Value, path: &Path<'_>) -> Option<String> {
    if !schema.inside.embedded {
        return None;
    }
    match value {
        Value::Object(fields) => {
            let own =
                schema.embedded.then(|| fields.iter().find_map(|(name, value)| unreadable_field(name, value, path)));
            own.flatten().or_else(|| {
                fields.iter().find_map(|(name, value)| match (schema.properties.get(name), &schema.additional) {
                    (Some(inner), _) => unreadable(inner, value, &path.field(name)),
                    (None, Some(inner)) => unreadable(inner, value, &path.key(name)),
                    (None, None) => None,
                })
            })
        }
        Value::Array(items) => {
            let inner = schema.items.as_deref()?;
            items.iter().enumerate().find_map(|(at, item)| unreadable(inner, item, &path.index(at)))
        }
        _ => None,
    }
}

fn unreadable_field(name: &str, value: &Value, path: &Path<'_>) -> Option<String> {
    let path = path.field(name);
    let detail = match (name, value) {
        ("apiVersion" | "kind", Value::String(_)) => return None,
        ("apiVersion" | "kind", _) => "must be a string".to_owned(),
        ("metadata", Value::Object(fields)) => {
            let texts = |name: &str| fields.get(name).and_then(Value::as_object).into_iter().flat_map(Map::values);
            let odd = |name: &'static str| Some((name, texts(name).find(|value| !value.is_string())?));
            let (name, odd) = odd("annotations").or_else(|| odd("labels"))?;
            let found = json_type(odd);
            format!("json: cannot unmarshal {found} into Go struct field ObjectMeta.{name} of type string")
        }
        ("metadata", other) if !other.is_null() => {
            format!("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", json_type(other))
        }
        _ => return None,
    };
    Some(Cause::invalid(&path.bracketed(), value, &detail).line())
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
