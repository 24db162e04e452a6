//! Laying one object over another: what the upper one says wins, nothing is removed, lists with identities merge by
//! element. The order of list elements follows upstream's rule: like the upper list where it says, else like the lower.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::TypeError;
use super::path_element::PathElement;
use super::types::Type;
use crate::schema::{Form, ListType};

/// The lower object with the upper one laid over it; both of one type.
pub(crate) fn merge(kind: Type<'_>, lower: &Value, upper: &Value) -> Result<Value, TypeError> {
    Ok(visit(kind, Some(lower), Some(upper), &mut Vec::new())?.unwrap_or(Value::Null))
}

type Path = Vec<PathElement>;

fn visit(
    kind: Type<'_>,
    lower: Option<&Value>,
    upper: Option<&Value>,
    path: &mut Path,
) -> Result<Option<Value>, TypeError> {
    let leaf = || upper.or(lower).cloned();
    match kind.form(upper.or(lower)) {
        Form::Scalar => Ok(leaf()),
        Form::Map => {
            let (left, right) = (lower.and_then(Value::as_object), upper.and_then(Value::as_object));
            let both_empty = left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty);
            if kind.is_atomic_map() || both_empty { Ok(leaf()) } else { fields(kind, left, right, path).map(Some) }
        }
        Form::List => {
            let (left, right) = (lower.and_then(Value::as_array), upper.and_then(Value::as_array));
            let both_empty = left.is_none_or(Vec::is_empty) && right.is_none_or(Vec::is_empty);
            if kind.list_type() == ListType::Atomic || both_empty {
                return Ok(leaf());
            }
            let (left, right) = (left.map_or(&[][..], Vec::as_slice), right.map_or(&[][..], Vec::as_slice));
            items(kind, left, right, path).map(Some)
        }
    }
}

fn fields(
    kind: Type<'_>,
    lower: Option<&Map<String, Value>>,
    upper: Option<&Map<String, Value>>,
    path: &mut Path,
) -> Result<Value, TypeError> {
    let empty = Map::new();
    let (lower, upper) = (lower.unwrap_or(&empty), upper.unwrap_or(&empty));
    let mut merged = Map::new();
    for name in lower.keys().chain(upper.keys().filter(|name| !lower.contains_key(*name))) {
        let inner = kind.field(name).map_or(Type::Deduced, |field| field.inner);
        path.push(PathElement::field(name));
        if let Some(value) = visit(inner, lower.get(name), upper.get(name), path)? {
            merged.insert(name.clone(), value);
        }
        path.pop();
    }
    Ok(Value::Object(merged))
}

/// A list by the identities of its elements, in order.
struct Items<'v> {
    order: Vec<PathElement>,
    /// `None` where the list has an element more than once: such an element is not merged with another.
    values: BTreeMap<PathElement, Option<&'v Value>>,
}

impl<'v> Items<'v> {
    fn of(kind: Type<'_>, list: &'v [Value], may_repeat: bool, path: &Path) -> Result<Self, TypeError> {
        let (mut order, mut values) = (Vec::new(), BTreeMap::new());
        for (at, item) in list.iter().enumerate() {
            let element = kind.identify(item).map_err(|problem| TypeError::at_item(path, at, &problem))?;
            let repeated = values.contains_key(&element);
            if repeated && !may_repeat {
                return Err(TypeError::new(path, format!("duplicate entries for key {element}")));
            }
            values.insert(element.clone(), (!repeated).then_some(item));
            order.push(element);
        }
        Ok(Self { order, values })
    }

    fn has(&self, element: &PathElement) -> bool {
        self.values.contains_key(element)
    }

    fn get(&self, element: &PathElement) -> Option<&'v Value> {
        self.values.get(element).copied().flatten()
    }
}

/// Walks both lists at once. Elements that only the lower list has stay between the shared ones they stood between;
/// shared elements come in the upper list's order.
fn items(kind: Type<'_>, lower: &[Value], upper: &[Value], path: &mut Path) -> Result<Value, TypeError> {
    let right = Items::of(kind, upper, false, path)?;
    let left = Items::of(kind, lower, true, path)?;
    let mut shared: VecDeque<&PathElement> = right.order.iter().filter(|element| left.has(element)).collect();
    let mut next_shared = shared.pop_front();
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    let mut merged = Vec::new();
    let mut take = |element: &PathElement, lower: Option<&Value>, upper: Option<&Value>, path: &mut Path| {
        path.push(element.clone());
        let value = visit(kind.element(), lower, upper, path)?;
        path.pop();
        merged.extend(value);
        Ok::<_, TypeError>(())
    };
    let (mut l, mut r) = (0, 0);
    loop {
        match (left.order.get(l), right.order.get(r)) {
            (None, None) => break,
            (Some(element), Some(wanted)) if element == wanted => {
                done.insert(wanted);
                take(wanted, left.get(wanted), right.get(wanted), path)?;
                (l, r) = (l + 1, r + 1);
                next_shared = shared.pop_front();
                continue;
            }
            // Shared, but its turn has not come.
            (Some(element), Some(_)) if right.has(element) && next_shared.is_some_and(|next| next != element) => {
                l += 1;
                continue;
            }
            (Some(element), _) if !right.has(element) => {
                take(element, lower.get(l), None, path)?;
                l += 1;
                continue;
            }
            (Some(element), _) if done.contains(element) => l += 1,
            _ => {}
        }
        if let Some(element) = right.order.get(r) {
            done.insert(element);
            take(element, left.get(element), right.get(element), path)?;
            r += 1;
            if next_shared == Some(element) {
                next_shared = shared.pop_front();
            }
        }
    }
    Ok(Value::Array(merged))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    fn merged(schema: &Value, lower: Value, upper: Value) -> Value {
        let schema = Schema::parse(&json!({"type": "object", "properties": {"x": schema}})).unwrap();
        merge(Type::Plain(&schema), &json!({"x": lower}), &json!({"x": upper})).unwrap()["x"].take()
    }

    #[test]
    fn sets_keep_the_order_upstream_gives_them() {
        let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
        let cases = [
            (json!(["a", "b"]), json!(["c"]), json!(["a", "b", "c"])),
            (json!(["a", "b", "c"]), json!(["c", "a"]), json!(["b", "c", "a"])),
            (json!(["1", "2", "3"]), json!(["1", "1.5", "2"]), json!(["1", "1.5", "2", "3"])),
            (json!(["a", "x", "b"]), json!(["a", "b"]), json!(["a", "x", "b"])),
            (json!([]), json!(["b", "a"]), json!(["b", "a"])),
            (json!(["a"]), json!([]), json!(["a"])),
            (json!([]), json!([]), json!([])),
            (json!(["a", "a", "b"]), json!(["b"]), json!(["a", "a", "b"])),
        ];
        for (lower, upper, wanted) in cases {
            assert_eq!(merged(&set, lower.clone(), upper.clone()), wanted, "{lower} + {upper}");
        }
    }

    #[test]
    fn list_maps_merge_by_key_and_atomic_things_are_replaced() {
        let map = json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
            "items": {"type": "object", "properties": {
                "n": {"type": "string"}, "a": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}},
                "o": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            }},
        });
        let lower = json!([{"n": "x", "a": 1, "l": ["1", "2"], "o": {"p": "1"}}, {"n": "y", "a": 2}]);
        let upper = json!([{"n": "x", "l": ["3"], "o": {"q": "1"}}, {"n": "z"}]);
        let wanted = json!([{"n": "x", "a": 1, "l": ["3"], "o": {"q": "1"}}, {"n": "y", "a": 2}, {"n": "z"}]);
        assert_eq!(merged(&map, lower, upper), wanted);
    }
}
