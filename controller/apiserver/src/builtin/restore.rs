//! Whether a value that was never text (what a strategic patch made) can become a message, in the words of upstream's
//! converter, which is another one than its reader of JSON.

use serde_json::Value;

use super::decode::{check_bytes, check_time_of, go_kind};
use super::idl::{Field, Kind, Many, Message};
use crate::gotext::type_name;

/// Checks a whole object of a built-in kind.
///
/// # Errors
/// What upstream says about the first value that does not fit.
pub(crate) fn check(message: &'static Message, object: &Value) -> Result<(), String> {
    for field in ["kind", "apiVersion"] {
        object.get(field).map_or(Ok(()), |value| scalar("string", "string", value))?;
    }
    check_message(message, object)
}

fn check_message(message: &'static Message, value: &Value) -> Result<(), String> {
    let Some(fields) = value.as_object() else { return Err(format!("cannot restore struct from: {}", kind(value))) };
    message.inlined().try_for_each(|inner| check_message(inner, value))?;
    // In the order of the message: the first fault is told.
    for field in message.fields.iter().filter(|field| !field.is_inline()) {
        match fields.get(field.name) {
            None | Some(Value::Null) => {}
            Some(value) => check_field(field, value)?,
        }
    }
    Ok(())
}

fn check_field(field: &'static Field, value: &Value) -> Result<(), String> {
    match (field.many, value) {
        (Many::One, value) => check_one(field, value),
        (Many::List, Value::Array(items)) => items.iter().try_for_each(|item| check_one(field, item)),
        (Many::Map, Value::Object(entries)) => entries.values().try_for_each(|entry| check_one(field, entry)),
        (Many::List, other) => Err(format!("cannot restore slice from {}", kind(other))),
        (Many::Map, other) => Err(format!("cannot restore map from {}", kind(other))),
    }
}

fn check_one(field: &'static Field, value: &Value) -> Result<(), String> {
    match (field.kind, value) {
        (_, Value::Null) | (Kind::Json, _) => Ok(()),
        (Kind::Text, value) => scalar("string", if field.name == "uid" { "types.UID" } else { "string" }, value),
        (Kind::Bool, value) => scalar("bool", "bool", value),
        (Kind::Int32, value) => scalar("int32", "int32", value),
        (Kind::Int64, value) => scalar("int64", "int64", value),
        (Kind::Double, value) => scalar("float64", "float64", value),
        (Kind::Bytes, Value::String(text)) => {
            check_bytes(text).map_err(|why| format!("error decoding from json: {why}"))
        }
        (Kind::Time | Kind::MicroTime, Value::String(text)) => check_time_of(field.kind, text),
        (Kind::Time | Kind::MicroTime, other) => {
            Err(format!("json: cannot unmarshal {} into Go value of type string", go_kind(other)))
        }
        (Kind::Texts, Value::Array(items)) => items.iter().try_for_each(|item| scalar("string", "string", item)),
        (Kind::Bytes | Kind::Texts, other) => Err(format!("cannot restore slice from {}", kind(other))),
        // Unions of upstream's schema language, which read themselves.
        (Kind::Message(name), _) if name.starts_with("apiextensions.v1.JSONSchemaProps") => Ok(()),
        (Kind::Message(_), value) => field.message().map_or(Ok(()), |inner| check_message(inner, value)),
    }
}

/// A value for a Go type of the basic kind `wanted`, which errors call `name`.
fn scalar(wanted: &str, name: &str, value: &Value) -> Result<(), String> {
    let number = matches!(wanted, "int32" | "int64" | "float64");
    match value {
        Value::Null => Ok(()),
        Value::String(_) if wanted == "string" => Ok(()),
        Value::Bool(_) if wanted == "bool" => Ok(()),
        Value::Number(found) if number => {
            let whole = found.as_f64().is_none_or(|found| found.fract() == 0.0);
            if whole || wanted == "float64" { Ok(()) } else { Err(format!("cannot convert {} to {name}", kind(value))) }
        }
        // Go would make a character of it.
        Value::Number(found) if wanted == "string" && !found.is_f64() => Err(format!("cannot convert int64 to {name}")),
        _ => Err(format!("unrecognized type: {wanted}")),
    }
}

/// The kind of Go's type of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => type_name(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The answers of a real server to strategic patches of a config map.
    #[test]
    fn misfits_read_as_upstream_says_them() {
        let cases = [
            (json!({"kind": 5}), "cannot convert int64 to string"),
            (json!({"data": 5}), "cannot restore map from int64"),
            (json!({"data": {"k": {"a": "b"}}}), "unrecognized type: string"),
            (json!({"immutable": "x"}), "unrecognized type: bool"),
            (json!({"binaryData": {"a": 5}}), "cannot restore slice from int64"),
            (json!({"binaryData": {"a": "%%"}}), "error decoding from json: illegal base64 data at input byte 0"),
            (json!({"metadata": 5}), "cannot restore struct from: int64"),
            (json!({"metadata": {"generation": "x"}}), "unrecognized type: int64"),
            (json!({"metadata": {"labels": ["x"]}}), "cannot restore map from slice"),
            (json!({"metadata": {"finalizers": [5]}}), "cannot convert int64 to string"),
            (json!({"metadata": {"deletionGracePeriodSeconds": 1.5}}), "cannot convert float64 to int64"),
            (json!({"metadata": {"ownerReferences": [{"uid": 5}]}}), "cannot convert int64 to types.UID"),
            (
                json!({"metadata": {"creationTimestamp": 5}}),
                "json: cannot unmarshal number into Go value of type string",
            ),
        ];
        let message = Message::named("core.v1.ConfigMap").unwrap();
        for (object, wanted) in cases {
            assert_eq!(check(message, &object).unwrap_err(), wanted, "{object}");
        }
        assert!(check(message, &json!({"data": {"a": null}, "metadata": {"generation": 1.0}})).is_ok());
    }
}
