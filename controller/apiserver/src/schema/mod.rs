//! Structural schemas: the OpenAPI subset of CustomResourceDefinitions, parsed once, then used to prune unknown fields,
//! fill in defaults and validate. They know values, and nothing of requests or storage.

mod default;
mod field_path;
mod format;
mod parse;
mod path;
mod pattern;
mod prune;
mod rules;
mod size;
mod structure;
mod validate;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

pub(crate) use default::{default, drop_nulls};
pub(crate) use field_path::find as find_field;
pub(crate) use format::{Format, is_go_duration};
pub(crate) use parse::SchemaError;
pub(crate) use pattern::{compile as go_pattern, compile_once as go_pattern_once};
pub(crate) use prune::{prune, prune_value};
pub(crate) use rules::{Rule, check_default as check_rules};
pub(crate) use size::LARGEST_REQUEST;
pub(crate) use structure::{Form, ListType, PatchStrategy, ScalarType};
pub(crate) use validate::{Subject, check as check_value, unreadable, validate};

/// One node of a schema.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    kind: Option<Kind>,
    nullable: bool,
    int_or_string: bool,
    /// Fields that the schema does not name are kept.
    preserve_unknown: bool,
    /// The value is a whole object with apiVersion, kind and metadata of its own.
    embedded: bool,
    properties: BTreeMap<String, Schema>,
    additional: Option<Box<Schema>>,
    items: Option<Box<Schema>>,
    required: Vec<String>,
    default: Option<Value>,
    allowed: Vec<Value>,
    bounds: Bounds,
    /// As written, and compiled.
    pattern: Option<(String, Regex)>,
    /// One that is checked, and its name as written.
    format: Option<(Format, String)>,
    /// A text with a format of its own, checked or not: merges take any scalar for it.
    special_text: bool,
    list: ListType,
    /// The object is one value to server-side apply.
    atomic_map: bool,
    patch: PatchStrategy,
    all_of: Vec<Schema>,
    any_of: Vec<Schema>,
    one_of: Vec<Schema>,
    not: Option<Box<Schema>>,
    rules: Vec<Rule>,
    inside: Inside,
}

/// What is somewhere in a schema, so that walks need not go where there is nothing to find.
#[derive(Debug, Clone, Copy, Default)]
struct Inside {
    /// Lists of type set or map.
    keyed: bool,
    /// Embedded objects.
    embedded: bool,
    defaults: bool,
    rules: bool,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// Limits on numbers, lengths and counts.
#[derive(Debug, Default)]
struct Bounds {
    minimum: Option<f64>,
    exclusive_minimum: bool,
    maximum: Option<f64>,
    exclusive_maximum: bool,
    multiple_of: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    min_properties: Option<u64>,
    max_properties: Option<u64>,
}

impl Schema {
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.kind
    }

    pub(crate) fn is_int_or_string(&self) -> bool {
        self.int_or_string
    }

    /// The format that is checked.
    pub(crate) fn format(&self) -> Option<Format> {
        self.format.as_ref().map(|(format, _)| *format)
    }

    /// Its rules, compiled or not.
    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The schema of values whose key is not named.
    pub(crate) fn any_key(&self) -> Option<&Self> {
        self.additional.as_deref()
    }

    /// A schema that keeps and accepts everything.
    pub(crate) fn anything() -> Self {
        Self { kind: Some(Kind::Object), preserve_unknown: true, ..Self::default() }
    }
}

/// The path of a field, as error messages write it.
fn child(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

/// Fields every object has, which a schema need not name.
fn is_object_field(field: &str) -> bool {
    matches!(field, "apiVersion" | "kind" | "metadata")
}
