//! The built-in kinds, as rows: names, schema and columns. What else is special about them is in `flavour.rs`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::registry::{Cell, Column, Flavour, Resource, group_version};
use crate::schema::Schema;
use crate::table::{age, text_at};

/// Storage of definitions.
pub(crate) const DEFINITIONS: &str = "apiextensions.k8s.io/customresourcedefinitions";
/// Storage of namespaces.
pub(crate) const NAMESPACES: &str = "/namespaces";

const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.fieldPath",
    "reason",
    "type",
    "reportingComponent",
];
const NEW_EVENT_FIELDS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.fieldPath",
    "reason",
    "type",
    "reportingController",
];

struct Row {
    flavour: Flavour,
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    namespaced: bool,
    has_status: bool,
    selectable: &'static [&'static str],
    /// Where it is stored, when not under its own group and version.
    stored: Option<(&'static str, &'static str)>,
}

const fn row(flavour: Flavour, group: &'static str, kind: &'static str, plural: &'static str) -> Row {
    Row {
        flavour,
        group,
        version: "v1",
        kind,
        plural,
        short: &[],
        namespaced: true,
        has_status: false,
        selectable: &[],
        stored: None,
    }
}

const ROWS: &[Row] = &[
    Row {
        short: &["ns"],
        namespaced: false,
        has_status: true,
        selectable: &["status.phase"],
        ..row(Flavour::Namespace, "", "Namespace", "namespaces")
    },
    Row { selectable: &["type"], ..row(Flavour::Secret, "", "Secret", "secrets") },
    Row { short: &["cm"], ..row(Flavour::ConfigMap, "", "ConfigMap", "configmaps") },
    Row { short: &["ev"], selectable: EVENT_FIELDS, ..row(Flavour::CoreEvent, "", "Event", "events") },
    Row {
        short: &["ev"],
        selectable: NEW_EVENT_FIELDS,
        stored: Some(("/events", "v1")),
        ..row(Flavour::NewEvent, "events.k8s.io", "Event", "events")
    },
    row(Flavour::Lease, "coordination.k8s.io", "Lease", "leases"),
    Row {
        short: &["crd", "crds"],
        namespaced: false,
        has_status: true,
        ..row(Flavour::Definition, "apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions")
    },
];

pub(crate) fn resources() -> Vec<Resource> {
    ROWS.iter().map(resource).collect()
}

fn resource(row: &Row) -> Resource {
    let api_version = group_version(row.group, row.version);
    let (stored_as, stored_api_version) = match row.stored {
        Some((place, version)) => (place.into(), version.to_owned()),
        None => (format!("{}/{}", row.group, row.plural).into(), api_version),
    };
    Resource {
        group: row.group.to_owned(),
        version: row.version.to_owned(),
        kind: row.kind.to_owned(),
        plural: row.plural.to_owned(),
        singular: row.kind.to_lowercase(),
        list_kind: format!("{}List", row.kind),
        short_names: row.short.iter().map(|s| (*s).to_owned()).collect(),
        categories: Vec::new(),
        namespaced: row.namespaced,
        has_status: row.has_status,
        schema: Arc::new(schema(row.flavour)),
        open_api: None,
        columns: columns(row.flavour),
        selectable: row.selectable.iter().map(|field| (*field).to_owned()).collect(),
        stored_as,
        stored_api_version,
        conversion: Arc::default(),
        flavour: row.flavour,
    }
}

/// The part of a kind's schema that is checked: enough to keep what other code relies on, and to answer a typing
/// mistake in the fields people write by hand.
fn schema(flavour: Flavour) -> Schema {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let map_of = |what: Value| json!({"type": "object", "additionalProperties": what});
    let text = json!({"type": "string"});
    let data = json!({"type": "string", "format": "byte"});
    let properties = match flavour {
        Flavour::Namespace => json!({"spec": open, "status": open}),
        Flavour::Secret => json!({
            "data": map_of(data), "stringData": map_of(text.clone()), "type": text, "immutable": {"type": "boolean"},
        }),
        Flavour::ConfigMap => {
            json!({"data": map_of(text), "binaryData": map_of(data), "immutable": {"type": "boolean"}})
        }
        Flavour::Lease => json!({"spec": open}),
        Flavour::Definition => json!({"spec": open, "status": open}),
        Flavour::CoreEvent | Flavour::NewEvent | Flavour::Custom => return Schema::anything(),
    };
    Schema::parse(&json!({"type": "object", "properties": properties})).unwrap_or_else(|_| Schema::anything())
}

fn columns(flavour: Flavour) -> Vec<Column> {
    let column = |name: &str, kind: &str, cell: fn(&Value) -> Value| Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: String::new(),
        description: String::new(),
        priority: 0,
        cell: Cell::Computed(cell),
    };
    let count = |object: &Value| Value::from(["data", "binaryData"].iter().map(|f| entries(object, f)).sum::<usize>());
    let age_column = || column("Age", "string", |object| age(text_at(object, "/metadata/creationTimestamp")));
    match flavour {
        Flavour::Namespace => {
            vec![column("Status", "string", |o| text_at(o, "/status/phase").into()), age_column()]
        }
        Flavour::Secret => {
            vec![
                column("Type", "string", |o| text_at(o, "/type").into()),
                column("Data", "string", count),
                age_column(),
            ]
        }
        Flavour::ConfigMap => vec![column("Data", "string", count), age_column()],
        Flavour::Lease => {
            vec![column("Holder", "string", |o| text_at(o, "/spec/holderIdentity").into()), age_column()]
        }
        Flavour::Definition => {
            vec![column("Created At", "date", |o| text_at(o, "/metadata/creationTimestamp").into())]
        }
        Flavour::CoreEvent | Flavour::NewEvent => vec![
            column("Last Seen", "string", |o| age(event_time(o))),
            column("Type", "string", |o| text_at(o, "/type").into()),
            column("Reason", "string", |o| text_at(o, "/reason").into()),
            column("Object", "string", event_object),
            column("Message", "string", |o| first_of(o, &["/message", "/note"]).trim().into()),
        ],
        Flavour::Custom => Vec::new(),
    }
}

fn entries(object: &Value, field: &str) -> usize {
    object.get(field).and_then(Value::as_object).map_or(0, serde_json::Map::len)
}

fn first_of<'a>(object: &'a Value, paths: &[&str]) -> &'a str {
    paths.iter().map(|path| text_at(object, path)).find(|text| !text.is_empty()).unwrap_or_default()
}

fn event_time(object: &Value) -> &str {
    const TIMES: &[&str] =
        &["/series/lastObservedTime", "/lastTimestamp", "/deprecatedLastTimestamp", "/eventTime", "/firstTimestamp"];
    first_of(object, TIMES)
}

fn event_object(object: &Value) -> Value {
    let kind = first_of(object, &["/involvedObject/kind", "/regarding/kind"]).to_lowercase();
    let name = first_of(object, &["/involvedObject/name", "/regarding/name"]);
    format!("{kind}/{name}").into()
}
