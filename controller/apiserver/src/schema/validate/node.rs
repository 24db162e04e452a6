//! One value against one node of a schema, and so on down. Follows kube-openapi's validator: which checks apply, in
//! which order, and how well an alternative of `anyOf` or `oneOf` fits, for the faults of the best one are reported.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::path::Path;
use super::super::{Kind, Schema};
use super::{scalar, unchanged};
use crate::gotext::quoted;
use crate::status::Cause;

/// A validation under way.
pub(super) struct Run<'r> {
    prefix: &'r str,
    limit: usize,
    causes: Vec<Cause>,
}

impl<'r> Run<'r> {
    pub(super) fn new(prefix: &'r str, limit: usize) -> Self {
        Self { prefix, limit, causes: Vec::new() }
    }

    /// The faults found, each text once.
    pub(super) fn into_causes(self) -> Vec<Cause> {
        if self.causes.len() < 2 {
            return self.causes;
        }
        let mut seen = HashSet::new();
        self.causes.into_iter().filter(|cause| seen.insert(cause.line())).collect()
    }

    /// The field that a cause names.
    pub(super) fn field(&self, path: &Path<'_>) -> String {
        let path = path.dotted();
        match (self.prefix, path.as_str()) {
            ("", _) => path,
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{path}"),
        }
    }

    pub(super) fn push(&mut self, cause: Cause) {
        if self.causes.len() < self.limit {
            self.causes.push(cause);
        }
    }

    /// A fault that upstream's validator reports without a field.
    pub(super) fn push_bare(&mut self, detail: &str) {
        let field = if self.prefix.is_empty() { "<nil>" } else { self.prefix };
        self.push(Cause::invalid(field, &"".into(), detail));
    }

    /// Checks a value and answers how many checks it passed. A value that did not change may be as bad as it was.
    pub(super) fn node(&mut self, schema: &Schema, value: &Value, old: Option<&Value>, path: &Path<'_>) -> u32 {
        let start = self.causes.len();
        let passed = self.check(schema, value, old, path);
        if self.causes.len() > start && old.is_some_and(|old| unchanged::same(Some(schema), value, old)) {
            self.causes.truncate(start);
        }
        passed
    }

    fn check(&mut self, schema: &Schema, value: &Value, old: Option<&Value>, path: &Path<'_>) -> u32 {
        if self.causes.len() >= self.limit {
            return 0;
        }
        if value.is_null() {
            let passed = self.null(schema, path);
            self.allowed(schema, value, path);
            return passed;
        }
        let mut passed = 3_u32;
        if schema.is_typed() || schema.format.is_some() {
            passed = passed.saturating_add(1).saturating_add(self.kind(schema, value, path));
        }
        passed = passed.saturating_add(self.combined(schema, value, old, path));
        match value {
            Value::String(text) => {
                passed = passed.saturating_add(if schema.format.is_some() { 2 } else { 1 });
                self.string(schema, text, value, path);
            }
            Value::Number(number) => {
                passed = passed.saturating_add(2);
                self.number(schema, number, value, path);
            }
            Value::Array(items) => {
                passed = passed.saturating_add(2).saturating_add(self.array(schema, items, old, path));
            }
            Value::Object(_) | Value::Bool(_) | Value::Null => {}
        }
        self.allowed(schema, value, path);
        if let Value::Object(fields) = value {
            passed = passed.saturating_add(1).saturating_add(self.object(schema, fields, old, path));
        }
        passed
    }

    fn null(&mut self, schema: &Schema, path: &Path<'_>) -> u32 {
        if schema.is_typed() && !schema.nullable {
            self.wrong_type(schema.type_names(), "null", path);
            return 0;
        }
        1
    }

    fn kind(&mut self, schema: &Schema, value: &Value, path: &Path<'_>) -> u32 {
        let (found, found_format) = match value {
            Value::Null => ("null", ""),
            Value::Bool(_) => ("boolean", ""),
            Value::Number(number) if number.is_i64() => ("integer", "int64"),
            Value::Number(_) => ("number", "float64"),
            Value::String(_) => ("string", ""),
            Value::Array(_) => ("array", ""),
            Value::Object(_) => ("object", ""),
        };
        let whole = value.as_f64().is_some_and(scalar::is_whole);
        let has = |name: &str| {
            if schema.int_or_string {
                matches!(name, "integer" | "string")
            } else {
                schema.kind.is_some_and(|k| k.name() == name)
            }
        };
        let numeric = has("integer") || has("number");
        let fits =
            has(found) || (found == "number" && whole && has("integer")) || (found == "integer" && has("number"));
        let has_text = value.is_string() || value.is_array();
        match &schema.format {
            // A format says more of what was wanted than the type.
            Some((_, name)) if !has_text && !fits && found_format != name => {
                self.wrong_type(name, found_format, path);
                0
            }
            Some(_) if has_text && !numeric => 1,
            _ if fits => 1,
            _ => {
                self.wrong_type(schema.type_names(), found, path);
                0
            }
        }
    }

    pub(super) fn wrong_type(&mut self, wanted: &str, found: &str, path: &Path<'_>) {
        let detail = format!("{} in body must be of type {wanted}: {}", path.dotted(), quoted(found));
        self.push(Cause::type_invalid(&self.field(path), &found.into(), &detail));
    }

    fn allowed(&mut self, schema: &Schema, value: &Value, path: &Path<'_>) {
        // A null is never among the allowed values, even when it is listed: upstream compares it to nothing.
        let listed = || !value.is_null() && schema.allowed.iter().any(|allowed| is_allowed(allowed, value));
        if !schema.allowed.is_empty() && !listed() {
            self.push(Cause::unsupported(&self.field(path), value, &schema.allowed));
        }
    }

    fn array(&mut self, schema: &Schema, items: &[Value], old: Option<&Value>, path: &Path<'_>) -> u32 {
        let mut passed = 0_u32;
        if let Some(inner) = &schema.items {
            for (at, item) in items.iter().enumerate() {
                let old = old.and_then(|old| unchanged::counterpart(schema, old, item));
                passed = passed.saturating_add(self.node(inner, item, old, &path.index(at)));
            }
        }
        let bounds = &schema.bounds;
        if let Some(min) = bounds.min_items.filter(|min| (items.len() as u64) < *min) {
            let detail = format!("{} in body should have at least {min} items", path.dotted());
            self.push(Cause::invalid(&self.field(path), &items.len().into(), &detail));
        }
        if let Some(max) = bounds.max_items.filter(|max| (items.len() as u64) > *max) {
            self.push(Cause::too_many(&self.field(path), items.len(), max));
        }
        passed
    }

    fn object(&mut self, schema: &Schema, fields: &Map<String, Value>, old: Option<&Value>, path: &Path<'_>) -> u32 {
        let bounds = &schema.bounds;
        if let Some(min) = bounds.min_properties.filter(|min| (fields.len() as u64) < *min) {
            let detail = format!("{} in body should have at least {min} properties", path.dotted());
            self.push(Cause::invalid(&self.field(path), &fields.len().into(), &detail));
        }
        if let Some(max) = bounds.max_properties.filter(|max| (fields.len() as u64) > *max) {
            self.push(Cause::too_many(&self.field(path), fields.len(), max));
        }
        let mut passed = 0_u32;
        // A version that differs is not seen here, for both objects were converted; so it excuses nothing.
        let before = |name: &str| {
            let hidden = path.is_root() && matches!(name, "apiVersion" | "kind");
            old.filter(|_| !hidden).and_then(|old| old.get(name))
        };
        if let Some(inner) = &schema.additional {
            for (name, value) in fields.iter().filter(|(name, _)| !schema.properties.contains_key(*name)) {
                passed = passed.saturating_add(self.node(inner, value, before(name), &path.key(name)));
            }
        }
        for (name, value) in fields {
            if let Some(inner) = schema.properties.get(name) {
                passed = passed.saturating_add(self.node(inner, value, before(name), &path.field(name)));
            }
        }
        for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
            self.push(Cause::required(&self.field(&path.field(name))));
        }
        passed
    }

    /// `anyOf`, `oneOf`, `allOf` and `not`.
    fn combined(&mut self, schema: &Schema, value: &Value, old: Option<&Value>, path: &Path<'_>) -> u32 {
        let mut passed = 1_u32;
        if !schema.any_of.is_empty() {
            let best = self.best_of(&schema.any_of, value, old, path, true);
            if best.fitting == 0 {
                self.push_bare(&format!("{} must validate at least one schema (anyOf)", quoted(&path.dotted())));
            }
            passed = passed.saturating_add(best.passed);
            self.adopt(best.causes);
        }
        if !schema.one_of.is_empty() {
            let best = self.best_of(&schema.one_of, value, old, path, false);
            if best.fitting == 1 {
                passed = passed.saturating_add(best.passed);
            } else {
                let found = match best.fitting {
                    0 => "Found none valid".to_owned(),
                    many => format!("Found {many} valid alternatives"),
                };
                let path = quoted(&path.dotted());
                self.push_bare(&format!("{path} must validate one and only one schema (oneOf). {found}"));
                self.adopt(best.causes);
            }
        }
        if !schema.all_of.is_empty() {
            let mut fitting = 0_usize;
            for inner in &schema.all_of {
                let start = self.causes.len();
                passed = passed.saturating_add(self.check(inner, value, old, path));
                fitting = fitting.saturating_add(usize::from(self.causes.len() == start));
            }
            if fitting != schema.all_of.len() {
                let none = if fitting == 0 { ". None validated" } else { "" };
                self.push_bare(&format!("{} must validate all the schemas (allOf){none}", quoted(&path.dotted())));
            }
        }
        if let Some(inner) = &schema.not {
            let (_, causes) = self.aside(inner, value, old, path);
            if causes.is_empty() {
                self.push_bare(&format!("{} must not validate the schema (not)", quoted(&path.dotted())));
            }
        }
        passed
    }

    fn best_of(
        &mut self,
        alternatives: &[Schema],
        value: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
        first_is_enough: bool,
    ) -> Best {
        let mut best = Best { fitting: 0, passed: 0, causes: Vec::new() };
        let mut seen_failure = false;
        for inner in alternatives {
            let (passed, causes) = self.aside(inner, value, old, path);
            if causes.is_empty() {
                if best.fitting == 0 {
                    best.passed = passed;
                    best.causes.clear();
                }
                best.fitting = best.fitting.saturating_add(1);
                if first_is_enough {
                    break;
                }
            } else if best.fitting == 0 && (!seen_failure || passed > best.passed) {
                seen_failure = true;
                best.passed = passed;
                best.causes = causes;
            }
        }
        best
    }

    /// Checks without reporting.
    fn aside(&mut self, schema: &Schema, value: &Value, old: Option<&Value>, path: &Path<'_>) -> (u32, Vec<Cause>) {
        let mut run = Run::new(self.prefix, self.limit);
        let passed = run.check(schema, value, old, path);
        (passed, run.causes)
    }

    fn adopt(&mut self, causes: Vec<Cause>) {
        for cause in causes {
            self.push(cause);
        }
    }
}

/// Whether a value is one of an enum's. Upstream converts it to the type of the allowed one as Go does: floats are cut
/// to whole numbers, and a whole number is the character of that code.
fn is_allowed(allowed: &Value, value: &Value) -> bool {
    match (allowed, value) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64(), a.as_f64(), b.as_f64()) {
            (Some(a), Some(b), _, _) => a == b,
            (Some(a), None, _, Some(b)) => a == scalar::truncated(b),
            (_, _, a, b) => a == b,
        },
        (Value::String(text), Value::Number(code)) => {
            let code = code.as_i64().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
            code.is_some_and(|c| text.chars().eq([c]))
        }
        _ => allowed == value,
    }
}

/// How the alternatives of `anyOf` or `oneOf` went.
struct Best {
    fitting: usize,
    passed: u32,
    causes: Vec<Cause>,
}

impl Schema {
    pub(super) fn is_typed(&self) -> bool {
        self.kind.is_some() || self.int_or_string
    }

    pub(super) fn type_names(&self) -> &'static str {
        if self.int_or_string { "integer,string" } else { self.kind.map_or("", Kind::name) }
    }
}
