//! The messages of the built-in kinds as schemas: what pruning, server-side apply and strategic patches go by. What a kind
//! requires, and the forms of its values, are rules of its own.

use serde_json::{Map, Value, json};

use super::idl::{Field, Kind, Many, Message};

/// Messages that hold themselves, which a schema without references cannot say: kept as they are.
const RECURSIVE: &[&str] = &["apiextensions.v1.JSONSchemaProps"];

/// The schema of a message.
pub(super) fn schema(message: &Message) -> Value {
    let mut properties = Map::new();
    add_fields(message, &mut properties);
    let mut schema = json!({"type": "object", "properties": properties});
    if message.atomic {
        crate::object::set_field(&mut schema, "x-kubernetes-map-type", "atomic".into());
    }
    schema
}

fn add_fields(message: &Message, properties: &mut Map<String, Value>) {
    message.inlined().for_each(|inner| add_fields(inner, properties));
    for field in message.fields.iter().filter(|field| !field.is_inline()) {
        properties.insert(field.name.to_owned(), property(field));
    }
}

fn property(field: &Field) -> Value {
    let one = value(field);
    let mut property = match field.many {
        Many::One => one,
        Many::List => json!({"type": "array", "items": one}),
        Many::Map => json!({"type": "object", "additionalProperties": one}),
    };
    field.extensions(|name, value| crate::object::set_field(&mut property, name, value));
    property
}

impl Field {
    /// Calls `set` with each extension that says how the field merges.
    pub(crate) fn extensions(&self, mut set: impl FnMut(&str, Value)) {
        if let Some(list) = self.flag("list") {
            let (kind, keys) = list.split_once(':').unwrap_or((list, ""));
            set("x-kubernetes-list-type", kind.into());
            if !keys.is_empty() {
                set("x-kubernetes-list-map-keys", keys.split(',').collect());
            }
        }
        for (flag, extension) in [
            ("map", "x-kubernetes-map-type"),
            ("merge", "x-kubernetes-patch-merge-key"),
            ("strategy", "x-kubernetes-patch-strategy"),
        ] {
            if let Some(found) = self.flag(flag) {
                set(extension, found.into());
            }
        }
    }
}

fn value(field: &Field) -> Value {
    match field.kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Int32 => json!({"type": "integer"}),
        Kind::Int64 => json!({"type": "integer"}),
        Kind::Double => json!({"type": "number"}),
        Kind::Bytes => json!({"type": "string"}),
        Kind::Time | Kind::MicroTime => json!({"type": "string"}),
        Kind::Json => json!({"x-kubernetes-preserve-unknown-fields": true}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Message(name) if RECURSIVE.contains(&name) => {
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
        }
        Kind::Message(_) => field.message().map(schema).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_say_how_they_merge() {
        let schema = schema(Message::named("core.v1.Namespace").unwrap());
        let conditions = schema.pointer("/properties/status/properties/conditions").unwrap();
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
        assert_eq!(conditions["x-kubernetes-patch-merge-key"], "type");
        let finalizers = schema.pointer("/properties/metadata/properties/finalizers").unwrap();
        assert_eq!(finalizers["x-kubernetes-list-type"], "set");
    }
}
