//! Values while a rule runs. Those of the object are read where they are, in its JSON, and get their type from the
//! schema.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use base64::Engine as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value as Json;

use super::functions::semver::Version;
use super::functions::urls::Url;
use super::quantity::Quantity;
use super::signatures;
use super::types::{Object, Root, Type};
use crate::schema::{Format, Schema};

#[derive(Debug, Clone)]
pub(crate) enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Cow<'v, str>),
    Bytes(Rc<[u8]>),
    Time(Timestamp),
    Span(SignedDuration),
    List(Rc<Vec<Value<'v>>>),
    Map(Rc<BTreeMap<Key, Value<'v>>>),
    /// A list in the object, with the schema of its elements.
    JsonList(&'v [Json], Option<&'v Schema>),
    /// A map in the object, with the schema of its values.
    JsonMap(&'v serde_json::Map<String, Json>, Option<&'v Schema>),
    /// An object with named fields.
    JsonObject(&'v serde_json::Map<String, Json>, Object<'v>),
    Optional(Option<Rc<Value<'v>>>),
    Type(&'static str),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Url(Rc<Url>),
    Quantity(Quantity),
    Semver(Rc<Version>),
    Format(&'static str),
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Bool(bool),
    Int(i64),
    UInt(u64),
    Text(String),
}

impl<'v> Value<'v> {
    /// A value of an object, of the type its schema gives it.
    pub(crate) fn of(json: &'v Json, schema: Option<&'v Schema>, root: Root) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(flag) => Self::Bool(*flag),
            Json::Number(number) => {
                let is_double = matches!(schema.and_then(|schema| Type::of(schema, root)), Some(Type::Double));
                match (number.as_i64(), number.as_f64()) {
                    (Some(whole), _) if !is_double => Self::Int(whole),
                    (_, Some(float))
                        if !is_double && matches!(schema.and_then(|s| Type::of(s, root)), Some(Type::Int)) =>
                    {
                        // A whole float in a field for whole numbers.
                        format!("{float}").parse().map_or(Self::Double(float), Self::Int)
                    }
                    (_, float) => Self::Double(float.unwrap_or_default()),
                }
            }
            Json::String(text) => Self::of_text(text, schema),
            Json::Array(items) => Self::JsonList(items, schema.and_then(Schema::element)),
            Json::Object(fields) => match schema {
                Some(schema) if schema.any_key().is_none() => Self::JsonObject(fields, Object { schema, root }),
                _ => Self::JsonMap(fields, schema.and_then(Schema::any_key)),
            },
        }
    }

    fn of_text(text: &'v str, schema: Option<&'v Schema>) -> Self {
        let plain = || Self::Text(Cow::Borrowed(text));
        match schema.filter(|schema| !schema.is_int_or_string()).and_then(Schema::format) {
            Some(Format::Byte) => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(text);
                bytes.map_or_else(|_| plain(), |bytes| Self::Bytes(bytes.into()))
            }
            Some(Format::Duration) => super::functions::times::parse_duration(text).map_or_else(plain, Self::Span),
            Some(Format::DateTime) => text.parse().map_or_else(|_| plain(), Self::Time),
            Some(Format::Date) => format!("{text}T00:00:00Z").parse().map_or_else(|_| plain(), Self::Time),
            _ => plain(),
        }
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Cow::Owned(text.into()))
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(Rc::new(items))
    }

    pub(super) fn some(value: Self) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    /// The elements of a list; `None` for other values.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        match self {
            Self::List(items) => Some(items.as_ref().clone()),
            Self::JsonList(items, schema) => Some(items.iter().map(|item| element(item, *schema)).collect()),
            _ => None,
        }
    }

    /// The element of a list at an index.
    pub(super) fn item(&self, at: usize) -> Option<Self> {
        match self {
            Self::List(items) => items.get(at).cloned(),
            Self::JsonList(items, schema) => items.get(at).map(|item| element(item, *schema)),
            _ => None,
        }
    }

    /// The keys and values of a map or object.
    pub(super) fn entries(&self) -> Option<Vec<(Key, Self)>> {
        match self {
            Self::Map(map) => Some(map.iter().map(|(key, value)| (key.clone(), value.clone())).collect()),
            Self::JsonMap(fields, schema) => {
                let pair = |(key, value): (&String, &'v Json)| (Key::Text(key.clone()), element(value, *schema));
                Some(fields.iter().map(pair).collect())
            }
            Self::JsonObject(fields, object) => {
                let known = fields.iter().filter_map(|(name, value)| {
                    let schema = object.field(name)?;
                    Some((Key::Text(name.clone()), element(value, Some(schema))))
                });
                Some(known.collect())
            }
            _ => None,
        }
    }

    /// The value of a map's key, or of an object's field by its name in the object.
    pub(super) fn get(&self, key: &Key) -> Option<Self> {
        match (self, key) {
            (Self::Map(map), key) => map.get(key).cloned(),
            (Self::JsonMap(fields, schema), Key::Text(name)) => fields.get(name).map(|value| element(value, *schema)),
            (Self::JsonObject(fields, object), Key::Text(name)) => {
                let schema = object.field(name)?;
                fields.get(name).map(|value| element(value, Some(schema)))
            }
            _ => None,
        }
    }

    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::List(items) => Some(items.len()),
            Self::JsonList(items, _) => Some(items.len()),
            Self::Map(map) => Some(map.len()),
            Self::JsonMap(fields, _) => Some(fields.len()),
            Self::JsonObject(..) => self.entries().map(|entries| entries.len()),
            Self::Text(text) => Some(text.chars().count()),
            Self::Bytes(bytes) => Some(bytes.len()),
            _ => None,
        }
    }

    /// How much there is to compare or copy, roughly: what it costs to touch this value.
    pub(super) fn weight(&self) -> u64 {
        let size = match self {
            Self::Text(text) => text.len() / 10,
            Self::Bytes(bytes) => bytes.len() / 10,
            Self::List(items) => items.len(),
            Self::JsonList(items, _) => items.len(),
            Self::Map(map) => map.len(),
            Self::JsonMap(fields, _) | Self::JsonObject(fields, _) => fields.len(),
            _ => 0,
        };
        u64::try_from(size).unwrap_or(u64::MAX).saturating_add(1)
    }

    pub(super) fn key(&self) -> Option<Key> {
        Some(match self {
            Self::Bool(flag) => Key::Bool(*flag),
            Self::Int(number) => Key::Int(*number),
            Self::UInt(number) => i64::try_from(*number).map_or(Key::UInt(*number), Key::Int),
            Self::Double(number) if number.fract() == 0.0 => Key::Int(format!("{number}").parse().ok()?),
            Self::Text(text) => Key::Text(text.clone().into_owned()),
            _ => return None,
        })
    }

    /// The name that `type()` gives.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::UInt(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Time(_) => "google.protobuf.Timestamp",
            Self::Span(_) => "google.protobuf.Duration",
            Self::List(_) | Self::JsonList(..) => "list",
            Self::Map(_) | Self::JsonMap(..) | Self::JsonObject(..) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Ip(_) => signatures::IP,
            Self::Cidr(..) => signatures::CIDR,
            Self::Url(_) => signatures::URL,
            Self::Quantity(_) => signatures::QUANTITY,
            Self::Semver(_) => signatures::SEMVER,
            Self::Format(_) => signatures::FORMAT,
        }
    }

    /// CEL's equality: by value, numbers across their types.
    pub(super) fn equals(&self, other: &Self) -> bool {
        if let (Some(a), Some(b)) = (self.len_of_list(), other.len_of_list()) {
            return a == b
                && (0..a).all(|at| matches!((self.item(at), other.item(at)), (Some(a), Some(b)) if a.equals(&b)));
        }
        if let (Some(a), Some(b)) = (self.entries(), other.entries()) {
            return a.len() == b.len()
                && a.iter().all(|(key, value)| other.get(key).is_some_and(|found| value.equals(&found)));
        }
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Optional(a), Self::Optional(b)) => match (a, b) {
                (None, None) => true,
                (Some(a), Some(b)) => a.equals(b),
                _ => false,
            },
            (Self::Type(a), Self::Type(b)) | (Self::Format(a), Self::Format(b)) => a == b,
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a, n), Self::Cidr(b, m)) => a == b && n == m,
            (Self::Url(a), Self::Url(b)) => a == b,
            _ => self.compare(other) == Some(Ordering::Equal),
        }
    }

    fn len_of_list(&self) -> Option<usize> {
        matches!(self, Self::List(_) | Self::JsonList(..)).then(|| self.len()).flatten()
    }

    /// The order of two values; `None` when they have none.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::UInt(a), Self::UInt(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::UInt(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::UInt(a), Self::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Time(a), Self::Time(b)) => Some(a.cmp(b)),
            (Self::Span(a), Self::Span(b)) => Some(a.cmp(b)),
            (Self::Quantity(a), Self::Quantity(b)) => Some(a.cmp(b)),
            (Self::Semver(a), Self::Semver(b)) => Some(a.order(b)),
            (a, b) => a.float()?.partial_cmp(&b.float()?),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of different types are compared as floats, as upstream")]
    fn float(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::UInt(number) => Some(*number as f64),
            Self::Double(number) => Some(*number),
            _ => None,
        }
    }
}

fn element<'v>(json: &'v Json, schema: Option<&'v Schema>) -> Value<'v> {
    Value::of(json, schema, schema.map_or(Root::Plain, Root::of))
}

impl Key {
    pub(super) fn value<'v>(&self) -> Value<'v> {
        match self {
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Int(number) => Value::Int(*number),
            Self::UInt(number) => Value::UInt(*number),
            Self::Text(text) => Value::text(text.as_str()),
        }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::Bool(flag) => flag.to_string(),
            Self::Int(number) => number.to_string(),
            Self::UInt(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}
