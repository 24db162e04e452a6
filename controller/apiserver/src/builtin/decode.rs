//! Whether JSON can be read as a message, in the words in which Go's reader says that it cannot.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use super::idl::{Field, Kind, Many, Message};

/// How Go writes the layout of a time with microseconds.
const MICRO_LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";
const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// Checks a whole object of a built-in kind.
///
/// # Errors
/// What upstream says about the first value that does not fit.
pub(crate) fn check(message: &'static Message, object: &Value) -> Result<(), String> {
    check_message(message, object, "")
}

fn check_message(message: &'static Message, value: &Value, path: &str) -> Result<(), String> {
    let Some(fields) = value.as_object() else { return Ok(()) };
    for (name, value) in fields {
        if let Some(field) = message.field(name) {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            check_field(message, field, value, &path)?;
        }
    }
    Ok(())
}

fn check_field(message: &Message, field: &'static Field, value: &Value, path: &str) -> Result<(), String> {
    let misfit = |found: &Value, wanted: String| {
        let (found, owner) = (go_kind(found), message.go_name());
        Err(format!("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {wanted}"))
    };
    match (field.many, value) {
        (_, Value::Null) => Ok(()),
        (Many::One, value) => check_one(message, field, value, path),
        (Many::List, Value::Array(items)) => items.iter().try_for_each(|item| check_one(message, field, item, path)),
        (Many::Map, Value::Object(entries)) => {
            entries.values().try_for_each(|entry| check_one(message, field, entry, path))
        }
        (Many::List, other) => misfit(other, format!("[]{}", go_type(field))),
        (Many::Map, other) => misfit(other, format!("map[string]{}", go_type(field))),
    }
}

fn check_one(message: &Message, field: &'static Field, value: &Value, path: &str) -> Result<(), String> {
    let fits = match (field.kind, value) {
        (Kind::Json, _) | (_, Value::Null) => true,
        (Kind::Text, Value::String(_)) | (Kind::Bool, Value::Bool(_)) | (Kind::Double, Value::Number(_)) => true,
        (Kind::Int32, Value::Number(number)) => number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        (Kind::Int64, Value::Number(number)) => number.as_i64().is_some(),
        (Kind::Bytes, Value::String(text)) => return check_bytes(text),
        (Kind::Time, Value::String(text)) => return check_time(text, LAYOUT),
        (Kind::MicroTime, Value::String(text)) => return check_time(text, MICRO_LAYOUT),
        (Kind::Texts, Value::Array(items)) => items.iter().all(Value::is_string),
        (Kind::Message(_), value @ Value::Object(_)) => {
            return field.message().map_or(Ok(()), |inner| check_message(inner, value, path));
        }
        // Unions of upstream's schema language, which read themselves.
        (Kind::Message(name), _) if name.starts_with("apiextensions.v1.JSONSchemaPropsOr") => true,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let found = match value {
        Value::Number(number) => format!("number {number}"),
        other => go_kind(other).to_owned(),
    };
    let found = if matches!(field.kind, Kind::Int32 | Kind::Int64) { found } else { go_kind(value).to_owned() };
    let (owner, wanted) = (message.go_name(), go_type(field));
    Err(format!("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {wanted}"))
}

/// Whether a text is base64, as bytes are written.
pub(super) fn check_bytes(text: &str) -> Result<(), String> {
    if STANDARD.decode(text).is_ok() {
        return Ok(());
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let at = text.bytes().position(|byte| !fits(byte)).unwrap_or(text.len() / 4 * 4);
    Err(format!("illegal base64 data at input byte {at}"))
}

/// Whether a text is a time of this kind.
pub(super) fn check_time_of(kind: Kind, text: &str) -> Result<(), String> {
    check_time(text, if matches!(kind, Kind::MicroTime) { MICRO_LAYOUT } else { LAYOUT })
}

fn check_time(text: &str, layout: &str) -> Result<(), String> {
    let parsed = text.parse::<Timestamp>().is_ok();
    // A time with microseconds is written with all six digits of them.
    let micros = text.split_once('.').map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).count());
    if layout == MICRO_LAYOUT && parsed && micros != Some(6) {
        let rest = text.char_indices().nth(19).map_or("", |(at, _)| text.get(at..).unwrap_or_default());
        return Err(format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as \".000000\""));
    }
    if parsed {
        return Ok(());
    }
    Err(format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as \"2006\""))
}

/// What Go's reader calls a value.
pub(super) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn go_type(field: &Field) -> String {
    match field.kind {
        Kind::Text => "string".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Int32 => "int32".to_owned(),
        Kind::Int64 => "int64".to_owned(),
        Kind::Double => "float64".to_owned(),
        Kind::Bytes => "[]uint8".to_owned(),
        Kind::Time => "v1.Time".to_owned(),
        Kind::MicroTime => "v1.MicroTime".to_owned(),
        Kind::Json => "json.RawMessage".to_owned(),
        Kind::Texts => "[]string".to_owned(),
        Kind::Message(name) => format!("v1.{}", name.rsplit('.').next().unwrap_or(name)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The answers of a real server.
    #[test]
    fn misfits_read_as_upstream_says_them() {
        let cases = [
            (
                "core.v1.ConfigMap",
                json!({"data": {"a": 1}}),
                "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            ),
            (
                "core.v1.ConfigMap",
                json!({"data": "x"}),
                "json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string",
            ),
            ("core.v1.ConfigMap", json!({"binaryData": {"a": "@@"}}), "illegal base64 data at input byte 0"),
            (
                "core.v1.ConfigMap",
                json!({"immutable": "x"}),
                "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool",
            ),
            (
                "core.v1.ConfigMap",
                json!({"metadata": {"name": 1}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
            ),
            (
                "core.v1.ConfigMap",
                json!({"metadata": {"labels": {"a": 1}}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                "coordination.v1.Lease",
                json!({"spec": {"acquireTime": "2020-01-01T00:00:00Z"}}),
                "parsing time \"2020-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"",
            ),
        ];
        for (message, object, wanted) in cases {
            assert_eq!(check(Message::named(message).unwrap(), &object).unwrap_err(), wanted);
        }
        let good = json!({"data": {"a": "b"}, "binaryData": null, "metadata": {"creationTimestamp": null}});
        assert!(check(Message::named("core.v1.ConfigMap").unwrap(), &good).is_ok());
    }
}
