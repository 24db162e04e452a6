//! Protobuf of which nothing is known but its bytes, as JSON: fields by number, so that two answers can be compared place
//! by place. What a length stands for is told by what is in it: text, else a message, else bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// What Kubernetes puts before its messages.
const PREFIX: &[u8] = b"k8s\0";
/// Deepest nesting looked at.
const DEPTH: usize = 32;

/// The fields of a whole body; nothing when it is no message.
pub(crate) fn decode(bytes: &[u8]) -> Option<Value> {
    let (name, rest) = match bytes.strip_prefix(PREFIX) {
        Some(rest) => ("k8s", rest),
        None => ("protobuf", bytes),
    };
    Some(Value::Object([(name.to_owned(), message(rest, 0)?)].into_iter().collect()))
}

fn message(mut bytes: &[u8], depth: usize) -> Option<Value> {
    let mut fields: Map<String, Value> = Map::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => varint(&mut bytes)?.into(),
            1 => STANDARD.encode(take(&mut bytes, 8)?).into(),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                delimited(take(&mut bytes, length)?, depth)
            }
            5 => STANDARD.encode(take(&mut bytes, 4)?).into(),
            _ => return None,
        };
        let number = key >> 3;
        if number == 0 {
            return None;
        }
        let values = fields.entry(number.to_string()).or_insert_with(|| Value::Array(Vec::new()));
        values.as_array_mut()?.push(value);
    }
    Some(fields.into())
}

fn delimited(bytes: &[u8], depth: usize) -> Value {
    let text = std::str::from_utf8(bytes).ok();
    if let Some(text) = text.filter(|text| !text.contains(|letter: char| letter.is_control() && letter != '\n')) {
        return text.into();
    }
    let inner = if depth < DEPTH { message(bytes, depth + 1) } else { None };
    inner.unwrap_or_else(|| STANDARD.encode(bytes).into())
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *take(bytes, 1)?.first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_show_by_number() {
        // an envelope: the type (version and kind), then the object's bytes
        let body = b"k8s\0\x0a\x0a\x0a\x02v1\x12\x04Kind\x12\x05\x08\x96\x01\x08\x01";
        let wanted = json!({"k8s": {"1": [{"1": ["v1"], "2": ["Kind"]}], "2": [{"1": [150, 1]}]}});
        assert_eq!(decode(body).unwrap(), wanted);
        assert_eq!(decode(b"\x0a\x05ab"), None, "cut off");
        assert_eq!(decode(b"\x0a\x02\xff\xfe").unwrap(), json!({"protobuf": {"1": ["//4="]}}));
    }
}
