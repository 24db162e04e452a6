//! Which value of the old object a value stands for, and whether it is still the same: faults that were there before
//! are tolerated as long as nobody touches them (upstream's CRD validation ratcheting).

use serde_json::Value;

use super::super::Schema;
use super::super::structure::ListType;

/// The element of the old list that `item` continues: the one with the same keys. Only lists of type map have one.
pub(crate) fn counterpart<'o>(schema: &Schema, old: &'o Value, item: &Value) -> Option<&'o Value> {
    let ListType::Map(keys) = &schema.list else { return None };
    let same_keys = |old: &&Value| keys.iter().all(|key| old.get(key) == item.get(key));
    old.as_array()?.iter().find(same_keys)
}

/// Whether a value is what it was. The order of a list of type map does not count.
pub(crate) fn same(schema: Option<&Schema>, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(items), Value::Array(before)) => {
            let keyed = schema.filter(|schema| matches!(schema.list, ListType::Map(_)));
            let Some(keyed) = keyed else { return items == before };
            let continued = |item: &Value| {
                counterpart(keyed, old, item).is_some_and(|before| same(keyed.items.as_deref(), item, before))
            };
            items.len() == before.len() && items.iter().all(continued)
        }
        (Value::Object(fields), Value::Object(before)) => {
            fields.len() == before.len()
                && fields.iter().all(|(name, value)| {
                    let inner = schema.and_then(|schema| schema.field(name));
                    before.get(name).is_some_and(|before| same(inner, value, before))
                })
        }
        _ => new == old,
    }
}
