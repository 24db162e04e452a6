//! What a schema means to a merge: which atom (map, list, scalar) a value is, how its parts are told apart and what
//! their types are. The only file here that reads schemas.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::path_element::{PathElement, Scalar};
use crate::schema::{Form, ListType, ScalarType, Schema};

/// The type of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Type<'a> {
    /// A whole object: what the schema says, and apiVersion, kind and metadata.
    Object(&'a Schema),
    /// As the schema says.
    Plain(&'a Schema),
    /// The value tells: maps are granular, lists atomic.
    Deduced,
    /// The value tells, and is one piece.
    Untyped,
}

/// The type of a field, and whether the schema names the field (rather than allowing any key).
pub(crate) struct FieldType<'a> {
    pub(crate) inner: Type<'a>,
    pub(crate) named: bool,
}

static TEXT: LazyLock<Schema> = LazyLock::new(|| parse(&json!({"type": "string"})));

/// Metadata, as upstream's schema has it.
static METADATA: LazyLock<Schema> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let owner = json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
        "apiVersion": text, "kind": text, "name": text, "uid": {"type": "string", "default": ""},
        "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
    }});
    parse(&json!({"type": "object", "properties": {
        "name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text, "resourceVersion": text,
        "generation": number, "creationTimestamp": text, "deletionTimestamp": text,
        "deletionGracePeriodSeconds": number, "labels": texts, "annotations": texts,
        "finalizers": {
            "type": "array", "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge", "items": text,
        },
        "ownerReferences": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"], "items": owner,
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid",
        },
        "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        }},
    }}))
});

/// The schema of every object's metadata.
pub(crate) fn metadata_schema() -> &'static Schema {
    &METADATA
}

fn parse(schema: &Value) -> Schema {
    Schema::parse(schema).unwrap_or_else(|_| Schema::anything())
}

impl<'a> Type<'a> {
    fn of(schema: &'a Schema) -> Self {
        if schema.is_embedded() { Self::Object(schema) } else { Self::Plain(schema) }
    }

    /// The form of a value of this type. A value that is absent, null or of no allowed form counts as the first form
    /// that is allowed.
    pub(crate) fn form(self, value: Option<&Value>) -> Form {
        let found = match value {
            Some(Value::Object(_)) => Some(Form::Map),
            Some(Value::Array(_)) => Some(Form::List),
            None | Some(Value::Null) => None,
            Some(_) => Some(Form::Scalar),
        };
        match self.only_form() {
            Some(form) => form,
            None => found.unwrap_or(Form::Map),
        }
    }

    /// The one form that is allowed; `None` when all are.
    pub(crate) fn only_form(self) -> Option<Form> {
        match self {
            Self::Object(_) => Some(Form::Map),
            Self::Plain(schema) => schema.only_form(),
            Self::Deduced | Self::Untyped => None,
        }
    }

    /// Which scalars a value of this type may be.
    pub(crate) fn scalar_type(self) -> ScalarType {
        match self {
            Self::Plain(schema) => schema.scalar_type(),
            _ => ScalarType::Any,
        }
    }

    pub(crate) fn is_atomic_map(self) -> bool {
        match self {
            Self::Object(schema) | Self::Plain(schema) => schema.is_atomic_map(),
            Self::Deduced => false,
            Self::Untyped => true,
        }
    }

    pub(crate) fn list_type(self) -> ListType {
        match self {
            Self::Object(_) | Self::Deduced | Self::Untyped => ListType::Atomic,
            Self::Plain(schema) => schema.merged_list_type(),
        }
    }

    /// The type of a field; `None` when the schema does not allow it.
    pub(crate) fn field(self, name: &str) -> Option<FieldType<'a>> {
        let named = |inner| Some(FieldType { inner, named: true });
        let other = |inner| Some(FieldType { inner, named: false });
        match self {
            Self::Object(_) if matches!(name, "apiVersion" | "kind") => named(Type::Plain(&TEXT)),
            Self::Object(_) if name == "metadata" => named(Type::Plain(&METADATA)),
            Self::Object(schema) | Self::Plain(schema) => match (schema.property(name), schema.additional()) {
                (Some(inner), _) => named(Self::of(inner)),
                (None, Some(inner)) => other(Self::of(inner)),
                (None, None) if schema.takes_any_field() => other(Self::Deduced),
                (None, None) => None,
            },
            Self::Deduced => other(Self::Deduced),
            Self::Untyped => other(Self::Untyped),
        }
    }

    /// The type of a list's elements.
    pub(crate) fn element(self) -> Type<'a> {
        match self {
            Self::Plain(schema) => schema.element().map_or(Self::Untyped, Self::of),
            _ => Self::Untyped,
        }
    }

    /// What tells an element of a set or list map of this type from the others.
    pub(crate) fn identify(self, item: &Value) -> Result<PathElement, String> {
        match self.list_type() {
            ListType::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListType::Set => match item {
                Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
                item => Ok(PathElement::Value(Scalar(item.clone()))),
            },
            ListType::Map(keys) => {
                let fields = match item {
                    Value::Object(fields) => fields,
                    Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
                    _ => return Err("associative list with keys may not have non-map elements".to_owned()),
                };
                let default = |name: &str| match self.element().field(name)?.inner {
                    Type::Plain(schema) => schema.default_value(),
                    _ => None,
                };
                let found: Map<String, Value> = keys
                    .iter()
                    .filter_map(|name| Some((name.clone(), fields.get(name).or_else(|| default(name))?.clone())))
                    .collect();
                if found.is_empty() && !keys.is_empty() {
                    let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
                    return Err(format!(
                        "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
                         default values for any key fields)",
                        keys.join(" ")
                    ));
                }
                Ok(PathElement::key(found))
            }
        }
    }
}
