//! The columns that `kubectl get` prints for the built-in kinds, as a real server names and orders them.

use serde_json::Value;

use crate::registry::{Cell, Column, Flavour};
use crate::table::{age, text_at};

type Compute = fn(&Value) -> Value;

/// A column: its name, type, priority, what is in it, and how it comes about. Those of a priority above zero are shown by
/// `-o wide` only.
struct Row(&'static str, &'static str, i64, &'static str, Compute);

pub(super) fn columns(flavour: Flavour) -> Vec<Column> {
    let rows: &[Row] = match flavour {
        Flavour::Namespace => {
            &[Row("Status", "string", 0, "Active, or Terminating.", |o| text_at(o, "/status/phase").into()), AGE]
        }
        Flavour::Secret => {
            &[Row("Type", "string", 0, "What the data is for.", |o| text_at(o, "/type").into()), DATA, AGE]
        }
        Flavour::ConfigMap => &[DATA, AGE],
        Flavour::Lease => {
            &[Row("Holder", "string", 0, "Who holds the lease.", |o| text_at(o, "/spec/holderIdentity").into()), AGE]
        }
        Flavour::ServiceAccount => &[AGE],
        Flavour::Definition | Flavour::Role | Flavour::ClusterRole => {
            const CREATED: Row = Row("Created At", "date", 0, "When the object was created.", |o| {
                text_at(o, "/metadata/creationTimestamp").into()
            });
            &[CREATED]
        }
        Flavour::RoleBinding | Flavour::ClusterRoleBinding => &[
            Row("Role", "string", 0, "The role that is given.", role),
            AGE,
            Row("Users", "string", 1, "Users it is given to.", |o| subjects(o, "User").into()),
            Row("Groups", "string", 1, "Groups it is given to.", |o| subjects(o, "Group").into()),
            Row("ServiceAccounts", "string", 1, "Accounts it is given to.", |o| subjects(o, "ServiceAccount").into()),
        ],
        Flavour::ValidatingWebhook | Flavour::MutatingWebhook => {
            &[Row("Webhooks", "integer", 0, "How many services are asked.", webhooks), AGE]
        }
        Flavour::CoreEvent | Flavour::NewEvent => EVENT,
        Flavour::Custom | Flavour::Review => &[],
    };
    rows.iter().map(column).collect()
}

const AGE: Row =
    Row("Age", "string", 0, "How long ago the object was created.", |o| age(text_at(o, "/metadata/creationTimestamp")));
const DATA: Row = Row("Data", "string", 0, "How many entries there are.", |o| {
    Value::from(["data", "binaryData"].iter().map(|f| entries(o, f)).sum::<usize>())
});

/// Events are told apart by what happened; their names come last.
const EVENT: &[Row] = &[
    Row("Last Seen", "string", 0, "How long ago it happened last.", |o| age(event_time(o))),
    Row("Type", "string", 0, "Normal or Warning.", |o| text_at(o, "/type").into()),
    Row("Reason", "string", 0, "What happened, in one word.", |o| text_at(o, "/reason").into()),
    Row("Object", "string", 0, "What it happened to.", event_object),
    Row("Subobject", "string", 1, "The part it happened to.", |o| {
        first_of(o, &["/involvedObject/fieldPath", "/regarding/fieldPath"]).into()
    }),
    Row("Source", "string", 1, "Who told.", event_source),
    Row("Message", "string", 0, "What happened.", |o| first_of(o, &["/message", "/note"]).trim().into()),
    Row("First Seen", "string", 1, "How long ago it happened first.", |o| {
        age(first_of(o, &["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"]))
    }),
    Row("Count", "string", 1, "How often it happened.", event_count),
    Row("Name", "string", 1, "Name of the event.", |o| crate::object::name(o).into()),
];

fn column(row: &Row) -> Column {
    let Row(name, kind, priority, description, compute) = row;
    Column {
        name: (*name).to_owned(),
        kind: (*kind).to_owned(),
        format: if *name == "Name" { "name".to_owned() } else { String::new() },
        description: (*description).to_owned(),
        priority: *priority,
        cell: Cell::Computed(*compute),
    }
}

fn entries(object: &Value, field: &str) -> usize {
    object.get(field).and_then(Value::as_object).map_or(0, serde_json::Map::len)
}

fn first_of<'a>(object: &'a Value, paths: &[&str]) -> &'a str {
    paths.iter().map(|path| text_at(object, path)).find(|text| !text.is_empty()).unwrap_or_default()
}

fn role(binding: &Value) -> Value {
    format!("{}/{}", text_at(binding, "/roleRef/kind"), text_at(binding, "/roleRef/name")).into()
}

fn subjects(binding: &Value, kind: &str) -> String {
    let all = binding.get("subjects").and_then(Value::as_array).into_iter().flatten();
    let shown = all.filter(|subject| text_at(subject, "/kind") == kind).map(|subject| {
        let (name, namespace) = (text_at(subject, "/name"), text_at(subject, "/namespace"));
        if kind == "ServiceAccount" { format!("{namespace}/{name}") } else { name.to_owned() }
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn webhooks(configuration: &Value) -> Value {
    configuration.get("webhooks").and_then(Value::as_array).map_or(0, Vec::len).into()
}

fn event_time(event: &Value) -> &str {
    const TIMES: &[&str] =
        &["/series/lastObservedTime", "/lastTimestamp", "/deprecatedLastTimestamp", "/eventTime", "/firstTimestamp"];
    first_of(event, TIMES)
}

fn event_object(event: &Value) -> Value {
    let kind = first_of(event, &["/involvedObject/kind", "/regarding/kind"]).to_lowercase();
    let name = first_of(event, &["/involvedObject/name", "/regarding/name"]);
    if name.is_empty() { kind.into() } else { format!("{kind}/{name}").into() }
}

fn event_source(event: &Value) -> Value {
    let component = first_of(
        event,
        &["/source/component", "/deprecatedSource/component", "/reportingComponent", "/reportingController"],
    );
    let host = first_of(event, &["/source/host", "/deprecatedSource/host", "/reportingInstance"]);
    if host.is_empty() { component.into() } else { format!("{component}, {host}").into() }
}

fn event_count(event: &Value) -> Value {
    let at = |pointer: &str| event.pointer(pointer).and_then(Value::as_i64).filter(|count| *count != 0);
    at("/series/count").or_else(|| at("/count")).or_else(|| at("/deprecatedCount")).unwrap_or(1).into()
}
