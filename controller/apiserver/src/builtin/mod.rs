//! The built-in kinds, as rows: names, message and what is selectable. Their messages are in `messages.idl`, their
//! columns in `columns.rs`, and what else is special about them in `flavour/`.

mod columns;
pub(crate) mod decode;
pub(crate) mod empty;
mod idl;
pub(crate) mod restore;
mod structure;

use std::sync::Arc;

use serde_json::{Value, json};

pub(crate) use idl::{Field, Kind, Many, Message};

use crate::registry::{ALL_VERBS, Flavour, Resource, group_version};
use crate::schema::Schema;

/// Storage of definitions.
pub(crate) const DEFINITIONS: &str = "apiextensions.k8s.io/customresourcedefinitions";
/// Storage of namespaces.
pub(crate) const NAMESPACES: &str = "/namespaces";
/// Storage of service accounts.
pub(crate) const SERVICE_ACCOUNTS: &str = "/serviceaccounts";
/// Storage of config maps.
pub(crate) const CONFIG_MAPS: &str = "/configmaps";
/// Storage of events of both groups.
pub(crate) const EVENTS: &str = "/events";
/// Group of roles and bindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

/// Upstream gives namespaces no way to be deleted all at once.
const NAMESPACE_VERBS: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const REVIEW_VERBS: &[&str] = &["create"];

const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
const NEW_EVENT_FIELDS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

struct Row {
    flavour: Flavour,
    group: &'static str,
    /// The package of its message.
    package: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    has_status: bool,
    verbs: &'static [&'static str],
    selectable: &'static [&'static str],
    /// Where it is stored, when not under its own group and version.
    stored: Option<(&'static str, &'static str)>,
}

const fn row(
    flavour: Flavour,
    group: &'static str,
    package: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Row {
    Row {
        flavour,
        group,
        package,
        kind,
        plural,
        short: &[],
        categories: &[],
        namespaced: true,
        has_status: false,
        verbs: ALL_VERBS,
        selectable: &[],
        stored: None,
    }
}

const fn rbac(flavour: Flavour, kind: &'static str, plural: &'static str, namespaced: bool) -> Row {
    Row { namespaced, ..row(flavour, RBAC, "rbac.v1", kind, plural) }
}

const fn webhooks(flavour: Flavour, kind: &'static str, plural: &'static str) -> Row {
    const GROUP: &str = "admissionregistration.k8s.io";
    Row {
        namespaced: false,
        categories: &["api-extensions"],
        ..row(flavour, GROUP, "admissionregistration.v1", kind, plural)
    }
}

/// A question that is answered and not stored.
const fn review(
    group: &'static str,
    package: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> Row {
    Row { namespaced, verbs: REVIEW_VERBS, ..row(Flavour::Review, group, package, kind, plural) }
}

const ROWS: &[Row] = &[
    Row {
        short: &["ns"],
        namespaced: false,
        has_status: true,
        verbs: NAMESPACE_VERBS,
        selectable: &["status.phase"],
        ..row(Flavour::Namespace, "", "core.v1", "Namespace", "namespaces")
    },
    Row { selectable: &["type"], ..row(Flavour::Secret, "", "core.v1", "Secret", "secrets") },
    Row { short: &["cm"], ..row(Flavour::ConfigMap, "", "core.v1", "ConfigMap", "configmaps") },
    Row { short: &["sa"], ..row(Flavour::ServiceAccount, "", "core.v1", "ServiceAccount", "serviceaccounts") },
    Row { short: &["ev"], selectable: EVENT_FIELDS, ..row(Flavour::CoreEvent, "", "core.v1", "Event", "events") },
    Row {
        short: &["ev"],
        selectable: NEW_EVENT_FIELDS,
        stored: Some((EVENTS, "v1")),
        ..row(Flavour::NewEvent, "events.k8s.io", "events.v1", "Event", "events")
    },
    row(Flavour::Lease, "coordination.k8s.io", "coordination.v1", "Lease", "leases"),
    rbac(Flavour::Role, "Role", "roles", true),
    rbac(Flavour::RoleBinding, "RoleBinding", "rolebindings", true),
    rbac(Flavour::ClusterRole, "ClusterRole", "clusterroles", false),
    rbac(Flavour::ClusterRoleBinding, "ClusterRoleBinding", "clusterrolebindings", false),
    webhooks(Flavour::ValidatingWebhook, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    webhooks(Flavour::MutatingWebhook, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    review(AUTHORIZATION, "authorization.v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", false),
    review(AUTHORIZATION, "authorization.v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", false),
    review(AUTHORIZATION, "authorization.v1", "SubjectAccessReview", "subjectaccessreviews", false),
    review(AUTHORIZATION, "authorization.v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", true),
    review("authentication.k8s.io", "authentication.v1", "SelfSubjectReview", "selfsubjectreviews", false),
    Row {
        short: &["crd", "crds"],
        categories: &["api-extensions"],
        namespaced: false,
        has_status: true,
        ..row(
            Flavour::Definition,
            "apiextensions.k8s.io",
            "apiextensions.v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
        )
    },
];

const AUTHORIZATION: &str = "authorization.k8s.io";

pub(crate) fn resources() -> Vec<Resource> {
    ROWS.iter().map(resource).collect()
}

/// Whether objects of a built-in kind are stored there.
pub(crate) fn is_stored_at(place: &str) -> bool {
    ROWS.iter().any(|row| place.split_once('/') == Some((row.group, row.plural)))
}

/// What the kinds of a group are called, in the form in which definitions have their accepted names.
pub(crate) fn names_in(group: &str) -> Vec<Value> {
    let names = |row: &Row| {
        json!({"status": {"acceptedNames": {
            "plural": row.plural, "singular": row.kind.to_lowercase(), "shortNames": row.short, "kind": row.kind,
            "listKind": format!("{}List", row.kind),
        }}})
    };
    ROWS.iter().filter(|row| row.group == group).map(names).collect()
}

fn resource(row: &Row) -> Resource {
    let api_version = group_version(row.group, "v1");
    let (stored_as, stored_api_version) = match row.stored {
        Some((place, version)) => (place.into(), version.to_owned()),
        None => (format!("{}/{}", row.group, row.plural).into(), api_version),
    };
    let message = Message::named(&format!("{}.{}", row.package, row.kind));
    let schema = message.map(structure::schema).and_then(|schema| Schema::parse(&schema).ok());
    Resource {
        group: row.group.to_owned(),
        version: "v1".to_owned(),
        kind: row.kind.to_owned(),
        plural: row.plural.to_owned(),
        singular: row.kind.to_lowercase(),
        list_kind: format!("{}List", row.kind),
        short_names: row.short.iter().map(|s| (*s).to_owned()).collect(),
        categories: row.categories.iter().map(|s| (*s).to_owned()).collect(),
        namespaced: row.namespaced,
        has_status: row.has_status,
        scale: None,
        verbs: row.verbs,
        message,
        schema: Arc::new(schema.unwrap_or_else(Schema::anything)),
        open_api: None,
        columns: columns::columns(row.flavour),
        selectable: row.selectable.iter().map(|field| (*field).to_owned()).collect(),
        stored_as,
        stored_api_version,
        conversion: Arc::default(),
        deprecated: None,
        made_of: String::new(),
        flavour: row.flavour,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_message_and_a_schema() {
        for resource in resources() {
            assert!(resource.message.is_some(), "{}", resource.kind);
            let schema = resource.message.map(structure::schema).unwrap();
            assert!(Schema::parse(&schema).is_ok(), "{}", resource.kind);
        }
    }
}
