//! Bodies in Kubernetes' protobuf: `k8s`, a zero byte, and a `runtime.Unknown` around a message. They are read by the
//! table of messages into the JSON that the object would have been sent as; nothing is answered in protobuf.

mod wire;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Number, Value};

use crate::builtin::{Field, Kind, Many, Message};
use wire::{Payload, Reader};

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";
/// Deepest nesting of messages.
const DEPTH_LIMIT: usize = 64;

/// Why a body cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoMagic,
    #[error("empty data")]
    Empty,
    #[error("unexpected EOF")]
    Short,
    #[error("proto: integer overflow")]
    Overflow,
    #[error("proto: illegal wireType {0}")]
    WireType(u8),
    #[error("proto: illegal tag 0")]
    Tag,
    #[error("proto: wrong wireType = {found} for field {field}")]
    Mismatch { field: &'static str, found: u8 },
    #[error("proto: field {0} holds a value out of range")]
    Range(&'static str),
    #[error("proto: messages nested deeper than {DEPTH_LIMIT}")]
    Depth,
    #[error("the body is in an encoding that is not served")]
    Encoding,
}

/// A message and the kind it says it is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    raw: &'a [u8],
}

/// Whether a body has the form.
pub(crate) fn is_protobuf(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Opens the envelope.
pub(crate) fn open(bytes: &[u8]) -> Result<Envelope<'_>, Error> {
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    let mut reader = Reader::new(bytes.strip_prefix(MAGIC).ok_or(Error::NoMagic)?);
    let mut envelope = Envelope::default();
    while let Some((number, payload)) = reader.next()? {
        match (number, payload) {
            (1, Payload::Bytes(kind)) => (envelope.api_version, envelope.kind) = type_of(kind)?,
            (2, Payload::Bytes(raw)) => envelope.raw = raw,
            (3 | 4, Payload::Bytes(text)) if !text.is_empty() && text != b"application/vnd.kubernetes.protobuf" => {
                return Err(Error::Encoding);
            }
            _ => {}
        }
    }
    Ok(envelope)
}

/// A message in an envelope, as a client would send it.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn enveloped(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let mut out = vec![number << 3 | 2];
        let mut length = bytes.len();
        while length >= 0x80 {
            out.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
            length >>= 7;
        }
        out.push(u8::try_from(length).unwrap_or_default());
        out.extend_from_slice(bytes);
        out
    };
    let kind = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &kind), field(2, raw)].concat()
}

fn type_of(bytes: &[u8]) -> Result<(&str, &str), Error> {
    let (mut reader, mut found) = (Reader::new(bytes), ("", ""));
    while let Some((number, payload)) = reader.next()? {
        if let Payload::Bytes(text) = payload {
            let text = std::str::from_utf8(text).map_err(|_| Error::Range("typeMeta"))?;
            match number {
                1 => found.0 = text,
                2 => found.1 = text,
                _ => {}
            }
        }
    }
    Ok(found)
}

impl Envelope<'_> {
    /// The object inside, read as a message of this kind.
    pub(crate) fn decode(&self, message: &Message) -> Result<Value, Error> {
        let mut fields = Map::new();
        read_message(message, self.raw, DEPTH_LIMIT, &mut fields)?;
        for (name, text) in [("apiVersion", self.api_version), ("kind", self.kind)] {
            if !text.is_empty() {
                fields.insert(name.to_owned(), text.into());
            }
        }
        Ok(Value::Object(fields))
    }
}

fn read_message(message: &Message, bytes: &[u8], depth: usize, into: &mut Map<String, Value>) -> Result<(), Error> {
    let below = depth.checked_sub(1).ok_or(Error::Depth)?;
    let mut reader = Reader::new(bytes);
    while let Some((number, payload)) = reader.next()? {
        // Fields of newer versions are skipped, as upstream does.
        let Some(field) = message.fields.iter().find(|field| field.number == number) else { continue };
        if field.is_inline() {
            if let (Some(inner), Payload::Bytes(bytes)) = (field.message(), payload) {
                read_message(inner, bytes, below, into)?;
            }
            continue;
        }
        match field.many {
            Many::One => {
                if let Some(value) = read_value(field, payload, below)? {
                    merge(into, field.name, value);
                }
            }
            Many::List => {
                let value = read_value(field, payload, below)?.unwrap_or(Value::Null);
                let list = into.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
                if let Some(list) = list.as_array_mut() {
                    list.push(value);
                }
            }
            Many::Map => {
                let (key, value) = read_entry(field, payload, below)?;
                let map = into.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
                if let Some(map) = map.as_object_mut() {
                    map.insert(key, value);
                }
            }
        }
    }
    Ok(())
}

/// A field that comes twice counts once: messages merge, the last of other values stays.
fn merge(into: &mut Map<String, Value>, name: &str, value: Value) {
    match (into.get_mut(name), value) {
        (Some(Value::Object(before)), Value::Object(after)) => before.extend(after),
        (_, value) => _ = into.insert(name.to_owned(), value),
    }
}

fn read_entry(field: &Field, payload: Payload<'_>, depth: usize) -> Result<(String, Value), Error> {
    let Payload::Bytes(bytes) = payload else { return Err(mismatch(field, payload)) };
    let (mut reader, mut key, mut value) = (Reader::new(bytes), String::new(), None);
    while let Some((number, payload)) = reader.next()? {
        match (number, payload) {
            (1, Payload::Bytes(text)) => key = utf8(field, text)?,
            (2, payload) => value = read_value(field, payload, depth)?,
            _ => {}
        }
    }
    Ok((key, value.unwrap_or_else(|| empty(field))))
}

fn empty(field: &Field) -> Value {
    match field.kind {
        Kind::Text | Kind::Bytes => Value::from(""),
        Kind::Texts => Value::Array(Vec::new()),
        Kind::Message(_) => Value::Object(Map::new()),
        _ => Value::Null,
    }
}

/// One value; none for what means "absent": zero values that JSON would leave out too.
fn read_value(field: &Field, payload: Payload<'_>, depth: usize) -> Result<Option<Value>, Error> {
    let value = match (field.kind, payload) {
        (Kind::Text, Payload::Bytes(text)) => utf8(field, text)?.into(),
        (Kind::Bytes, Payload::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (Kind::Bool, Payload::Varint(flag)) => (flag != 0).into(),
        (Kind::Int32, Payload::Varint(number)) => {
            i32::try_from(number.cast_signed()).map_err(|_| Error::Range(field.name))?.into()
        }
        (Kind::Int64, Payload::Varint(number)) => number.cast_signed().into(),
        (Kind::Double, Payload::Fixed64(bits)) => {
            Number::from_f64(f64::from_bits(bits)).ok_or(Error::Range(field.name))?.into()
        }
        (Kind::Time, Payload::Bytes(bytes)) => return read_time(field, bytes, "%Y-%m-%dT%H:%M:%SZ"),
        (Kind::MicroTime, Payload::Bytes(bytes)) => return read_time(field, bytes, "%Y-%m-%dT%H:%M:%S.%6fZ"),
        (Kind::Json, Payload::Bytes(bytes)) => read_json(field, bytes)?,
        (Kind::Texts, Payload::Bytes(bytes)) => read_texts(field, bytes)?,
        (Kind::Message(_), Payload::Bytes(bytes)) => {
            let mut fields = Map::new();
            if let Some(message) = field.message() {
                read_message(message, bytes, depth, &mut fields)?;
            }
            union(field, fields)
        }
        (_, payload) => return Err(mismatch(field, payload)),
    };
    // Go writes fields it does not leave out with their zero value: in JSON they are not there.
    let zero = value.as_str() == Some("") || value == Value::Bool(false) || value.as_i64() == Some(0);
    Ok((field.many != Many::One || !zero || field.is_required()).then_some(value))
}

/// Unions of the schema language are written as what they hold.
fn union(field: &Field, mut fields: Map<String, Value>) -> Value {
    let Kind::Message(name) = field.kind else { return Value::Object(fields) };
    let mut take = |key: &str| fields.remove(key);
    match name.rsplit('.').next().unwrap_or(name) {
        "JSONSchemaPropsOrArray" => take("schema").or_else(|| take("JSONSchemas")).unwrap_or_default(),
        "JSONSchemaPropsOrBool" => take("schema").or_else(|| take("allows")).unwrap_or(Value::Bool(false)),
        "JSONSchemaPropsOrStringArray" => take("schema").or_else(|| take("property")).unwrap_or_default(),
        _ => Value::Object(fields),
    }
}

fn read_texts(field: &Field, bytes: &[u8]) -> Result<Value, Error> {
    let (mut reader, mut texts) = (Reader::new(bytes), Vec::new());
    while let Some((number, payload)) = reader.next()? {
        if let (1, Payload::Bytes(text)) = (number, payload) {
            texts.push(Value::from(utf8(field, text)?));
        }
    }
    Ok(texts.into())
}

fn read_json(field: &Field, bytes: &[u8]) -> Result<Value, Error> {
    let (mut reader, mut raw) = (Reader::new(bytes), None);
    while let Some((number, payload)) = reader.next()? {
        if let (1, Payload::Bytes(found)) = (number, payload) {
            raw = Some(found);
        }
    }
    raw.map_or(Ok(Value::Null), |raw| serde_json::from_slice(raw).map_err(|_| Error::Range(field.name)))
}

fn read_time(field: &Field, bytes: &[u8], format: &str) -> Result<Option<Value>, Error> {
    let (mut reader, mut seconds, mut nanos) = (Reader::new(bytes), 0, 0);
    while let Some((number, payload)) = reader.next()? {
        match (number, payload) {
            (1, Payload::Varint(found)) => seconds = found.cast_signed(),
            (2, Payload::Varint(found)) => {
                nanos = i32::try_from(found.cast_signed()).map_err(|_| Error::Range(field.name))?;
            }
            _ => {}
        }
    }
    /// The first second of year one, which is Go's zero time: no time at all.
    const ZERO: i64 = -62_135_596_800;
    if seconds == ZERO || bytes.is_empty() {
        return Ok(None);
    }
    let time = Timestamp::new(seconds, nanos).map_err(|_| Error::Range(field.name))?;
    Ok(Some(time.strftime(format).to_string().into()))
}

fn utf8(field: &Field, bytes: &[u8]) -> Result<String, Error> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Error::Range(field.name))
}

fn mismatch(field: &Field, payload: Payload<'_>) -> Error {
    Error::Mismatch { field: field.name, found: payload.wire_type() }
}

#[cfg(test)]
mod tests;
