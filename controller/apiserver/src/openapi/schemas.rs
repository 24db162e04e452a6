//! Schemas of the documents under upstream's names: those of the built-in kinds' messages, which refer to each other, and
//! those of custom kinds, as their definitions have them.

use serde_json::{Map, Value, json};

use super::descriptions;
use crate::builtin::{Field, Kind, Many, Message};
use crate::object::set_field;
use crate::registry::Resource;

const API_VERSION: &str = "The version of the schema in which this object is written. Servers turn known versions into \
                           the one they hold, and may refuse others.";
const KIND: &str = "The kind of thing that this object is. It cannot be changed, and follows from the path that a client \
                    uses.";

pub(super) const DELETE_OPTIONS: &str = "meta.v1.DeleteOptions";
pub(super) const STATUS: &str = "meta.v1.Status";
pub(super) const SCALE: &str = "autoscaling.v1.Scale";
const LIST_META: &str = "meta.v1.ListMeta";
const OBJECT_META: &str = "meta.v1.ObjectMeta";
/// Schemas that are no messages.
const TIME: &str = "meta.v1.Time";
const MICRO_TIME: &str = "meta.v1.MicroTime";
const FIELDS: &str = "meta.v1.FieldsV1";
const JSON: &str = "apiextensions.v1.JSON";
pub(super) const PATCH: &str = "meta.v1.Patch";
/// Messages that JSON writes as one of several things.
const UNIONS: &[&str] = &[
    "apiextensions.v1.JSONSchemaPropsOrArray",
    "apiextensions.v1.JSONSchemaPropsOrBool",
    "apiextensions.v1.JSONSchemaPropsOrStringArray",
];
/// Messages that are objects themselves, and say so.
const OBJECTS: &[(&str, &str)] = &[(DELETE_OPTIONS, ""), (STATUS, ""), (SCALE, "autoscaling")];

/// The schemas of one document.
#[derive(Default)]
pub(super) struct Schemas(Map<String, Value>);

/// What upstream calls the schema of a message.
fn name_of(message: &str) -> String {
    match message.split('.').next() {
        Some("meta") => format!("io.k8s.apimachinery.pkg.apis.{message}"),
        Some("apiextensions") => format!("io.k8s.apiextensions-apiserver.pkg.apis.{message}"),
        _ => format!("io.k8s.api.{message}"),
    }
}

/// What the schema of a kind is called: of a custom one, its group's labels reversed, then version and kind.
pub(super) fn name_of_kind(resource: &Resource, kind: &str) -> String {
    match resource.message {
        Some(message) => name_of(&format!("{}.{kind}", message.package())),
        None => {
            let group: Vec<&str> = resource.group.split('.').rev().collect();
            format!("{}.{}.{kind}", group.join("."), resource.version)
        }
    }
}

pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

pub(super) fn reference_to(message: &str) -> Value {
    reference(&name_of(message))
}

fn described(mut schema: Value, description: Option<&str>) -> Value {
    if let Some(description) = description {
        set_field(&mut schema, "description", description.into());
    }
    schema
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

impl Schemas {
    pub(super) fn into_value(self) -> Value {
        self.0.into()
    }

    /// Adds the schemas of a resource's kind and of its lists.
    pub(super) fn add_kind(&mut self, resource: &Resource) {
        let name = name_of_kind(resource, &resource.kind);
        let mut schema = match resource.message {
            Some(message) => self.of_message(message),
            None => self.of_custom_kind(resource),
        };
        self.say_kind(&mut schema, &resource.group, &resource.version, &resource.kind);
        self.0.insert(name.clone(), schema);
        // Questions are not listed.
        if resource.allows("list") {
            let list = self.list(resource, &name);
            self.0.insert(name_of_kind(resource, &resource.list_kind), list);
        }
    }

    /// Adds the schema of a message, and of those it refers to.
    pub(super) fn add_message(&mut self, name: &str) {
        if self.0.contains_key(&name_of(name)) {
            return;
        }
        // Held, so that a message that holds itself ends.
        self.0.insert(name_of(name), Value::Null);
        let schema = match name {
            TIME | MICRO_TIME => {
                json!({"type": "string", "format": "date-time", "description": "A moment, in RFC 3339."})
            }
            FIELDS => json!({"type": "object", "description": "Fields of an object, as a tree."}),
            PATCH => json!({"type": "object", "description": "What is to be changed."}),
            JSON => json!({"description": "Any JSON."}),
            _ if UNIONS.contains(&name) => described(json!({}), descriptions::of_message(name)),
            _ => {
                let mut schema = Message::named(name).map(|message| self.of_message(message)).unwrap_or_default();
                if let Some((_, group)) = OBJECTS.iter().find(|(object, _)| *object == name) {
                    let kind = name.rsplit('.').next().unwrap_or(name);
                    self.say_kind(&mut schema, group, "v1", kind);
                }
                schema
            }
        };
        self.0.insert(name_of(name), schema);
    }

    /// Adds what an object says of itself.
    fn say_kind(&mut self, schema: &mut Value, group: &str, version: &str, kind: &str) {
        let mut properties = schema.get("properties").cloned().unwrap_or_else(|| json!({}));
        set_field(&mut properties, "apiVersion", text(API_VERSION));
        set_field(&mut properties, "kind", text(KIND));
        set_field(schema, "properties", properties);
        let kinds = json!([{"group": group, "version": version, "kind": kind}]);
        set_field(schema, "x-kubernetes-group-version-kind", kinds);
    }

    fn of_custom_kind(&mut self, resource: &Resource) -> Value {
        self.add_message(OBJECT_META);
        let mut schema = resource.open_api.clone().unwrap_or_else(|| json!({"type": "object"}));
        unfold(&mut schema);
        let mut properties = schema.get("properties").cloned().unwrap_or_else(|| json!({}));
        set_field(&mut properties, "metadata", metadata(OBJECT_META, "Standard metadata."));
        set_field(&mut schema, "properties", properties);
        set_selectable(&mut schema, resource);
        schema
    }

    fn list(&mut self, resource: &Resource, name: &str) -> Value {
        self.add_message(LIST_META);
        let is_custom = resource.is_custom();
        let mut item = reference(name);
        let mut about = metadata(LIST_META, "Standard list metadata.");
        if !is_custom {
            item = json!({"default": {}, "allOf": [item]});
            set_field(&mut about, "default", json!({}));
        }
        let mut list = json!({
            "type": "object", "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
            "required": ["items"],
            "properties": {
                "metadata": about,
                "items": {"type": "array", "description": format!("List of {}.", resource.plural), "items": item},
            },
        });
        self.say_kind(&mut list, &resource.group, &resource.version, &resource.list_kind);
        set_selectable(&mut list, resource);
        list
    }

    fn of_message(&mut self, message: &Message) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        self.add_fields(message, &mut properties, &mut required);
        let mut schema = described(json!({"type": "object"}), descriptions::of_message(message.name));
        if !properties.is_empty() {
            set_field(&mut schema, "properties", properties.into());
        }
        if !required.is_empty() {
            set_field(&mut schema, "required", required.into());
        }
        if message.atomic {
            set_field(&mut schema, "x-kubernetes-map-type", "atomic".into());
        }
        schema
    }

    fn add_fields(&mut self, message: &Message, properties: &mut Map<String, Value>, required: &mut Vec<Value>) {
        for field in &message.fields {
            if let Some(inner) = field.message().filter(|_| field.is_inline()) {
                self.add_fields(inner, properties, required);
                continue;
            }
            if field.is_required() {
                required.push(field.name.into());
            }
            let description = descriptions::of_field(message.name, field.name);
            properties.insert(field.name.to_owned(), described(self.property(field), description));
        }
    }

    fn property(&mut self, field: &Field) -> Value {
        let shows_zero = field.has("zero") || field.many != Many::One;
        let mut one = self.value(field, shows_zero);
        if let Some(values) = field.flag("enum") {
            set_field(&mut one, "enum", values.split(',').collect());
        }
        let mut property = match field.many {
            Many::One => one,
            Many::List => json!({"type": "array", "items": one}),
            Many::Map => json!({"type": "object", "additionalProperties": one}),
        };
        field.extensions(|name, value| set_field(&mut property, name, value));
        property
    }

    /// The schema of one value of a field.
    fn value(&mut self, field: &Field, shows_zero: bool) -> Value {
        let scalar = |kind: &str, format: &str, zero: Value| {
            let mut schema = json!({"type": kind});
            if !format.is_empty() {
                set_field(&mut schema, "format", format.into());
            }
            // The bytes' zero is nothing that could be shown.
            if shows_zero && format != "byte" {
                set_field(&mut schema, "default", zero);
            }
            schema
        };
        let mut other = |message: &str, zero: bool| {
            self.add_message(message);
            match (zero, field.many) {
                (true, _) => json!({"allOf": [reference_to(message)], "default": {}}),
                (false, Many::One) => json!({"allOf": [reference_to(message)]}),
                // Nothing is said of it but what it is.
                (false, _) => reference_to(message),
            }
        };
        match field.kind {
            Kind::Text => scalar("string", "", "".into()),
            Kind::Bytes => scalar("string", "byte", Value::Null),
            Kind::Bool => scalar("boolean", "", false.into()),
            Kind::Int32 => scalar("integer", "int32", 0.into()),
            Kind::Int64 => scalar("integer", "int64", 0.into()),
            Kind::Double => scalar("number", "double", 0.into()),
            Kind::Time => other(TIME, false),
            Kind::MicroTime => other(MICRO_TIME, false),
            Kind::Json if field.name == "fieldsV1" => other(FIELDS, false),
            Kind::Json => other(JSON, false),
            Kind::Texts => json!({"type": "array", "items": {"type": "string", "default": ""}}),
            Kind::Message(name) if UNIONS.contains(&name) => other(name, false),
            Kind::Message(name) => other(name, shows_zero),
        }
    }
}

fn metadata(message: &str, description: &str) -> Value {
    json!({"allOf": [reference_to(message)], "description": description})
}

fn set_selectable(schema: &mut Value, resource: &Resource) {
    if resource.is_custom() && !resource.selectable.is_empty() {
        let fields: Vec<Value> = resource.selectable.iter().map(|path| json!({"fieldPath": path})).collect();
        set_field(schema, "x-kubernetes-selectable-fields", fields.into());
    }
}

/// Says in plain words of schemas what extensions mean: that a value may be a number or a text, and that it is an object
/// with metadata.
fn unfold(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for name in ["items", "additionalProperties"] {
        fields.get_mut(name).into_iter().for_each(unfold);
    }
    for inner in fields.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        unfold(inner.1);
    }
    let is = |fields: &Map<String, Value>, name: &str| fields.get(name) == Some(&Value::Bool(true));
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    if is(fields, "x-kubernetes-int-or-string") {
        let in_all = fields.get("allOf").and_then(|all| all.get(0)).and_then(|first| first.get("anyOf"));
        if fields.get("anyOf") != Some(&either) && in_all != Some(&either) {
            if fields.contains_key("anyOf") {
                let all = fields.entry("allOf").or_insert_with(|| json!([]));
                all.as_array_mut().into_iter().for_each(|all| all.insert(0, json!({"anyOf": either})));
            } else {
                fields.insert("anyOf".to_owned(), either);
            }
        }
    }
    if is(fields, "x-kubernetes-embedded-resource") {
        let mut properties = fields.remove("properties").unwrap_or_else(|| json!({}));
        set_field(&mut properties, "apiVersion", text(API_VERSION));
        set_field(&mut properties, "kind", text(KIND));
        set_field(&mut properties, "metadata", metadata(OBJECT_META, "Standard metadata."));
        fields.insert("properties".to_owned(), properties);
        let required = fields.entry("required").or_insert_with(|| json!([]));
        for name in ["kind", "apiVersion"] {
            if let Some(required) = required.as_array_mut().filter(|required| !required.contains(&name.into())) {
                required.push(name.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    /// As a real server publishes them.
    #[test]
    fn messages_refer_to_each_other() {
        let mut schemas = Schemas::default();
        for resource in builtin::resources() {
            schemas.add_kind(&resource);
        }
        let schemas = schemas.into_value();
        let lease = &schemas["io.k8s.api.coordination.v1.Lease"];
        let spec = json!([{"$ref": "#/components/schemas/io.k8s.api.coordination.v1.LeaseSpec"}]);
        assert_eq!(lease["properties"]["spec"]["allOf"], spec);
        assert_eq!(lease["properties"]["spec"]["default"], json!({}));
        let time = &schemas["io.k8s.api.coordination.v1.LeaseSpec"]["properties"]["renewTime"];
        assert_eq!(time["allOf"][0]["$ref"], "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime");
        assert!(schemas.get("io.k8s.api.rbac.v1.ClusterRoleBindingList").is_some());
        let text = schemas.to_string();
        for found in text.split("#/components/schemas/").skip(1) {
            let name = found.split('"').next().unwrap();
            assert!(schemas[name].is_object(), "{name} is referred to and not there");
        }
    }

    #[test]
    fn every_field_of_a_kind_is_described() {
        let mut schemas = Schemas::default();
        for resource in builtin::resources() {
            schemas.add_kind(&resource);
        }
        for (name, schema) in schemas.0 {
            for (field, property) in schema["properties"].as_object().into_iter().flatten() {
                assert!(property.get("description").is_some(), "{name} {field}");
            }
        }
    }

    #[test]
    fn extensions_are_said_in_plain_words() {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        let mut schema = json!({"properties": {
            "a": {"x-kubernetes-int-or-string": true},
            "b": {"x-kubernetes-int-or-string": true, "anyOf": [{"minimum": 1}]},
            "c": {"type": "object", "x-kubernetes-embedded-resource": true, "required": ["kind"]},
        }});
        unfold(&mut schema);
        let fields = &schema["properties"];
        assert_eq!(fields["a"]["anyOf"], either);
        assert_eq!(fields["b"]["allOf"], json!([{"anyOf": either}]));
        assert_eq!(fields["c"]["required"], json!(["kind", "apiVersion"]));
        assert!(fields["c"]["properties"]["metadata"]["allOf"].is_array());
    }
}
