//! Which fields an object has: its leaves, the elements of its lists, the keys of its maps. This is what an apply makes
//! its manager the owner of.

use std::collections::BTreeMap;

use serde_json::Value;

use super::field_set::FieldSet;
use super::path_element::PathElement;
use super::types::Type;
use crate::schema::{Form, ListType};

/// The fields of an object. Elements that cannot be told apart are left out; a check before this reports them.
pub(crate) fn fields_of(kind: Type<'_>, object: &Value) -> FieldSet {
    let mut found = FieldSet::default();
    visit(kind, object, &mut Vec::new(), &mut found);
    found
}

fn visit(kind: Type<'_>, value: &Value, path: &mut Vec<PathElement>, found: &mut FieldSet) {
    match kind.form(Some(value)) {
        Form::Scalar => found.insert(path),
        Form::Map if kind.is_atomic_map() => found.insert(path),
        Form::List if kind.list_type() == ListType::Atomic => found.insert(path),
        Form::Map => {
            for (name, value) in value.as_object().into_iter().flatten() {
                let field = kind.field(name);
                let named = field.as_ref().is_some_and(|field| field.named);
                path.push(PathElement::field(name));
                visit(field.map_or(Type::Deduced, |field| field.inner), value, path, found);
                let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                if is_empty || !named {
                    found.insert(path);
                }
                path.pop();
            }
        }
        Form::List => {
            let mut by_identity: BTreeMap<PathElement, Vec<&Value>> = BTreeMap::new();
            for item in value.as_array().into_iter().flatten() {
                if let Ok(element) = kind.identify(item) {
                    by_identity.entry(element).or_default().push(item);
                }
            }
            for (element, items) in by_identity {
                path.push(element);
                // An element that is there more than once is owned as one piece.
                if let [only] = items.as_slice() {
                    visit(kind.element(), only, path, found);
                }
                found.insert(path);
                path.pop();
            }
        }
    }
}
