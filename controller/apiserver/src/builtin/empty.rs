//! What Go's types make of nothing: a null in a list or map is the zero value, and a list or map without anything in it
//! is not written where it may be left out.

use serde_json::{Map, Value};

use super::idl::{Field, Kind, Many, Message};

/// Kinds whose schemas are data to them, in which an empty list may say something.
const KEPT: &str = "apiextensions.";

/// Lists that may be missing and are yet written when there is nothing in them.
const WRITTEN: &[(&str, &str)] = &[("rbac.v1.Role", "rules"), ("rbac.v1.ClusterRole", "rules")];

/// Brings a checked object into the form in which Go would write it.
pub(crate) fn settle(message: &'static Message, object: &mut Value) {
    if message.name.starts_with(KEPT) {
        return;
    }
    if let Some(fields) = object.as_object_mut() {
        settle_fields(message, fields);
    }
}

fn settle_fields(message: &'static Message, fields: &mut Map<String, Value>) {
    fields.retain(|name, value| {
        let Some(field) = message.field(name) else { return true };
        match (field.many, &mut *value) {
            (Many::One, Value::Object(inner)) => {
                if let Some(message) = field.message() {
                    settle_fields(message, inner);
                }
            }
            (Many::List, Value::Array(items)) => items.iter_mut().for_each(|item| settle_one(field, item)),
            (Many::Map, Value::Object(entries)) => entries.values_mut().for_each(|entry| settle_one(field, entry)),
            _ => {}
        }
        let is_empty = match (field.many, value) {
            (Many::List, Value::Array(items)) => items.is_empty(),
            (Many::Map, Value::Object(entries)) => entries.is_empty(),
            _ => false,
        };
        !is_empty || field.is_required() || WRITTEN.contains(&(message.name, field.name))
    });
}

fn settle_one(field: &'static Field, value: &mut Value) {
    match (field.kind, &mut *value) {
        (Kind::Text | Kind::Bytes, Value::Null) => *value = "".into(),
        (Kind::Message(_), Value::Object(inner)) => {
            if let Some(message) = field.message() {
                settle_fields(message, inner);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_what_go_makes_of_it() {
        let message = Message::named("core.v1.ConfigMap").unwrap();
        let mut object = json!({"data": {"a": null, "b": "x"}, "binaryData": {}, "metadata": {
            "labels": {"l": null}, "annotations": {}, "finalizers": [null], "ownerReferences": [], "name": null,
        }});
        settle(message, &mut object);
        let wanted = json!({"data": {"a": "", "b": "x"}, "metadata": {
            "labels": {"l": ""}, "finalizers": [""], "name": null,
        }});
        assert_eq!(object, wanted);
        let mut none = json!({"rules": []});
        settle(Message::named("rbac.v1.ClusterRole").unwrap(), &mut none);
        assert_eq!(none, json!({"rules": []}));
        let mut role = json!({"rules": [{"verbs": [], "resources": []}]});
        settle(Message::named("rbac.v1.Role").unwrap(), &mut role);
        assert_eq!(role, json!({"rules": [{"verbs": []}]}));
    }
}
