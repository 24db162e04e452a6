//! One JSON Schema, made structural: references resolved, `null` taken out of types, enums of documented variants
//! gathered, foreign keywords dropped.

use serde_json::{Map, Value, json};

pub(super) type Object = Map<String, Value>;

/// The keywords that are kept as they are.
const KEPT: [&str; 16] = [
    "description",
    "enum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "nullable",
    "pattern",
    "properties",
    "required",
    "type",
];
/// The formats that API servers or upstream's CRDs know.
const FORMATS: [&str; 12] =
    ["byte", "cidr", "date", "date-time", "double", "duration", "email", "float", "int32", "int64", "ipv4", "uri"];
const VALIDATIONS: &str = "x-kubernetes-validations";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
/// References within references; more is a cycle, which a structural schema cannot say.
const DEPTH: usize = 32;

/// Shapes schemas whose references point into `definitions`.
pub(super) struct Shaper {
    /// By name.
    pub(super) definitions: Object,
}

impl Shaper {
    /// The structural schema for `schema`.
    pub(super) fn shape(&self, schema: Value) -> Object {
        let mut schema = self.resolve(schema);
        drop_null_type(&mut schema);
        gather_enum(&mut schema);
        tidy_number(&mut schema);
        schema.remove("default");
        if let Some(default) = schema.remove("x-default") {
            schema.insert("default".to_owned(), default);
        }
        self.shape_children(&mut schema);
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            if required.is_empty() {
                schema.remove("required");
            }
        }
        schema.retain(|keyword, value| {
            let known = KEPT.contains(&keyword.as_str()) || keyword.starts_with("x-kubernetes-");
            let made_here = matches!(keyword.as_str(), "default" | "format" | "items" | "additionalProperties");
            (known || made_here) && !value.is_null()
        });
        if schema.get(INT_OR_STRING) == Some(&Value::Bool(true)) {
            schema.remove("type");
            schema.insert("anyOf".to_owned(), json!([{"type": "integer"}, {"type": "string"}]));
        } else if !schema.contains_key("type") {
            schema.insert(PRESERVE.to_owned(), Value::Bool(true));
        }
        schema
    }

    /// Follows references and looks through `anyOf: [x, null]`; what stands beside a reference wins over its target.
    fn resolve(&self, schema: Value) -> Object {
        let mut schema = object(schema);
        for _ in 0..DEPTH {
            if let Some(Value::String(reference)) = schema.remove("$ref") {
                let name = reference.rsplit('/').next().unwrap_or_default().replace("~1", "/");
                let target = self.definitions.get(&name).cloned().unwrap_or_default();
                schema = merged(object(target), schema);
            } else if let Some(variant) = only_variant(&mut schema) {
                schema = merged(object(variant), schema);
            } else {
                break;
            }
        }
        schema
    }

    fn shape_children(&self, schema: &mut Object) {
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for child in properties.values_mut() {
                *child = Value::Object(self.shape(child.take()));
            }
        }
        if let Some(items) = schema.get_mut("items") {
            *items = Value::Object(self.shape(items.take()));
        }
        let named = schema.contains_key("properties");
        match schema.remove("additionalProperties") {
            None | Some(Value::Bool(false)) => {}
            // Flattened maps: the fields that have no type here.
            Some(Value::Bool(true)) if named => {
                schema.insert(PRESERVE.to_owned(), Value::Bool(true));
            }
            Some(values) => {
                let values = Value::Object(self.shape(values));
                schema.insert("additionalProperties".to_owned(), values);
            }
        }
    }
}

/// `true`, the schema of anything, is an object without keywords.
fn object(schema: Value) -> Object {
    match schema {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// `over` on `base`; CEL rules add up.
fn merged(mut base: Object, over: Object) -> Object {
    for (keyword, value) in over {
        match (base.get_mut(&keyword), value) {
            (Some(Value::Array(old)), Value::Array(new)) if keyword == VALIDATIONS => old.extend(new),
            (_, value) => {
                base.insert(keyword, value);
            }
        }
    }
    base
}

/// Takes `anyOf: [x, null]` apart: schemars' form of an optional value.
fn only_variant(schema: &mut Object) -> Option<Value> {
    let Some(Value::Array(variants)) = schema.get("anyOf") else { return None };
    let mut real = variants.iter().filter(|variant| variant.get("type") != Some(&json!("null")));
    let (first, second) = (real.next().cloned(), real.next());
    if second.is_some() {
        return None;
    }
    schema.remove("anyOf");
    first
}

/// `["string", "null"]` is `"string"`.
fn drop_null_type(schema: &mut Object) {
    if let Some(Value::Array(types)) = schema.get("type") {
        let real: Vec<&Value> = types.iter().filter(|name| *name != "null").collect();
        if let [only] = real.as_slice() {
            let only = (*only).clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// Variants with documentation are alternatives, each with its one word: a list of words here.
fn gather_enum(schema: &mut Object) {
    let Some(Value::Array(variants)) = schema.get("oneOf") else { return };
    let mut words = Vec::new();
    for variant in variants {
        match (variant.get("const"), variant.get("enum")) {
            (Some(word), _) => words.push(word.clone()),
            (None, Some(Value::Array(more))) => words.extend(more.iter().cloned()),
            _ => return,
        }
    }
    schema.remove("oneOf");
    schema.entry("type").or_insert_with(|| "string".into());
    schema.entry("enum").or_insert_with(|| Value::Array(words));
}

/// Formats that are Rust's alone go.
fn tidy_number(schema: &mut Object) {
    let Some(Value::String(format)) = schema.get("format") else { return };
    if FORMATS.contains(&format.as_str()) {
        return;
    }
    if format.starts_with("uint") && schema.get("minimum").and_then(Value::as_u64) == Some(0) {
        schema.remove("minimum");
    }
    schema.remove("format");
}
