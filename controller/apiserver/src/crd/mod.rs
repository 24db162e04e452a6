//! CustomResourceDefinitions: checking one, naming its conditions, and turning it into served resources.

mod acceptance;
mod check;
mod costs;
mod defaults;
mod lists;
mod names;
mod pattern;
mod place;
mod schema_check;
mod structural;
mod webhook_check;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::builtin;
use crate::conversion::{Conversion, Converters};
use crate::jsonpath::JsonPath;
use crate::object::{self, set_field};
use crate::registry::{Cell, Column, Flavour, Resource, ScalePaths, group_version, version_priority};
use crate::schema::{Schema, SchemaError};
use crate::status::Cause;

pub(crate) use acceptance::settle;

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn texts(value: &Value, path: &str) -> Vec<String> {
    let list = value.pointer(path).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn versions(definition: &Value) -> &[Value] {
    definition.pointer("/spec/versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or_default()
}

/// What may still be done while a definition is terminating.
const LAST_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];

/// Fills in a definition's defaults and checks it.
pub(crate) fn complete(definition: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    default(definition);
    if old.is_none() {
        let storage = versions(definition).iter().find(|version| flag(version, "storage"));
        let stored: Vec<&str> = storage.map(|version| text(version, "/name")).into_iter().collect();
        let names = json!({"plural": "", "kind": ""});
        let status = json!({"acceptedNames": names, "storedVersions": stored});
        set_field(definition, "status", status);
    } else {
        store_version(definition);
    }
    check::check(definition, old)
}

fn default(definition: &mut Value) {
    let kind = text(definition, "/spec/names/kind").to_owned();
    let mut name = |field: &str, value: String| {
        let names = definition.pointer_mut("/spec/names").and_then(Value::as_object_mut);
        if let Some(names) = names
            && names.get(field).is_none_or(|now| now == "")
            && !kind.is_empty()
        {
            names.insert(field.to_owned(), value.into());
        }
    };
    name("singular", kind.to_lowercase());
    name("listKind", format!("{kind}List"));
    if let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
        // Says what every definition of this version does.
        if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
            spec.remove("preserveUnknownFields");
        }
    }
    let service = definition.pointer_mut("/spec/conversion/webhook/clientConfig/service");
    if let Some(service) = service.and_then(Value::as_object_mut) {
        service.entry("port").or_insert_with(|| 443.into());
    }
}

/// Remembers every version that objects were stored in.
pub(crate) fn store_version(definition: &mut Value) {
    let storage = versions(definition).iter().find(|version| flag(version, "storage"));
    let Some(storage) = storage.map(|version| text(version, "/name").to_owned()) else { return };
    let mut stored = texts(definition, "/status/storedVersions");
    if !stored.contains(&storage) {
        stored.push(storage);
        if let Some(status) = definition.get_mut("status") {
            set_field(status, "storedVersions", json!(stored));
        }
    }
}

/// Accepts the names that no other kind of the group has, built in or defined, and says so in the conditions. The kind is served from
/// the moment the definition is stored, so there is no time between accepted and established.
fn accept(definition: &mut Value, all: &[Arc<Value>]) {
    let group = text(definition, "/spec/group").to_owned();
    let name = object::name(definition).to_owned();
    let other = |other: &&Arc<Value>| text(other, "/spec/group") == group && object::name(other) != name;
    let builtin = builtin::names_in(&group);
    let others: Vec<&Value> = all.iter().filter(other).map(AsRef::as_ref).chain(&builtin).collect();
    let (names, conflict) = names::accepted(definition, &others);
    let conditions = names::conditions(definition, conflict.as_ref());
    let stored = texts(definition, "/status/storedVersions");
    let status = json!({"acceptedNames": names, "storedVersions": stored, "conditions": conditions});
    set_field(definition, "status", status);
}

/// Where the instances of a definition are stored.
pub(crate) fn stored_as(definition: &Value) -> Arc<str> {
    format!("{}/{}", text(definition, "/spec/group"), text(definition, "/spec/names/plural")).into()
}

/// Whether an update to `sent` would leave the stored definition as it is, so that it need not be checked again.
pub(crate) fn is_stored(sent: &Value, stored: &Value) -> bool {
    const OF_CLIENTS: [&str; 4] = ["labels", "annotations", "ownerReferences", "finalizers"];
    let mut sent = sent.clone();
    default(&mut sent);
    let metadata =
        |object: &Value, field: &str| object.get("metadata").and_then(|metadata| metadata.get(field)).cloned();
    is_established(stored)
        && !object::is_deleting(stored)
        && sent.get("spec") == stored.get("spec")
        && OF_CLIENTS.iter().all(|field| metadata(&sent, field) == metadata(stored, field))
}

/// Whether a definition's kind is served.
pub(crate) fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    let holds = |condition: &Value| text(condition, "/type") == "Established" && text(condition, "/status") == "True";
    conditions.into_iter().flatten().any(holds)
}

/// The resources that a definition adds, one per served version.
pub(crate) fn resources(definition: &Value, converters: &Converters) -> Result<Vec<Resource>, SchemaError> {
    if !is_established(definition) {
        return Ok(Vec::new());
    }
    let group = text(definition, "/spec/group");
    let plural = text(definition, "/spec/names/plural");
    let storage = versions(definition).iter().find(|v| flag(v, "storage"));
    let storage = storage.map(|v| text(v, "/name")).unwrap_or_default();
    let kind = text(definition, "/spec/names/kind");
    let mut schemas = BTreeMap::new();
    for version in versions(definition) {
        let open_api = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
        schemas.insert(group_version(group, text(version, "/name")), Arc::new(Schema::parse(&open_api)?));
    }
    let conversion = Arc::new(Conversion {
        hook: converters.get(&(group.to_owned(), kind.to_owned())).cloned(),
        wants_webhook: text(definition, "/spec/conversion/strategy") == "Webhook",
        schemas,
        defined_at: object::resource_version(definition).parse().unwrap_or_default(),
    });
    let served = versions(definition).iter().filter(|version| flag(version, "served"));
    served
        .map(|version| {
            let open_api = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
            let name = text(version, "/name");
            Ok(Resource {
                group: group.to_owned(),
                version: text(version, "/name").to_owned(),
                kind: text(definition, "/spec/names/kind").to_owned(),
                plural: plural.to_owned(),
                singular: text(definition, "/spec/names/singular").to_owned(),
                list_kind: text(definition, "/spec/names/listKind").to_owned(),
                short_names: texts(definition, "/spec/names/shortNames"),
                categories: texts(definition, "/spec/names/categories"),
                namespaced: text(definition, "/spec/scope") == "Namespaced",
                has_status: version.pointer("/subresources/status").is_some(),
                verbs: if object::is_deleting(definition) { LAST_VERBS } else { crate::registry::CUSTOM_VERBS },
                message: None,
                scale: version.pointer("/subresources/scale").map(scale_paths),
                schema: conversion.schemas.get(&group_version(group, name)).cloned().unwrap_or_default(),
                deprecated: deprecation(group, kind, version, definition),
                open_api: Some(open_api),
                columns: columns(version),
                selectable: selectable_of(version).iter().map(|path| path.trim_start_matches('.').to_owned()).collect(),
                stored_as: stored_as(definition),
                stored_api_version: group_version(group, storage),
                conversion: Arc::clone(&conversion),
                made_of: made_of(definition),
                flavour: Flavour::Custom,
            })
        })
        .collect()
}

/// What tells a definition from others. As upstream, what is said about it in its conditions and metadata makes no
/// difference to its kind.
fn made_of(definition: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    for part in ["/spec", "/status/acceptedNames"] {
        definition.pointer(part).map(Value::to_string).hash(&mut hasher);
    }
    format!("{} {:x}", object::uid(definition), hasher.finish())
}

/// The warning that comes with every use of a deprecated version; it names the best newer one that is not.
fn deprecation(group: &str, kind: &str, version: &Value, definition: &Value) -> Option<String> {
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(own) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(own.to_owned());
    }
    let priority = |version: &Value| version_priority(text(version, "/name"));
    let all = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let usable = all.filter(|other| flag(other, "served") && !flag(other, "deprecated"));
    let better = usable.filter(|other| priority(other) > priority(version)).max_by_key(|other| priority(other));
    let instead = better.map(|better| format!("; use {group}/{} {kind}", text(better, "/name"))).unwrap_or_default();
    Some(format!("{group}/{} {kind} is deprecated{instead}", text(version, "/name")))
}

fn scale_paths(scale: &Value) -> ScalePaths {
    let path = |field: &str| -> Vec<String> {
        let path = text(scale, field).trim_start_matches('.');
        path.split('.').filter(|step| !step.is_empty()).map(str::to_owned).collect()
    };
    ScalePaths {
        spec_replicas: path("/specReplicasPath"),
        status_replicas: path("/statusReplicasPath"),
        selector: path("/labelSelectorPath"),
    }
}

/// The JSON paths of fields that selectors may name.
fn selectable_of(version: &Value) -> Vec<String> {
    let fields = version.get("selectableFields").and_then(Value::as_array);
    fields.into_iter().flatten().map(|field| text(field, "/jsonPath").to_owned()).collect()
}

fn columns_of(version: &Value) -> &[Value] {
    version.get("additionalPrinterColumns").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn columns(version: &Value) -> Vec<Column> {
    let column = |name: &str, kind: &str, path: &str, from: &Value| {
        let cell = Cell::Path(JsonPath::parse(path).ok()?);
        Some(Column {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: text(from, "/format").to_owned(),
            description: match text(from, "/description") {
                "" => format!("Custom resource definition column (in JSONPath format): {}", text(from, "/jsonPath")),
                description => description.to_owned(),
            },
            priority: from.get("priority").and_then(Value::as_i64).unwrap_or_default(),
            cell,
        })
    };
    let wanted = columns_of(version);
    if wanted.is_empty() {
        return column("Age", "date", ".metadata.creationTimestamp", &Value::Null).into_iter().collect();
    }
    wanted.iter().filter_map(|c| column(text(c, "/name"), text(c, "/type"), text(c, "/jsonPath"), c)).collect()
}
