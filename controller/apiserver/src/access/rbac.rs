//! Role-based access control: the rules that bindings give to a user, and whether they allow a request.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Attributes, User};
use crate::gotext;
use crate::object;
use crate::store::{Index, Key};

const CLUSTER_BINDINGS: &str = "rbac.authorization.k8s.io/clusterrolebindings";
const BINDINGS: &str = "rbac.authorization.k8s.io/rolebindings";
const CLUSTER_ROLES: &str = "rbac.authorization.k8s.io/clusterroles";
const ROLES: &str = "rbac.authorization.k8s.io/roles";

/// The rules of a user in one namespace, and everywhere.
pub(crate) struct Roles(Vec<Rule>);

/// One rule, and through which binding the user has it.
#[derive(Debug, Clone, Default)]
struct Rule {
    by: Arc<Binding>,
    verbs: Vec<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    paths: Vec<String>,
}

/// A binding, and the subject of it that is the user.
#[derive(Debug, Default)]
struct Binding {
    object: Arc<Value>,
    subject: usize,
}

impl Roles {
    /// The rules that a user has in `namespace`; with an empty one, those that hold everywhere.
    pub(crate) fn of(index: &Index, user: &User, namespace: &str) -> Self {
        let mut rules = Vec::new();
        for binding in index.list(CLUSTER_BINDINGS, "") {
            if let Some(subject) = bound(&binding, user, "") {
                rules.extend(rules_of(index, &Arc::new(Binding { object: binding, subject }), ""));
            }
        }
        if !namespace.is_empty() {
            for binding in index.list(BINDINGS, namespace) {
                if let Some(subject) = bound(&binding, user, namespace) {
                    let binding = Arc::new(Binding { object: binding, subject });
                    // Paths are no part of a namespace.
                    let bound = rules_of(index, &binding, namespace).into_iter();
                    rules.extend(bound.map(|rule| Rule { paths: Vec::new(), ..rule }));
                }
            }
        }
        Self(rules)
    }

    pub(crate) fn allow(&self, wanted: &Attributes) -> bool {
        self.0.iter().any(|rule| rule.allows(wanted))
    }

    /// The binding that allows it, as upstream names one.
    pub(super) fn allowed_by(&self, wanted: &Attributes) -> Option<String> {
        self.0.iter().find(|rule| rule.allows(wanted)).map(|rule| rule.by.shown())
    }

    /// The rules about resources and those about paths, as a review lists them.
    pub(super) fn to_lists(&self) -> (Vec<Value>, Vec<Value>) {
        let (mut resources, mut paths) = (Vec::new(), Vec::new());
        for rule in &self.0 {
            if !rule.resources.is_empty() {
                let mut shown = json!({"verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources});
                if !rule.names.is_empty() {
                    object::set_field(&mut shown, "resourceNames", rule.names.clone().into());
                }
                resources.push(shown);
            }
            if !rule.paths.is_empty() {
                paths.push(json!({"verbs": rule.verbs, "nonResourceURLs": rule.paths}));
            }
        }
        (resources, paths)
    }
}

impl Binding {
    fn shown(&self) -> String {
        let text = |pointer: &str| self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (name, namespace) = (object::name(&self.object), object::namespace(&self.object));
        let of_subject = |field: &str| text(&format!("/subjects/{}/{field}", self.subject));
        let (kind, place) = (of_subject("kind"), of_subject("namespace"));
        let subject = match kind {
            "ServiceAccount" if place.is_empty() => format!("{}/{namespace}", of_subject("name")),
            "ServiceAccount" => format!("{}/{place}", of_subject("name")),
            _ => of_subject("name").to_owned(),
        };
        let (sort, binding) = match namespace {
            "" => ("ClusterRoleBinding", name.to_owned()),
            namespace => ("RoleBinding", format!("{name}/{namespace}")),
        };
        let [binding, role, subject] = [&binding, text("/roleRef/name"), &subject].map(gotext::quoted);
        format!("{sort} {binding} of {} {role} to {kind} {subject}", text("/roleRef/kind"))
    }
}

/// Which subject of a binding is the user.
fn bound(binding: &Value, user: &User, namespace: &str) -> Option<usize> {
    let mut subjects = binding.get("subjects").and_then(Value::as_array).into_iter().flatten();
    subjects.position(|subject| {
        let text = |field: &str| subject.get(field).and_then(Value::as_str).unwrap_or_default();
        match text("kind") {
            "User" => text("name") == &*user.name,
            "Group" => user.is_in(text("name")),
            "ServiceAccount" => {
                let place = if text("namespace").is_empty() { namespace } else { text("namespace") };
                format!("system:serviceaccount:{place}:{}", text("name")) == *user.name
            }
            _ => false,
        }
    })
}

/// The rules of the role that a binding names; none when there is no such role.
fn rules_of(index: &Index, binding: &Arc<Binding>, namespace: &str) -> Vec<Rule> {
    let text = |pointer: &str| binding.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (resource, place) = match text("/roleRef/kind") {
        "ClusterRole" => (CLUSTER_ROLES, ""),
        _ => (ROLES, namespace),
    };
    let key = Key { resource: resource.into(), namespace: place.to_owned(), name: text("/roleRef/name").to_owned() };
    let role = index.get(&key);
    let rules = role.as_ref().and_then(|role| role.get("rules")).and_then(Value::as_array);
    rules.into_iter().flatten().map(|rule| Rule::read(rule, binding)).collect()
}

impl Rule {
    fn read(rule: &Value, by: &Arc<Binding>) -> Self {
        let list = |field: &str| {
            let found = rule.get(field).and_then(Value::as_array).into_iter().flatten();
            found.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            by: Arc::clone(by),
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            paths: list("nonResourceURLs"),
        }
    }

    fn allows(&self, wanted: &Attributes) -> bool {
        let has = |list: &[String], text: &str| list.iter().any(|found| found == "*" || found == text);
        if !has(&self.verbs, &wanted.verb) {
            return false;
        }
        if let Some(path) = &wanted.path {
            return self.paths.iter().any(|rule| match rule.strip_suffix('*') {
                Some(start) => path.starts_with(start),
                None => rule == path,
            });
        }
        has(&self.groups, &wanted.group)
            && self.names_resource(wanted)
            && (self.names.is_empty() || self.names.contains(&wanted.name))
    }

    fn names_resource(&self, wanted: &Attributes) -> bool {
        let full = wanted.full_resource();
        let any_with_subresource = format!("*/{}", wanted.subresource);
        self.resources.iter().any(|found| {
            found == "*" || *found == full || (!wanted.subresource.is_empty() && *found == any_with_subresource)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(verb: &str, resource: &str, name: &str) -> Attributes {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Attributes {
            verb: verb.into(),
            group: "metal3.io".into(),
            resource: resource.into(),
            subresource: subresource.into(),
            name: name.into(),
            ..Attributes::default()
        }
    }

    #[test]
    fn rules_say_verb_group_resource_and_name() {
        let rule = |resources: &[&str], names: &[&str]| {
            Rule::read(
                &json!({"verbs": ["get", "list"], "apiGroups": ["metal3.io"], "resources": resources, "resourceNames": names}),
                &Arc::default(),
            )
        };
        let cases = [
            (rule(&["hosts"], &[]), wanted("get", "hosts", "a"), true),
            (rule(&["hosts"], &[]), wanted("delete", "hosts", "a"), false),
            (rule(&["hosts"], &[]), wanted("get", "hosts/status", "a"), false),
            (rule(&["hosts/status"], &[]), wanted("get", "hosts/status", "a"), true),
            (rule(&["*/status"], &[]), wanted("get", "hosts/status", "a"), true),
            (rule(&["*/status"], &[]), wanted("get", "hosts", "a"), false),
            (rule(&["*"], &[]), wanted("get", "hosts/scale", "a"), true),
            (rule(&["hosts"], &["a"]), wanted("get", "hosts", "a"), true),
            (rule(&["hosts"], &["a"]), wanted("get", "hosts", "b"), false),
            (rule(&["hosts"], &["a"]), wanted("list", "hosts", ""), false),
        ];
        for (rule, wanted, allowed) in cases {
            assert_eq!(rule.allows(&wanted), allowed, "{rule:?} {wanted:?}");
        }
    }

    #[test]
    fn paths_match_whole_or_by_their_start() {
        let rules = json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/apis/*"]});
        let rule = Rule::read(&rules, &Arc::default());
        let asks = |path: &str| Attributes { verb: "get".into(), path: Some(path.into()), ..Attributes::default() };
        assert!(rule.allows(&asks("/healthz")) && rule.allows(&asks("/apis/x")));
        assert!(!rule.allows(&asks("/healthz/x")) && !rule.allows(&asks("/apis")));
    }

    /// As a real server words it.
    #[test]
    fn a_binding_is_shown_with_its_role_and_its_subject() {
        let role = json!({"kind": "ClusterRole", "name": "view"});
        let subjects = json!([{"kind": "User", "name": "jane"}, {"kind": "ServiceAccount", "name": "s"},
                              {"kind": "ServiceAccount", "name": "s", "namespace": "o"}]);
        let shown = |namespace: &str, subject: usize| {
            let metadata = json!({"name": "b", "namespace": namespace});
            let object = json!({"metadata": metadata, "roleRef": role, "subjects": subjects});
            Binding { object: Arc::new(object), subject }.shown()
        };
        assert_eq!(shown("", 0), "ClusterRoleBinding \"b\" of ClusterRole \"view\" to User \"jane\"");
        assert_eq!(shown("n", 1), "RoleBinding \"b/n\" of ClusterRole \"view\" to ServiceAccount \"s/n\"");
        assert_eq!(shown("n", 2), "RoleBinding \"b/n\" of ClusterRole \"view\" to ServiceAccount \"s/o\"");
    }
}
