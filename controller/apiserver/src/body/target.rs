//! What upstream's reader fills in at a place of a body, and so what a key's second value makes of the first: fields of a
//! struct are kept and laid over, entries of a map and values without a type are replaced.

use serde_json::Value;
use serde_json::map::Entry;

use crate::builtin::{Kind, Many, Message};

/// The union types of upstream's schema language have names that begin so: they read themselves, as a whole.
const UNIONS: &str = "apiextensions.v1.JSONSchemaPropsOr";

/// Where upstream's reader puts a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    /// A struct, whose fields stay as they are until a key sets them again.
    Struct(&'static Message),
    /// A map, whose entries are made anew by each key; of such structs, if of any.
    Map(Option<&'static Message>),
    /// A list, of such structs, if of any.
    List(Option<&'static Message>),
    /// A whole number, of which a refusal shows every digit.
    Integer,
    /// What has no parts, or reads them itself: the last value counts.
    Whole,
}

impl Target {
    /// What a body of a kind becomes; without a type of its own, the last of several keys counts everywhere.
    pub(super) fn of(message: Option<&'static Message>) -> Self {
        match message {
            Some(message) if !message.name.starts_with(UNIONS) => Self::Struct(message),
            _ => Self::Whole,
        }
    }

    /// Where the value of a key goes.
    pub(super) fn field(self, name: &str) -> Self {
        match self {
            Self::Struct(message) => match message.field(name).map(|field| (field.many, field.kind, field.message())) {
                None | Some((_, Kind::Json, _)) => Self::Whole,
                Some((Many::One, Kind::Int32 | Kind::Int64, _)) => Self::Integer,
                Some((Many::One, _, inner)) => Self::of(inner),
                Some((Many::Map, _, inner)) => Self::Map(inner),
                Some((Many::List, _, inner)) => Self::List(inner),
            },
            Self::Map(inner) => Self::of(inner),
            Self::List(_) | Self::Integer | Self::Whole => Self::Whole,
        }
    }

    /// Where an item of a list goes.
    pub(super) fn item(self) -> Self {
        match self {
            Self::List(inner) => Self::of(inner),
            Self::Struct(_) | Self::Map(_) | Self::Integer | Self::Whole => Self::Whole,
        }
    }

    /// Where the second value of a key goes, the first of which went to `inner`.
    pub(super) fn again(self, inner: Self) -> Self {
        if matches!(self, Self::Map(_)) { Self::Whole } else { inner }
    }

    /// Lays a second value for this place over the first.
    pub(super) fn put_again(self, first: &mut Value, second: Value) {
        match (self, first, second) {
            (Self::Struct(_), Value::Object(first), Value::Object(second)) => {
                for (name, value) in second {
                    let target = self.field(&name);
                    match first.entry(name) {
                        Entry::Vacant(entry) => {
                            entry.insert(value);
                        }
                        Entry::Occupied(mut entry) => target.put_again(entry.get_mut(), value),
                    }
                }
            }
            (Self::Map(_), Value::Object(first), Value::Object(second)) => first.extend(second),
            (_, first, second) => *first = second,
        }
    }
}
