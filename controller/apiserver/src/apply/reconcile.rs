//! Fitting what a manager owns to a schema that changed since: what was granular and is atomic now is owned whole.

use super::field_set::FieldSet;
use super::path_element::PathElement;
use super::types::Type;
use crate::schema::{Form, ListType};

/// The set as the present schema would have it.
pub(crate) fn reconcile(kind: Type<'_>, set: FieldSet) -> FieldSet {
    let mut changes = FieldSet::default();
    visit(kind, Some(&set), false, &mut Vec::new(), &mut changes);
    if changes.is_empty() { set } else { set.without(&changes).union(&changes) }
}

fn visit<'s>(
    kind: Type<'_>,
    set: Option<&'s FieldSet>,
    is_atomic: bool,
    path: &mut Vec<&'s PathElement>,
    changes: &mut FieldSet,
) {
    let mut insert = |path: &[&PathElement]| changes.insert(&path.iter().copied().cloned().collect::<Vec<_>>());
    let owns_below = set.is_some_and(|set| !set.is_empty());
    match kind.only_form() {
        // Where the value tells the form there was never anything to change.
        None | Some(Form::Scalar) => {}
        Some(Form::List) if kind.list_type() == ListType::Atomic => {
            if !is_atomic && !path.is_empty() {
                insert(path);
            }
        }
        Some(Form::Map) if kind.is_atomic_map() => {
            if !is_atomic && owns_below {
                insert(path);
            }
        }
        Some(Form::List | Form::Map) => {
            let Some(set) = set else { return };
            let inner_only = set.children().map(|(element, _)| element).filter(|element| !set.has_member(element));
            for element in inner_only.chain(set.members()) {
                let inner = match element {
                    PathElement::Field(name) => match kind.field(name) {
                        Some(field) => field.inner,
                        None => continue,
                    },
                    _ => kind.element(),
                };
                let below = set.below(element);
                path.push(element);
                visit(inner, below, set.has_member(element) && below.is_none(), path, changes);
                path.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    #[test]
    fn what_became_atomic_is_owned_whole() {
        let owned = FieldSet::decode(&json!({"f:spec": {
            "f:list": {"v:\"a\"": {}, "v:\"b\"": {}}, "f:map": {"f:x": {}}, "f:kept": {"f:y": {}},
        }}))
        .unwrap();
        let schema = Schema::parse(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": {"type": "string"}}},
            "kept": {"type": "object", "properties": {"y": {"type": "string"}}},
        }}}}))
        .unwrap();
        let wanted = FieldSet::of(&[&["spec", "list"], &["spec", "map"], &["spec", "kept", "y"]]);
        assert_eq!(reconcile(Type::Plain(&schema), owned), wanted);
        assert_eq!(reconcile(Type::Plain(&schema), wanted.clone()), wanted);
    }
}
