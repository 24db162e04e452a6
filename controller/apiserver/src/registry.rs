//! Which resources are served: the built-in kinds and those that CustomResourceDefinitions add. Answers lookups by URL
//! path; a [`Resource`] carries all that a handler must know about its kind, so that handlers know no kind by name.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::builtin::{self, DEFINITIONS, Message};
use crate::conversion::{Conversion, Converters};
use crate::crd;
use crate::jsonpath::JsonPath;
use crate::openapi::Documents;
use crate::schema::Schema;
use crate::status::Subject;
use crate::store::{Key, Record};

/// One kind in one version, as served.
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// `status` is written through its own path only.
    pub(crate) has_status: bool,
    /// What may be done to the resource itself, in discovery's words.
    pub(crate) verbs: &'static [&'static str],
    /// The fields of a built-in kind: how JSON and protobuf are decoded.
    pub(crate) message: Option<&'static Message>,
    /// Where the fields of the scale subresource are; `None` when it is not served.
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) schema: Arc<Schema>,
    /// The schema of a custom kind as written, for OpenAPI.
    pub(crate) open_api: Option<Value>,
    pub(crate) columns: Vec<Column>,
    /// Fields, besides `metadata.name` and `metadata.namespace`, that field selectors may name.
    pub(crate) selectable: Vec<String>,
    /// `group/plural` under which all versions are stored.
    pub(crate) stored_as: Arc<str>,
    pub(crate) stored_api_version: String,
    /// The warning that every answer carries.
    pub(crate) deprecated: Option<String>,
    /// How objects change version.
    pub(crate) conversion: Arc<Conversion>,
    /// Tells one definition from another, and from what it was before a change that matters. Empty for a built-in kind.
    pub(crate) made_of: String,
    pub(crate) flavour: Flavour,
}

/// The verbs of a resource that can do everything.
pub(crate) const ALL_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The same of a kind that a definition brings, in the order in which upstream tells them.
pub(crate) const CUSTOM_VERBS: &[&str] =
    &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// Behaviour that a kind does not get from its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    Namespace,
    Secret,
    ConfigMap,
    CoreEvent,
    /// `events.k8s.io/v1`: the same objects as `CoreEvent`, with other field names.
    NewEvent,
    Lease,
    ServiceAccount,
    Role,
    RoleBinding,
    ClusterRole,
    ClusterRoleBinding,
    ValidatingWebhook,
    MutatingWebhook,
    /// Answered, never stored.
    Review,
    Definition,
    Custom,
}

/// Where an object has the fields that its Scale shows, as field names from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: Vec<String>,
    pub(crate) status_replicas: Vec<String>,
    /// Empty when there is no label selector.
    pub(crate) selector: Vec<String>,
}

/// A column of the table that `kubectl get` prints.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    /// Above zero: shown by `-o wide` only.
    pub(crate) priority: i64,
    pub(crate) cell: Cell,
}

/// Where a column's value comes from.
pub(crate) enum Cell {
    Path(JsonPath),
    Computed(fn(&Value) -> Value),
}

impl Resource {
    pub(crate) fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }

    pub(crate) fn key(&self, namespace: &str, name: &str) -> Key {
        Key { resource: Arc::clone(&self.stored_as), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// How errors name an object of this resource.
    pub(crate) fn subject(&self, name: &str) -> Subject {
        Subject { group: self.group.clone(), kind: self.plural.clone(), name: name.to_owned() }
    }

    /// As [`Self::subject`], for validation errors, which name the kind.
    pub(crate) fn kind_subject(&self, name: &str) -> Subject {
        // Events of both groups are checked as those of the core group.
        let group = if self.flavour == Flavour::NewEvent { String::new() } else { self.group.clone() };
        Subject { group, kind: self.kind.clone(), name: name.to_owned() }
    }

    /// Whether tables of it begin with a column of names.
    pub(crate) fn is_listed_by_name(&self) -> bool {
        !matches!(self.flavour, Flavour::CoreEvent | Flavour::NewEvent)
    }

    /// Where the definition of a custom kind is.
    pub(crate) fn definition_key(&self) -> Key {
        let name = format!("{}.{}", self.plural, self.group);
        Key { resource: DEFINITIONS.into(), namespace: String::new(), name }
    }

    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// Whether an update that names no version replaces whatever is there.
    pub(crate) fn takes_unversioned_updates(&self) -> bool {
        use Flavour::{Custom, Definition, Lease, MutatingWebhook, ValidatingWebhook};
        !matches!(self.flavour, Custom | Definition | Lease | MutatingWebhook | ValidatingWebhook)
    }

    /// Whether an update of what is not there creates it.
    pub(crate) fn is_created_by_updates(&self) -> bool {
        use Flavour::{ClusterRole, ClusterRoleBinding, CoreEvent, Lease, NewEvent, Role, RoleBinding};
        matches!(self.flavour, Lease | CoreEvent | NewEvent | Role | RoleBinding | ClusterRole | ClusterRoleBinding)
    }

    pub(crate) fn is_custom(&self) -> bool {
        self.flavour == Flavour::Custom
    }
}

pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// All served resources at one moment. Replaced whole when a definition changes.
pub(crate) struct Registry {
    /// By group, version, plural. The core group is the empty string.
    resources: BTreeMap<(String, String, String), Arc<Resource>>,
    /// What each definition added, with the version of the definition: read anew only when that changed.
    definitions: BTreeMap<String, (u64, Vec<Arc<Resource>>)>,
    openapi: OnceLock<Documents>,
}

impl Registry {
    /// The built-in kinds and those of the given definitions, by name. A definition that cannot be read serves nothing.
    /// What an earlier registry made of the same definitions is taken over, and those are not even read.
    pub(crate) fn new(definitions: &[(String, Arc<Record>)], converters: &Converters, before: Option<&Self>) -> Self {
        let mut found = BTreeMap::new();
        for (name, record) in definitions {
            let version = record.version();
            let known = before.and_then(|before| before.definitions.get(name)).filter(|known| known.0 == version);
            let resources = match known {
                Some((_, resources)) => resources.clone(),
                None => match crd::resources(&record.value(), converters) {
                    Ok(resources) => resources.into_iter().map(Arc::new).collect(),
                    Err(error) => {
                        tracing::error!(definition = name, %error, "definition not served");
                        Vec::new()
                    }
                },
            };
            found.insert(name.clone(), (version, resources));
        }
        let builtin: Vec<Arc<Resource>> = match before {
            Some(before) => before.all().filter(|resource| !resource.is_custom()).cloned().collect(),
            None => builtin::resources().into_iter().map(Arc::new).collect(),
        };
        let custom = found.values().flat_map(|(_, resources)| resources.iter().cloned());
        // No definition takes the place of a built-in kind.
        let custom = custom.filter(|resource| !builtin::is_stored_at(&resource.stored_as));
        let place = |r: &Arc<Resource>| (r.group.clone(), r.version.clone(), r.plural.clone());
        let resources = builtin.into_iter().chain(custom).map(|resource| (place(&resource), resource)).collect();
        Self { resources, definitions: found, openapi: OnceLock::new() }
    }

    /// The OpenAPI documents, written when first asked for.
    pub(crate) fn openapi(&self) -> &Documents {
        self.openapi.get_or_init(|| Documents::new(self))
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.resources.get(&(group.to_owned(), version.to_owned(), plural.to_owned())).cloned()
    }

    /// Whether the very same kind is still served.
    pub(crate) fn still_has(&self, resource: &Resource) -> bool {
        let now = self.find(&resource.group, &resource.version, &resource.plural);
        now.is_some_and(|now| now.made_of == resource.made_of)
    }

    /// The resource of an object that says `api_version` and `kind` of itself; for owner references any version of the
    /// group does, since only the place of storage matters.
    pub(crate) fn find_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        self.resources.values().find(|r| r.group == group && r.kind == kind)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// The groups, each with its versions, the preferred one first.
    pub(crate) fn groups(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (group, version, _) in self.resources.keys() {
            let versions = groups.entry(group).or_default();
            if !versions.contains(&version.as_str()) {
                versions.push(version);
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by_key(|version| std::cmp::Reverse(version_priority(version)));
        }
        groups
    }

    /// Whether a group and version is one of ours, which answers for itself what it does not know.
    pub(crate) fn has_built_in(&self, group: &str, version: &str) -> bool {
        self.all().any(|resource| !resource.is_custom() && resource.group == group && resource.version == version)
    }

    pub(crate) fn in_group_version(&self, group: &str, version: &str) -> Vec<&Arc<Resource>> {
        self.all().filter(|r| r.group == group && r.version == version).collect()
    }
}

/// Kubernetes' order of version names: stable before beta before alpha, then by number; other names last.
pub(crate) fn version_priority(version: &str) -> (u8, u32, u32) {
    let parse = || {
        let rest = version.strip_prefix('v')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (major, rest) = rest.split_at(digits);
        let major = major.parse().ok()?;
        if rest.is_empty() {
            return Some((3, major, 0));
        }
        let (rank, minor) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return None,
        };
        Some((rank, major, minor.parse().ok()?))
    };
    parse().unwrap_or((0, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_as_kubernetes_does() {
        let mut versions = ["v1alpha1", "v1beta2", "foo", "v10", "v2", "v1beta10", "v1"];
        versions.sort_by_key(|v| std::cmp::Reverse(version_priority(v)));
        assert_eq!(versions, ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "foo"]);
    }
}
