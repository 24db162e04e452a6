//! Whether the metadata of a custom object can be read at all: the types of its fields, and the words in which upstream's
//! reader says that they are wrong. (Built-in kinds are read as a whole, elsewhere.)

use serde_json::Value;

/// The fields and their types in Go.
const FIELDS: &[(&str, &str)] = &[
    ("name", "string"),
    ("generateName", "string"),
    ("namespace", "string"),
    ("selfLink", "string"),
    ("uid", "types.UID"),
    ("resourceVersion", "string"),
    ("generation", "int64"),
    ("creationTimestamp", "v1.Time"),
    ("deletionTimestamp", "v1.Time"),
    ("deletionGracePeriodSeconds", "int64"),
    ("labels", "map[string]string"),
    ("annotations", "map[string]string"),
    ("ownerReferences", "[]v1.OwnerReference"),
    ("finalizers", "[]string"),
    ("managedFields", "[]v1.ManagedFieldsEntry"),
];

const OWNER_FIELDS: &[(&str, &str)] = &[
    ("apiVersion", "string"),
    ("kind", "string"),
    ("name", "string"),
    ("uid", "types.UID"),
    ("controller", "bool"),
    ("blockOwnerDeletion", "bool"),
];

/// The first thing that cannot be read; nothing when all can.
pub(super) fn unreadable(metadata: &Value) -> Option<String> {
    let Value::Object(fields) = metadata else {
        return Some(format!("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", json_type(metadata)));
    };
    fields.iter().find_map(|(name, value)| {
        let (_, wanted) = FIELDS.iter().find(|(field, _)| field == name)?;
        fault("ObjectMeta", name, wanted, value)
    })
}

fn fault(owner: &str, name: &str, wanted: &str, value: &Value) -> Option<String> {
    let wrong = |value: &Value, kind: &str| {
        let found = json_type(value);
        Some(format!("json: cannot unmarshal {found} into Go struct field {owner}.{name} of type {kind}"))
    };
    match (wanted, value) {
        (_, Value::Null)
        | ("string" | "types.UID", Value::String(_))
        | ("bool", Value::Bool(_))
        | ("v1.Time", Value::String(_)) => None,
        ("int64", Value::Number(number)) => match number.as_i64() {
            Some(_) => None,
            None => Some(format!(
                "json: cannot unmarshal number {number} into Go struct field {owner}.{name} of type int64"
            )),
        },
        ("v1.Time", other) => {
            let found = json_type(other);
            Some(format!("json: cannot unmarshal {found} into Go value of type string"))
        }
        ("map[string]string", Value::Object(fields)) => {
            let odd = fields.values().find(|value| !value.is_string() && !value.is_null())?;
            wrong(odd, "string")
        }
        ("[]string", Value::Array(items)) => {
            let odd = items.iter().find(|item| !item.is_string() && !item.is_null())?;
            wrong(odd, "string")
        }
        ("[]v1.OwnerReference", Value::Array(items)) => items.iter().find_map(|item| match item {
            Value::Object(fields) => fields.iter().find_map(|(field, value)| {
                let (_, wanted) = OWNER_FIELDS.iter().find(|(known, _)| known == field)?;
                fault("ObjectMeta", &format!("{name}.{field}"), wanted, value)
            }),
            Value::Null => None,
            other => wrong(other, "v1.OwnerReference"),
        }),
        ("[]v1.ManagedFieldsEntry", Value::Array(_)) => None,
        (wanted, other) => wrong(other, wanted),
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tells_what_cannot_be_read() {
        let cases = [
            (json!({"name": "a", "labels": {"a": "b"}, "finalizers": ["x"], "generation": 1}), None),
            (json!({"name": null, "labels": null, "unknown": 1}), None),
            (json!(1), Some("number into Go value of type v1.ObjectMeta")),
            (json!({"name": 1}), Some("number into Go struct field ObjectMeta.name of type string")),
            (json!({"labels": ["a"]}), Some("array into Go struct field ObjectMeta.labels of type map[string]string")),
            (json!({"labels": {"a": 1}}), Some("number into Go struct field ObjectMeta.labels of type string")),
            (json!({"finalizers": "x"}), Some("string into Go struct field ObjectMeta.finalizers of type []string")),
            (
                json!({"ownerReferences": [{"name": true}]}),
                Some("bool into Go struct field ObjectMeta.ownerReferences.name of type string"),
            ),
        ];
        for (metadata, wanted) in cases {
            let found = unreadable(&metadata);
            assert_eq!(found, wanted.map(|wanted| format!("json: cannot unmarshal {wanted}")), "{metadata}");
        }
    }
}
