//! Where in a schema the value of an expression comes from, as far as that can be told: what bounds its size.

use super::Root;
use super::cost::Size;
use super::types::{Object, Type};
use crate::schema::Schema;

/// Where a value comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'s> {
    /// The rule made it.
    Nowhere,
    /// From the object, but from where no schema tells.
    Unknown,
    /// A key of a map.
    Key,
    /// An object with named fields.
    Object(Object<'s>),
    /// Anything else that has a schema.
    Value(&'s Schema),
}

impl<'s> Place<'s> {
    fn of(schema: &'s Schema) -> Self {
        match Type::of(schema, Root::of(schema)) {
            None => Self::Unknown,
            Some(Type::Object(object)) => Self::Object(object),
            Some(_) => Self::Value(schema),
        }
    }

    /// The place of a field, by its name in the object.
    pub(super) fn field(self, name: &str) -> Self {
        match self {
            Self::Nowhere => Self::Nowhere,
            Self::Object(object) => object.field(name).map_or(Self::Unknown, Self::of),
            // Upstream looks a key of a map up as if it were a field.
            Self::Unknown | Self::Key | Self::Value(_) => Self::Unknown,
        }
    }

    /// The place of an item, or of a value in a map.
    pub(super) fn element(self) -> Self {
        match self {
            Self::Nowhere => Self::Nowhere,
            Self::Value(schema) => schema.element().or(schema.any_key()).map_or(Self::Unknown, Self::of),
            Self::Unknown | Self::Key | Self::Object(_) => Self::Unknown,
        }
    }

    /// The place of a map's keys, or of a list's indexes.
    pub(super) fn key(self) -> Self {
        match self {
            Self::Value(schema) if schema.any_key().is_some() => Self::Key,
            _ => Self::Unknown,
        }
    }

    /// What the schema says about the size; `None` when it says nothing.
    pub(super) fn size(self) -> Option<Size> {
        match self {
            Self::Nowhere | Self::Unknown => None,
            Self::Key | Self::Object(_) => Some(Size::up_to(0)),
            Self::Value(schema) => Some(Size::up_to(schema.most_elements())),
        }
    }
}
