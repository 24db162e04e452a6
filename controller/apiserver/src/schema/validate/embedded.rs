//! Objects inside objects (`x-kubernetes-embedded-resource`): each says its version and kind.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::super::Schema;
use super::super::path::Path;
use crate::status::Cause;

static KIND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^[a-z]([-a-z0-9]*[a-z0-9])?$").ok());

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
    if let Some(metadata) = fields.get("metadata").filter(|metadata| !metadata.is_object()) {
        fault("metadata", metadata, "must be an object");
    }
}
