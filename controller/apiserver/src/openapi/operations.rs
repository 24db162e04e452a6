//! What may be done with a path of a resource: its parameters, bodies and answers.

use serde_json::{Map, Value, json};

use super::schemas::{DELETE_OPTIONS, PATCH, SCALE, STATUS, name_of_kind, reference, reference_to};
use crate::object::set_field;
use crate::registry::{Flavour, Resource};

/// Name, type and meaning of a parameter.
type Parameter = (&'static str, &'static str, &'static str);

const PRETTY: Parameter = ("pretty", "string", "Whether the answer is indented.");
const LIST: &[Parameter] = &[
    ("allowWatchBookmarks", "boolean", "Whether a watch tells from time to time how far it is."),
    ("continue", "string", "Where to go on, as an earlier list said."),
    ("fieldSelector", "string", "Only objects with these fields."),
    ("labelSelector", "string", "Only objects with these labels."),
    ("limit", "integer", "The most objects of one answer."),
    ("resourceVersion", "string", "The state that is wanted."),
    ("resourceVersionMatch", "string", "How that state is meant: Exact or NotOlderThan."),
    ("sendInitialEvents", "boolean", "Whether a watch begins with what is there."),
    ("shardSelector", "string", "Not used: a share of the objects, for a feature that is not there."),
    ("timeoutSeconds", "integer", "How long the answer may take."),
    ("watch", "boolean", "Whether changes are told as they happen."),
];
const WRITE: &[Parameter] = &[
    ("dryRun", "string", "Whether nothing is to be stored; the only valid value is All."),
    ("fieldManager", "string", "The name of the actor that makes the changes."),
    ("fieldValidation", "string", "How to treat unknown and duplicate fields: Ignore, Warn or Strict."),
];
const FORCE: Parameter = ("force", "boolean", "Whether an apply takes fields that others own.");
const DELETE: &[Parameter] = &[
    ("dryRun", "string", "Whether nothing is to be stored; the only valid value is All."),
    ("gracePeriodSeconds", "integer", "How long the object may take to end."),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean", "Whether to delete an object that cannot be read."),
    ("orphanDependents", "boolean", "Not to be used any more: say propagationPolicy."),
    ("propagationPolicy", "string", "What becomes of dependents: Background, Foreground or Orphan."),
];
const GET: &[Parameter] = &[("resourceVersion", "string", "The state that is wanted.")];

/// Which path an operation is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The objects, of one namespace where there are such.
    Collection,
    /// The objects of all namespaces.
    Everywhere,
    Object,
    /// A path below an object.
    Below(&'static str),
}

/// The operations of a path, with the parameters that all of them have.
pub(super) fn path(resource: &Resource, place: Place) -> Value {
    let on_object: &[(&str, &str)] = &[("get", "get"), ("update", "put"), ("delete", "delete"), ("patch", "patch")];
    let known: &[(&str, &str)] = match place {
        Place::Collection => &[("list", "get"), ("create", "post"), ("deletecollection", "delete")],
        Place::Everywhere => &[("list", "get")],
        Place::Object => on_object,
        Place::Below("finalize") => &[("update", "put")],
        Place::Below(_) => &[("get", "get"), ("update", "put"), ("patch", "patch")],
    };
    let mut operations = Map::new();
    for (verb, method) in known.iter().filter(|(verb, _)| resource.allows(verb)) {
        operations.insert((*method).to_owned(), operation(resource, place, verb));
    }
    let mut shared = Vec::new();
    let in_path = |name: &str, description: &str| json!({"name": name, "in": "path", "required": true, "description": description, "schema": {"type": "string", "uniqueItems": true}});
    if matches!(place, Place::Object | Place::Below(_)) {
        shared.push(in_path("name", &format!("Name of the {}.", resource.kind)));
    }
    if resource.namespaced && place != Place::Everywhere {
        shared.push(in_path("namespace", "Name of the namespace."));
    }
    if place == Place::Everywhere {
        let mut all: Vec<Parameter> = LIST.iter().copied().chain([PRETTY]).collect();
        all.sort_unstable();
        shared.extend(all.iter().map(parameter));
    } else {
        shared.push(parameter(&PRETTY));
    }
    operations.insert("parameters".to_owned(), shared.into());
    operations.into()
}

fn parameter((name, kind, description): &Parameter) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": {"type": kind, "uniqueItems": true}})
}

fn operation(resource: &Resource, place: Place, verb: &str) -> Value {
    let is_custom = resource.is_custom();
    let (own, list) = (kind_of(resource, place), reference(&name_of_kind(resource, &resource.list_kind)));
    let (answer, codes): (Value, &[&str]) = match verb {
        "list" => (list, &["200"]),
        "create" => (own.clone(), &["200", "201", "202"]),
        "update" => (own.clone(), &["200", "201"]),
        "patch" if !is_custom => (own.clone(), &["200", "201"]),
        "delete" if matches!(resource.flavour, Flavour::ServiceAccount) => (own.clone(), &["200", "202"]),
        "delete" => (reference_to(STATUS), &["200", "202"]),
        "deletecollection" => (reference_to(STATUS), &["200"]),
        _ => (own.clone(), &["200"]),
    };
    let action = match verb {
        "create" => "post",
        "update" => "put",
        other => other,
    };
    let (id, tag) = identify(resource, place, verb);
    let mut operation = json!({
        "tags": [tag], "operationId": id, "description": description(resource, place, verb),
        "responses": responses(&answer, codes, verb == "list" && !is_custom), "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
    });
    if let Some(content) = content(resource, verb, &own) {
        // What is to be deleted how need not be said.
        let body = match verb {
            "delete" | "deletecollection" => json!({"content": content}),
            _ => json!({"content": content, "required": true}),
        };
        set_field(&mut operation, "requestBody", body);
    }
    let parameters = parameters(resource, place, verb);
    if !parameters.is_empty() {
        set_field(&mut operation, "parameters", parameters.iter().map(parameter).collect());
    }
    operation
}

fn kind_of(resource: &Resource, place: Place) -> Value {
    match place {
        Place::Below("scale") => reference_to(SCALE),
        _ => reference(&name_of_kind(resource, &resource.kind)),
    }
}

fn parameters(resource: &Resource, place: Place, verb: &str) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = match verb {
        // The whole path has them.
        "list" if place == Place::Everywhere => Vec::new(),
        "list" => LIST.to_vec(),
        "deletecollection" if resource.is_custom() => LIST.to_vec(),
        "deletecollection" => {
            let listed = LIST.iter().filter(|(name, ..)| !matches!(*name, "watch" | "allowWatchBookmarks"));
            listed.chain(DELETE).copied().collect()
        }
        "create" | "update" => WRITE.to_vec(),
        "patch" => WRITE.iter().copied().chain([FORCE]).collect(),
        "delete" => DELETE.to_vec(),
        "get" if resource.is_custom() => GET.to_vec(),
        _ => Vec::new(),
    };
    parameters.sort_unstable();
    parameters
}

fn responses(answer: &Value, codes: &[&str], watched: bool) -> Value {
    let says = |code: &str| match code {
        "201" => "Created",
        "202" => "Accepted",
        _ => "OK",
    };
    let mut kinds = vec!["application/json", "application/yaml"];
    if watched {
        kinds.push("application/json;stream=watch");
    }
    let content: Map<String, Value> =
        kinds.iter().map(|kind| ((*kind).to_owned(), json!({"schema": answer}))).collect();
    let each = |code: &&str| ((*code).to_owned(), json!({"description": says(code), "content": content}));
    let mut responses: Map<String, Value> = codes.iter().map(each).collect();
    responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    responses.into()
}

/// What a request carries; nothing when it need not carry anything.
fn content(resource: &Resource, verb: &str, own: &Value) -> Option<Value> {
    let is_custom = resource.is_custom();
    let written = |schema: Value| {
        let kinds: &[&str] = if is_custom { &["application/json", "application/yaml"] } else { &["*/*"] };
        kinds.iter().map(|kind| ((*kind).to_owned(), json!({"schema": schema}))).collect::<Map<_, _>>()
    };
    Some(Value::Object(match verb {
        "create" | "update" => written(own.clone()),
        "delete" => written(reference_to(DELETE_OPTIONS)),
        "deletecollection" if !is_custom => written(reference_to(DELETE_OPTIONS)),
        "patch" => {
            let mut kinds =
                vec!["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
            if !is_custom {
                kinds.push("application/strategic-merge-patch+json");
            }
            let schema = reference_to(PATCH);
            kinds.into_iter().map(|kind| (kind.to_owned(), json!({"schema": schema}))).collect()
        }
        _ => return None,
    }))
}

fn description(resource: &Resource, place: Place, verb: &str) -> String {
    let kind = &resource.kind;
    let what = match place {
        Place::Below(part) => format!("the {part} of a {kind}"),
        _ => format!("a {kind}"),
    };
    match verb {
        "list" => format!("Lists or watches objects of kind {kind}."),
        "create" => format!("Creates {what}."),
        "deletecollection" => format!("Deletes objects of kind {kind}."),
        "get" => format!("Reads {what}."),
        "update" => format!("Replaces {what}."),
        "patch" => format!("Changes {what}."),
        _ => format!("Deletes {what}."),
    }
}

/// The unique name of an operation and the tag of its group, as upstream makes them.
fn identify(resource: &Resource, place: Place, verb: &str) -> (String, String) {
    let group = if resource.group.is_empty() { "core" } else { &resource.group };
    let group = group.strip_suffix(".k8s.io").unwrap_or(group);
    let action = match verb {
        "get" => "read",
        "update" => "replace",
        "deletecollection" => "delete",
        other => other,
    };
    let collection = if verb == "deletecollection" { "Collection" } else { "" };
    let (space, end) = match place {
        Place::Everywhere => ("", "ForAllNamespaces".to_owned()),
        Place::Below(part) => (if resource.namespaced { "Namespaced" } else { "" }, camel(part, true)),
        _ => (if resource.namespaced { "Namespaced" } else { "" }, String::new()),
    };
    let (group_name, version) = (camel(group, true), camel(&resource.version, true));
    let id = format!("{action}{group_name}{version}{collection}{space}{}{end}", resource.kind);
    (id, format!("{}_{}", camel(group, false), resource.version))
}

/// Words joined, each but perhaps the first with a capital.
fn camel(text: &str, mut capital: bool) -> String {
    let mut joined = String::new();
    for letter in text.chars() {
        if !letter.is_alphanumeric() {
            capital = true;
        } else if std::mem::take(&mut capital) {
            joined.extend(letter.to_uppercase());
        } else {
            joined.push(letter);
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    /// The names of a real server.
    #[test]
    fn operations_are_named_as_upstream_names_them() {
        let resources = builtin::resources();
        let of = |plural: &str| resources.iter().find(|resource| resource.plural == plural).unwrap();
        let cases = [
            ("leases", Place::Collection, "list", "listCoordinationV1NamespacedLease", "coordination_v1"),
            ("leases", Place::Everywhere, "list", "listCoordinationV1LeaseForAllNamespaces", "coordination_v1"),
            (
                "configmaps",
                Place::Collection,
                "deletecollection",
                "deleteCoreV1CollectionNamespacedConfigMap",
                "core_v1",
            ),
            ("namespaces", Place::Below("status"), "get", "readCoreV1NamespaceStatus", "core_v1"),
            ("roles", Place::Object, "update", "replaceRbacAuthorizationV1NamespacedRole", "rbacAuthorization_v1"),
        ];
        for (plural, place, verb, id, tag) in cases {
            assert_eq!(identify(of(plural), place, verb), (id.to_owned(), tag.to_owned()));
        }
    }

    #[test]
    fn a_question_can_only_be_asked() {
        let resources = builtin::resources();
        let review = resources.iter().find(|resource| resource.flavour == Flavour::Review).unwrap();
        let collection = path(review, Place::Collection);
        let methods: Vec<&String> = collection.as_object().unwrap().keys().collect();
        assert_eq!(methods, ["parameters", "post"]);
    }
}
