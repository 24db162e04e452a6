//! The types of expressions, and how a schema gives values theirs.

use std::sync::{Arc, LazyLock};

use serde_json::json;

use super::lex;
use crate::schema::{Format, Kind, Schema};

/// A static type. Objects are told apart by their schema.
#[derive(Debug, Clone)]
pub(super) enum Type<'s> {
    /// Anything: what it is shows when the rule runs.
    Dyn,
    Null,
    Bool,
    Int,
    UInt,
    Double,
    Text,
    Bytes,
    Timestamp,
    Duration,
    List(Arc<Type<'s>>),
    Map(Arc<Type<'s>>, Arc<Type<'s>>),
    Object(Object<'s>),
    Optional(Arc<Type<'s>>),
    /// A type of a library, such as `kubernetes.Quantity`, or `type` itself.
    Opaque(&'static str),
}

/// An object with named fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'s> {
    pub(super) schema: &'s Schema,
    pub(super) root: Root,
}

/// What rules see of the metadata of any object.
static METADATA: LazyLock<Option<Schema>> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    Schema::parse(&json!({"type": "object", "properties": {"name": text, "generateName": text}})).ok()
});
static TEXT: LazyLock<Option<Schema>> = LazyLock::new(|| Schema::parse(&json!({"type": "string"})).ok());

impl<'s> Object<'s> {
    /// The schema of a field, by its name in the object.
    pub(super) fn field(&self, name: &str) -> Option<&'s Schema> {
        let named = self.schema.property(name);
        if self.root == Root::Plain {
            return named;
        }
        match name {
            "apiVersion" | "kind" => named.or(TEXT.as_ref()),
            "metadata" => {
                let whole = |schema: &&Schema| ["name", "generateName"].iter().all(|f| schema.property(f).is_some());
                named.filter(whole).or(METADATA.as_ref())
            }
            _ => named,
        }
    }
}

/// Whether an object has `apiVersion`, `kind` and `metadata` of its own, even when its schema does not name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Root {
    Resource,
    Plain,
}

impl Root {
    /// For a schema below the top.
    pub(crate) fn of(schema: &Schema) -> Self {
        if schema.is_embedded() { Self::Resource } else { Self::Plain }
    }
}

impl<'s> Type<'s> {
    pub(super) fn list(of: Self) -> Self {
        Self::List(Arc::new(of))
    }

    pub(super) fn optional(of: Self) -> Self {
        Self::Optional(Arc::new(of))
    }

    /// As errors show it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Dyn => "dyn".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int => "int".to_owned(),
            Self::UInt => "uint".to_owned(),
            Self::Double => "double".to_owned(),
            Self::Text => "string".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::Timestamp => "timestamp".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::List(of) => format!("list({})", of.shown()),
            Self::Map(key, value) => format!("map({}, {})", key.shown(), value.shown()),
            Self::Object(_) => "object".to_owned(),
            Self::Optional(of) => format!("optional_type({})", of.shown()),
            Self::Opaque(name) => (*name).to_owned(),
        }
    }

    /// Whether a value of `found` may stand where `self` is wanted.
    pub(super) fn takes(&self, found: &Self) -> bool {
        match (self, found) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.takes(b),
            (Self::Map(ak, av), Self::Map(bk, bv)) => ak.takes(bk) && av.takes(bv),
            (Self::Object(a), Self::Object(b)) => std::ptr::eq(a.schema, b.schema),
            (Self::Opaque(a), Self::Opaque(b)) => a == b,
            // Null may stand for what a message may be.
            (Self::Timestamp | Self::Duration | Self::Object(_) | Self::Opaque(_), Self::Null)
            | (Self::Null, Self::Timestamp | Self::Duration | Self::Object(_) | Self::Opaque(_)) => true,
            _ => std::mem::discriminant(self) == std::mem::discriminant(found),
        }
    }

    /// The type of values of a schema; `None` for what rules may not see.
    pub(super) fn of(schema: &'s Schema, root: Root) -> Option<Self> {
        if schema.is_int_or_string() {
            return Some(Self::Dyn);
        }
        match schema.kind()? {
            Kind::Array => {
                let inner = schema.element()?;
                Self::of(inner, Root::of(inner)).map(Self::list)
            }
            Kind::Object => match schema.any_key() {
                Some(inner) => {
                    let value = Self::of(inner, Root::of(inner))?;
                    Some(Self::Map(Arc::new(Self::Text), Arc::new(value)))
                }
                None => Some(Self::Object(Object { schema, root })),
            },
            Kind::String => Some(match schema.format() {
                Some(Format::Byte) => Self::Bytes,
                Some(Format::Duration) => Self::Duration,
                Some(Format::Date | Format::DateTime) => Self::Timestamp,
                _ => Self::Text,
            }),
            Kind::Integer => Some(Self::Int),
            Kind::Number => Some(Self::Double),
            Kind::Boolean => Some(Self::Bool),
        }
    }
}

/// A field name as CEL writes it; `None` when CEL cannot.
pub(crate) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if lex::RESERVED.contains(&name) || matches!(name, "true" | "false" | "null" | "in") {
        return Some(format!("__{name}__"));
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/')) {
        return None;
    }
    let escaped = name.replace("__", "__underscores__");
    Some(escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}

/// The field that an escaped name stands for.
pub(crate) fn unescape(name: &str) -> String {
    if !name.contains("__") {
        return name.to_owned();
    }
    if let Some(keyword) = name.strip_prefix("__").and_then(|name| name.strip_suffix("__"))
        && escape(keyword).as_deref() == Some(name)
    {
        return keyword.to_owned();
    }
    let plain = name.replace("__dot__", ".").replace("__dash__", "-").replace("__slash__", "/");
    plain.replace("__underscores__", "__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_upstream_does() {
        let cases = [
            ("plain", Some("plain")),
            ("a_b", Some("a_b")),
            ("a__b", Some("a__underscores__b")),
            ("a.b-c/d", Some("a__dot__b__dash__c__slash__d")),
            ("namespace", Some("__namespace__")),
            ("int", Some("int")),
            ("1a", None),
            ("a$", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(escape(name).as_deref(), wanted);
            if let Some(escaped) = wanted {
                assert_eq!(unescape(escaped), name);
            }
        }
    }
}
