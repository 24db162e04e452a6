//! Whether an object fits its type well enough to be merged, with the texts in which upstream says that it does not.
//! Coarser than validation, which comes later.

use std::collections::BTreeSet;

use serde_json::Value;

use super::TypeError;
use super::path_element::PathElement;
use super::types::Type;
use crate::gotext;
use crate::schema::{Form, ListType, ScalarType};

/// Every way in which an object does not fit. `may_repeat` lets lists have an element more than once.
pub(crate) fn check(kind: Type<'_>, object: &Value, may_repeat: bool) -> Result<(), TypeError> {
    let mut errors = TypeError::default();
    visit(kind, object, may_repeat, &mut Vec::new(), &mut errors);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn visit(kind: Type<'_>, value: &Value, may_repeat: bool, path: &mut Vec<PathElement>, errors: &mut TypeError) {
    if value.is_null() {
        return;
    }
    match (kind.form(Some(value)), value) {
        (Form::Map, Value::Object(fields)) => {
            for (name, value) in fields {
                path.push(PathElement::field(name));
                let field = kind.field(name);
                match &field {
                    Some(field) => visit(field.inner, value, may_repeat, path, errors),
                    None => errors.push(path, "field not declared in schema"),
                }
                path.pop();
                if field.is_none() {
                    return;
                }
            }
        }
        (Form::List, Value::Array(items)) => list(kind, items, may_repeat, path, errors),
        (Form::Map, other) => errors.push(path, format!("expected map, got &{{{}}}", gotext::plain(other))),
        (Form::List, other) => errors.push(path, format!("expected list, got &{{{}}}", gotext::plain(other))),
        (Form::Scalar, value) => {
            if let Some(problem) = scalar(kind.scalar_type(), value) {
                errors.push(path, problem);
            }
        }
    }
}

fn list(kind: Type<'_>, items: &[Value], may_repeat: bool, path: &mut Vec<PathElement>, errors: &mut TypeError) {
    let atomic = kind.list_type() == ListType::Atomic;
    let mut seen = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        let element = if atomic {
            PathElement::Index(i64::try_from(at).unwrap_or(i64::MAX))
        } else {
            match kind.identify(item) {
                Ok(element) => element,
                Err(problem) => {
                    errors.push(path, format!("element {at}: {problem}"));
                    return;
                }
            }
        };
        if !seen.insert(element.clone()) && !may_repeat {
            errors.push(path, format!("duplicate entries for key {element}"));
        }
        path.push(element);
        visit(kind.element(), item, may_repeat, path, errors);
        path.pop();
    }
}

fn scalar(wanted: ScalarType, value: &Value) -> Option<String> {
    match (wanted, value) {
        (ScalarType::Numeric, Value::Number(_))
        | (ScalarType::Text, Value::String(_))
        | (ScalarType::Boolean, Value::Bool(_))
        | (ScalarType::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (ScalarType::Numeric, other) => {
            Some(format!("expected numeric (int or float), got {}", gotext::type_name(other)))
        }
        (ScalarType::Text, other) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", gotext::syntax(other)))
        }
        (ScalarType::Boolean, other) => Some(format!("expected boolean, got &{{{}}}", gotext::plain(other))),
        (ScalarType::Any, other) => Some(format!("expected any scalar, got &{{{}}}", gotext::plain(other))),
    }
}
