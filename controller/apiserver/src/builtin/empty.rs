//! What Go's types make of nothing: a null in a list or map is the zero value; a list or map without anything in it, and
//! a text, number or truth that is as if it were not set, are not written where they may be left out.

use serde_json::{Map, Value};

use super::idl::{Field, Kind, Many, Message};

/// Kinds whose schemas are data to them, in which an empty list may say something.
const KEPT: &str = "apiextensions.";

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
        !is_left_out(field, value)
    });
}

fn is_left_out(field: &Field, value: &Value) -> bool {
    match (field.many, field.kind, value) {
        (Many::List, _, Value::Array(items)) => items.is_empty() && !field.has("always") && !field.is_required(),
        (Many::Map, _, Value::Object(entries)) => entries.is_empty() && !field.is_required(),
        (Many::One, Kind::Text | Kind::Bytes | Kind::Bool | Kind::Int32 | Kind::Int64 | Kind::Double, value) => {
            let zero = match value {
                Value::String(text) => text.is_empty(),
                Value::Bool(truth) => !truth,
                Value::Number(number) => number.as_f64() == Some(0.0),
                _ => false,
            };
            zero && !field.has("ptr") && !field.has("zero")
        }
        _ => false,
    }
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

    /// The answers of a real server.
    #[test]
    fn what_is_as_if_not_there_goes() {
        let cases = [
            (
                "core.v1.ConfigMap",
                json!({"metadata": {"name": "a", "generateName": "", "generation": 0, "labels": {}}, "data": {},
                       "immutable": false}),
                json!({"metadata": {"name": "a"}, "immutable": false}),
            ),
            ("core.v1.ConfigMap", json!({"data": {"k": ""}}), json!({"data": {"k": ""}})),
            (
                "coordination.v1.Lease",
                json!({"spec": {"holderIdentity": "", "leaseTransitions": 0}}),
                json!({"spec": {"holderIdentity": "", "leaseTransitions": 0}}),
            ),
            (
                "rbac.v1.RoleBinding",
                json!({"subjects": [{"kind": "", "name": "", "namespace": "", "apiGroup": ""}], "roleRef": {"apiGroup": ""}}),
                json!({"subjects": [{"kind": "", "name": ""}], "roleRef": {"apiGroup": ""}}),
            ),
            ("rbac.v1.Role", json!({"rules": []}), json!({"rules": []})),
            (
                "core.v1.ServiceAccount",
                json!({"secrets": [{"name": "x", "kind": ""}]}),
                json!({"secrets": [{"name": "x"}]}),
            ),
            (
                "apiextensions.v1.CustomResourceValidation",
                json!({"openAPIV3Schema": {"default": "", "description": ""}}),
                json!({"openAPIV3Schema": {"default": "", "description": ""}}),
            ),
        ];
        for (message, mut object, wanted) in cases {
            settle(Message::named(message).unwrap(), &mut object);
            assert_eq!(object, wanted, "{message}");
        }
    }
}
