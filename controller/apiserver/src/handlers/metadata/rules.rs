//! Rules that metadata must keep, in upstream's order and words.

use std::collections::HashSet;

use serde_json::Value;

use crate::gotext;
use crate::names::{NameRule, key_problems, value_problems};
use crate::object;
use crate::registry::{Flavour, Resource};
use crate::status::Cause;

/// Upstream's limit on all annotations of an object, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// Causes told of one field; upstream knows no bound, and so answers with more than it was sent.
const MOST_CAUSES: usize = 500;
/// Bytes of causes that each show the whole list of owners; one is told however long it is.
const LONGEST_CAUSES: usize = 1024 * 1024;
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
/// Finalizers of Kubernetes itself, which need no domain.
const STANDARD_FINALIZERS: &[&str] = &[ORPHAN, FOREGROUND, "kubernetes"];

/// Which names objects of a kind may have.
pub(super) fn name_rule(resource: &Resource) -> NameRule {
    match resource.flavour {
        Flavour::Namespace => NameRule::Label,
        Flavour::Role | Flavour::RoleBinding | Flavour::ClusterRole | Flavour::ClusterRoleBinding => {
            NameRule::PathSegment
        }
        _ => NameRule::Subdomain,
    }
}

/// What is wrong with a new object's metadata.
pub(super) fn on_create(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let rule = name_rule(resource);
    let (name, prefix) = (object::name(object), text(object, "generateName"));
    if !prefix.is_empty() {
        let problems = rule.prefix_problems(prefix);
        causes.extend(problems.iter().map(|why| Cause::invalid("metadata.generateName", &prefix.into(), why)));
    }
    if name.is_empty() {
        causes.push(Cause::required_as("metadata.name", "name or generateName is required"));
    } else {
        let problems = rule.problems(name);
        causes.extend(problems.iter().map(|why| Cause::invalid("metadata.name", &name.into(), why)));
    }
    causes.extend(common(object));
    causes.extend(unqualified_finalizers(resource, object));
    causes
}

/// What is wrong with the metadata of an object that replaces `old`.
pub(super) fn on_update(resource: &Resource, new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = common(new);
    causes.extend(changes(new, old));
    // The rules of each kind come back to it, as upstream tells it.
    let (changes_again, whole_again) = match resource.flavour {
        Flavour::CoreEvent | Flavour::Review => (false, false),
        Flavour::ValidatingWebhook | Flavour::MutatingWebhook => (false, true),
        Flavour::Custom | Flavour::NewEvent | Flavour::Lease | Flavour::Definition => (true, false),
        Flavour::Namespace
        | Flavour::Secret
        | Flavour::ConfigMap
        | Flavour::ServiceAccount
        | Flavour::Role
        | Flavour::RoleBinding
        | Flavour::ClusterRole
        | Flavour::ClusterRoleBinding => (true, true),
    };
    if changes_again {
        causes.extend(changes(new, old));
        causes.extend(unqualified_finalizers(resource, new));
    }
    if whole_again {
        causes.extend(common(new));
        causes.extend(unqualified_finalizers(resource, new));
    }
    causes
}

fn changes(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if object::is_deleting(old) {
        let known: HashSet<&str> = object::finalizers(old).collect();
        let mut added: Vec<&str> = object::finalizers(new).filter(|name| !known.contains(name)).collect();
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let added: Vec<String> = added.iter().map(|name| gotext::quoted(name)).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &detail));
        }
    }
    for field in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let value = |object: &Value| object.get("metadata").and_then(|metadata| metadata.get(field)).cloned();
        let (new, old) = (value(new), value(old));
        if new != old {
            let path = format!("metadata.{field}");
            causes.push(Cause::invalid(&path, &new.unwrap_or_default(), "field is immutable"));
        }
    }
    causes.extend(labels(new));
    causes.extend(annotations(new));
    causes.extend(owners(new));
    causes
}

fn common(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let generation = object::generation(object);
    if generation < 0 {
        let detail = "must be greater than or equal to 0";
        causes.push(Cause::invalid("metadata.generation", &generation.into(), detail));
    }
    causes.extend(labels(object));
    causes.extend(annotations(object));
    causes.extend(owners(object));
    causes.extend(finalizers(object));
    causes
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let map = object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

fn labels(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, value) in texts(object, "labels") {
        if causes.len() >= MOST_CAUSES {
            break;
        }
        let cause = |shown: &str, why: &String| Cause::invalid("metadata.labels", &shown.into(), why);
        causes.extend(key_problems(key).iter().map(|why| cause(key, why)));
        causes.extend(value_problems(value).iter().map(|why| cause(value, why)));
    }
    causes
}

fn annotations(object: &Value) -> Vec<Cause> {
    let (mut causes, mut size) = (Vec::new(), 0);
    for (key, value) in texts(object, "annotations") {
        size += key.len() + value.len();
        if causes.len() >= MOST_CAUSES {
            continue;
        }
        let problems = key_problems(&key.to_lowercase());
        causes.extend(problems.iter().map(|why| Cause::invalid("metadata.annotations", &key.into(), why)));
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause::too_long("metadata.annotations", ANNOTATIONS_LIMIT as u64));
    }
    causes
}

fn owners(object: &Value) -> Vec<Cause> {
    let path = "metadata.ownerReferences";
    let list = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let list = list.map(Vec::as_slice).unwrap_or_default();
    let (mut causes, mut controller, mut shown, mut bytes) = (Vec::new(), None, None, 0);
    for owner in list {
        if causes.len() >= MOST_CAUSES {
            break;
        }
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if api_version.is_empty() || api_version.matches('/').count() > 1 {
            let field = format!("{path}.apiVersion");
            causes.push(Cause::invalid(&field, &api_version.into(), "version must not be empty"));
        }
        for field in ["kind", "name", "uid"].into_iter().filter(|field| text(field).is_empty()) {
            causes.push(Cause::invalid(&format!("{path}.{field}"), &"".into(), "must not be empty"));
        }
        if (api_version, kind) == ("v1", "Event") {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(Cause::invalid_text(path, &in_go_order(owner), detail));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let name = format!("{kind}/{}", text("name"));
            let Some(first) = &controller else {
                controller = Some(name);
                continue;
            };
            let list = shown.get_or_insert_with(|| {
                let list = list.iter().map(in_go_order).collect::<Vec<_>>().join(",");
                format!("[{list}]")
            });
            let detail = format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
            );
            if bytes < LONGEST_CAUSES {
                causes.push(Cause::invalid_text(path, list, &detail));
                bytes += list.len() + detail.len();
            }
        }
    }
    causes
}

/// A reference as JSON, with its fields in the order that upstream has them in.
fn in_go_order(owner: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let shown = fields.iter().filter_map(|field| Some(format!("\"{field}\":{}", gotext::json(owner.get(*field)?))));
    format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
}

fn finalizers(object: &Value) -> Vec<Cause> {
    let path = "metadata.finalizers";
    let all: Vec<&str> = object::finalizers(object).collect();
    let mut causes = Vec::new();
    for name in &all {
        if causes.len() >= MOST_CAUSES {
            break;
        }
        causes.extend(key_problems(name).iter().map(|why| Cause::invalid(path, &(*name).into(), why)));
    }
    if all.contains(&ORPHAN) && all.contains(&FOREGROUND) {
        let detail = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        causes.push(Cause::invalid(path, &all.into(), &detail));
    }
    causes
}

/// The kinds of the older groups.
fn is_strict(resource: &Resource) -> bool {
    use Flavour::{ClusterRole, ClusterRoleBinding, ConfigMap, CoreEvent, Namespace, NewEvent};
    use Flavour::{Role, RoleBinding, Secret, ServiceAccount};
    matches!(
        resource.flavour,
        Namespace
            | Secret
            | ConfigMap
            | ServiceAccount
            | CoreEvent
            | NewEvent
            | Role
            | RoleBinding
            | ClusterRole
            | ClusterRoleBinding
    )
}

/// The finalizers without a domain that such kinds do not take.
fn unqualified_finalizers(resource: &Resource, object: &Value) -> Vec<Cause> {
    if !is_strict(resource) {
        return Vec::new();
    }
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    let odd = object::finalizers(object).enumerate();
    let odd = odd.filter(|(_, name)| !name.contains('/') && !STANDARD_FINALIZERS.contains(name)).take(MOST_CAUSES);
    odd.map(|(at, name)| Cause::invalid(&format!("metadata.finalizers[{at}]"), &name.into(), detail)).collect()
}

/// What a client of a custom kind should know of its new finalizers.
pub(super) fn warnings(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<String> {
    if !resource.is_custom() {
        return Vec::new();
    }
    let known: HashSet<&str> = old.into_iter().flat_map(object::finalizers).collect();
    let mut added: Vec<&str> = object::finalizers(new).filter(|name| !known.contains(name)).collect();
    added.sort_unstable();
    added.dedup();
    let odd = added.iter().filter(|name| !name.contains('/') && !STANDARD_FINALIZERS.contains(name));
    odd.map(|name| {
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: {}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with \
             other finalizer writers",
            gotext::quoted(name)
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn controllers(count: usize) -> Value {
        let owner =
            |n: usize| json!({"apiVersion": "v1", "kind": "K", "name": n.to_string(), "uid": "u", "controller": true});
        json!({"metadata": {"ownerReferences": (0..count).map(owner).collect::<Vec<_>>()}})
    }

    #[test]
    fn a_few_controllers_are_each_told_as_upstream_does() {
        let lines: Vec<String> = owners(&controllers(3)).iter().map(Cause::line).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with("Found \"true\" in references for K/0 and K/1"), "{lines:?}");
        assert!(lines[1].ends_with("Found \"true\" in references for K/0 and K/2"), "{lines:?}");
        assert!(owners(&controllers(1)).is_empty());
    }

    /// Each cause shows all references: told of each, they would be more than any memory holds.
    #[test]
    fn many_faults_are_not_all_told() {
        let causes = owners(&controllers(40_000));
        let bytes: usize = causes.iter().map(|cause| cause.line().len()).sum();
        assert!(!causes.is_empty() && bytes < 8 * 1024 * 1024, "{bytes}");
        let many = json!({"metadata": {
            "ownerReferences": vec![json!({}); 40_000],
            "finalizers": vec![""; 40_000],
            "labels": (0..40_000).map(|n| (format!("!{n}"), json!("!"))).collect::<serde_json::Map<_, _>>(),
            "annotations": (0..40_000).map(|n| (format!("!{n}"), json!("!"))).collect::<serde_json::Map<_, _>>(),
        }});
        for causes in [owners(&many), finalizers(&many), labels(&many), annotations(&many)] {
            assert!((MOST_CAUSES..MOST_CAUSES + 10).contains(&causes.len()), "{}", causes.len());
        }
    }
}
