//! What differs between two objects of one type: which fields came, went and changed. Containers that come or go count
//! with all that is in them, as upstream's comparison does.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::TypeError;
use super::field_set::FieldSet;
use super::path_element::{PathElement, same};
use super::types::Type;
use crate::schema::{Form, ListType};

/// Where an object says who owns its fields.
const ENTRIES: &str = "managedFields";

/// The outcome; no field is in more than one of the sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

impl Comparison {
    /// What came or was changed.
    pub(crate) fn touched(&self) -> FieldSet {
        self.modified.clone().union(&self.added)
    }
}

/// Compares two objects of one type, but for who owns their fields.
pub(crate) fn compare(kind: Type<'_>, old: &Value, new: &Value) -> Result<Comparison, TypeError> {
    let mut walker = Walker { path: Vec::new(), found: Comparison::default() };
    walker.visit(kind, Some(old), Some(new))?;
    Ok(walker.found)
}

struct Walker {
    path: Vec<PathElement>,
    found: Comparison,
}

impl Walker {
    fn visit(&mut self, kind: Type<'_>, old: Option<&Value>, new: Option<&Value>) -> Result<(), TypeError> {
        let (old_form, new_form) = (kind.form(old), kind.form(new));
        let is_leaf = match (old, new) {
            (_, None) => self.atom(kind, old_form, old, new)?,
            (None, _) => self.atom(kind, new_form, old, new)?,
            _ if old_form == new_form => self.atom(kind, new_form, old, new)?,
            _ => {
                self.atom(kind, old_form, old, new)?;
                self.atom(kind, new_form, old, new)?
            }
        };
        if !is_leaf {
            match (old, new) {
                (None, Some(_)) => self.found.added.insert(&self.path),
                (Some(_), None) => self.found.removed.insert(&self.path),
                _ => {}
            }
        }
        Ok(())
    }

    /// Compares as one form; true when the value was compared as one piece.
    fn atom(
        &mut self,
        kind: Type<'_>,
        form: Form,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<bool, TypeError> {
        match form {
            Form::Scalar => self.leaf(old, new),
            Form::Map => {
                let (left, right) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
                let both_empty = left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty);
                if !kind.is_atomic_map() && !both_empty {
                    self.fields(kind, left, right)?;
                    return Ok(false);
                }
                self.leaf(old, new);
            }
            Form::List => {
                let (left, right) = (old.and_then(Value::as_array), new.and_then(Value::as_array));
                let both_empty = left.is_none_or(Vec::is_empty) && right.is_none_or(Vec::is_empty);
                if kind.list_type() != ListType::Atomic && !both_empty {
                    self.items(kind, left.map_or(&[], Vec::as_slice), right.map_or(&[], Vec::as_slice))?;
                    return Ok(false);
                }
                self.leaf(old, new);
            }
        }
        Ok(true)
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, Some(_)) => self.found.added.insert(&self.path),
            (Some(_), None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if !same(old, new) => self.found.modified.insert(&self.path),
            _ => {}
        }
    }

    fn below(
        &mut self,
        element: PathElement,
        kind: Type<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<(), TypeError> {
        self.path.push(element);
        let result = self.visit(kind, old, new);
        self.path.pop();
        result
    }

    fn fields(
        &mut self,
        kind: Type<'_>,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
    ) -> Result<(), TypeError> {
        let empty = Map::new();
        let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
        let added = new.keys().filter(|name| !old.contains_key(*name));
        for name in old.keys().chain(added) {
            // What the schema does not know of has no type to compare by: the value tells.
            let (left, right) = (old.get(name), new.get(name));
            // Most of an object stays as it is, and nothing of that is to be found.
            if left == right || (name == ENTRIES && self.is_in_metadata()) {
                continue;
            }
            let inner = kind.field(name).map_or(Type::Deduced, |field| field.inner);
            self.below(PathElement::field(name), inner, left, right)?;
        }
        Ok(())
    }

    fn is_in_metadata(&self) -> bool {
        matches!(self.path.as_slice(), [PathElement::Field(name)] if name == "metadata")
    }

    fn items(&mut self, kind: Type<'_>, old: &[Value], new: &[Value]) -> Result<(), TypeError> {
        let (old, new) = (self.by_identity(kind, old)?, self.by_identity(kind, new)?);
        let added = new.keys().filter(|element| !old.contains_key(*element));
        for element in old.keys().chain(added) {
            let left = old.get(element).map_or(&[][..], Vec::as_slice);
            let right = new.get(element).map_or(&[][..], Vec::as_slice);
            self.item(kind.element(), element, left, right)?;
        }
        Ok(())
    }

    /// One element, or, where a list has it more than once, all of them as one piece.
    fn item(&mut self, kind: Type<'_>, element: &PathElement, old: &[&Value], new: &[&Value]) -> Result<(), TypeError> {
        let (first_old, first_new) = (old.first().copied(), new.first().copied());
        match (old.len() > 1, new.len() > 1) {
            (false, false) => return self.below(element.clone(), kind, first_old, first_new),
            (true, true) => {
                let equal = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new));
                if !equal {
                    self.mark(element, |found| &mut found.modified);
                }
            }
            (true, false) => {
                if first_new.is_some() {
                    self.below(element.clone(), kind, None, first_new)?;
                }
                self.mark(element, |found| &mut found.removed);
            }
            (false, true) => {
                if first_old.is_some() {
                    self.below(element.clone(), kind, first_old, None)?;
                }
                self.mark(element, |found| &mut found.added);
            }
        }
        Ok(())
    }

    fn mark(&mut self, element: &PathElement, set: fn(&mut Comparison) -> &mut FieldSet) {
        self.path.push(element.clone());
        set(&mut self.found).insert(&self.path);
        self.path.pop();
    }

    fn by_identity<'v>(
        &self,
        kind: Type<'_>,
        items: &'v [Value],
    ) -> Result<BTreeMap<PathElement, Vec<&'v Value>>, TypeError> {
        let mut found: BTreeMap<PathElement, Vec<&Value>> = BTreeMap::new();
        for (at, item) in items.iter().enumerate() {
            let element = kind.identify(item).map_err(|problem| TypeError::at_item(&self.path, at, &problem))?;
            found.entry(element).or_default().push(item);
        }
        Ok(found)
    }
}
