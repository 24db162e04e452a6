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
    visit(kind, object, may_repeat, Place::Top, &mut errors);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Where a value is. Made into a path only for an error: nearly every object has none.
#[derive(Clone, Copy)]
enum Place<'a> {
    Top,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
    Element(&'a Place<'a>, &'a PathElement),
}

impl Place<'_> {
    fn path(self) -> Vec<PathElement> {
        let (above, step) = match self {
            Self::Top => return Vec::new(),
            Self::Field(above, name) => (above, PathElement::field(name)),
            Self::Item(above, at) => (above, PathElement::Index(i64::try_from(at).unwrap_or(i64::MAX))),
            Self::Element(above, element) => (above, element.clone()),
        };
        let mut path = above.path();
        path.push(step);
        path
    }
}

fn visit(kind: Type<'_>, value: &Value, may_repeat: bool, place: Place<'_>, errors: &mut TypeError) {
    if value.is_null() {
        return;
    }
    match (kind.form(Some(value)), value) {
        (Form::Map, Value::Object(fields)) => {
            for (name, value) in fields {
                let inside = Place::Field(&place, name);
                let Some(field) = kind.field(name) else {
                    errors.push(&inside.path(), "field not declared in schema");
                    return;
                };
                visit(field.inner, value, may_repeat, inside, errors);
            }
        }
        (Form::List, Value::Array(items)) => list(kind, items, may_repeat, place, errors),
        (Form::Map, other) => errors.push(&place.path(), format!("expected map, got &{{{}}}", gotext::plain(other))),
        (Form::List, other) => errors.push(&place.path(), format!("expected list, got &{{{}}}", gotext::plain(other))),
        (Form::Scalar, value) => {
            if let Some(problem) = scalar(kind.scalar_type(), value) {
                errors.push(&place.path(), problem);
            }
        }
    }
}

fn list(kind: Type<'_>, items: &[Value], may_repeat: bool, place: Place<'_>, errors: &mut TypeError) {
    if kind.list_type() == ListType::Atomic {
        for (at, item) in items.iter().enumerate() {
            visit(kind.element(), item, may_repeat, Place::Item(&place, at), errors);
        }
        return;
    }
    let mut seen = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        let element = match kind.identify(item) {
            Ok(element) => element,
            Err(problem) => {
                errors.push(&place.path(), format!("element {at}: {problem}"));
                return;
            }
        };
        if !may_repeat && seen.contains(&element) {
            errors.push(&place.path(), format!("duplicate entries for key {element}"));
        }
        visit(kind.element(), item, may_repeat, Place::Element(&place, &element), errors);
        if !may_repeat {
            seen.insert(element);
        }
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
