//! What a cluster's controllers keep in order: the rules of aggregated roles, and what every namespace holds.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::builtin::{CONFIG_MAPS, SERVICE_ACCOUNTS};
use crate::lifecycle;
use crate::object;
use crate::store::{Index, Key, Txn};

pub(super) const CLUSTER_ROLES: &str = "rbac.authorization.k8s.io/clusterroles";
/// The account of every namespace.
pub(super) const ACCOUNT: &str = "default";
/// The config map of every namespace with the certificate that clients trust us by.
pub(super) const ROOT_CA: &str = "kube-root-ca.crt";
const CERTIFICATE: &str = "ca.crt";
/// As upstream describes it, for people who find it.
const DESCRIPTION: (&str, &str) = (
    "kubernetes.io/description",
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the \
     internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes \
     clusters.",
);

/// Gives every role that is put together of others the rules of those.
pub(super) fn aggregate(txn: &mut Txn<'_>) {
    let resource: Arc<str> = CLUSTER_ROLES.into();
    let roles = txn.list(&resource, "");
    for role in roles.iter().filter(|role| selectors(role).is_some()) {
        let rules = gathered(role, &roles);
        let rules = if rules.is_empty() { Value::Null } else { rules.into_iter().cloned().collect() };
        if role.get("rules").unwrap_or(&Value::Null) != &rules {
            let mut put = Value::clone(role);
            match rules {
                Value::Null => _ = object::remove_field(&mut put, "rules"),
                rules => object::set_field(&mut put, "rules", rules),
            }
            let name = object::name(role).to_owned();
            txn.put(Key { resource: Arc::clone(&resource), namespace: String::new(), name }, put);
        }
    }
}

/// The rules of the roles that a role is put together of. Followed to the roles that have rules of their own, not just
/// to the next ones: roles in a ring would hand their rules round for ever.
fn gathered<'r>(role: &'r Value, roles: &'r [Arc<Value>]) -> Vec<&'r Value> {
    let mut rules = Vec::new();
    let mut seen = BTreeSet::from([object::name(role)]);
    let mut next = chosen_last_first(role, roles);
    while let Some(found) = next.pop() {
        if !seen.insert(object::name(found)) {
            continue;
        }
        if selectors(found).is_some() {
            next.extend(chosen_last_first(found, roles));
            continue;
        }
        for rule in found.get("rules").and_then(Value::as_array).into_iter().flatten() {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    rules
}

fn selectors(role: &Value) -> Option<&Vec<Value>> {
    role.pointer("/aggregationRule/clusterRoleSelectors").and_then(Value::as_array)
}

fn chosen_last_first<'r>(role: &Value, roles: &'r [Arc<Value>]) -> Vec<&'r Value> {
    let selectors = selectors(role).into_iter().flatten().rev();
    selectors
        .flat_map(|selector| roles.iter().rev().map(AsRef::as_ref).filter(|role| selects(selector, role)))
        .collect()
}

/// Whether a label selector holds of an object.
fn selects(selector: &Value, object: &Value) -> bool {
    let label = |key: &str| object.pointer("/metadata/labels").and_then(|labels| labels.get(key));
    let wanted = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    wanted.into_iter().all(|(key, value)| label(key) == Some(value))
        && expressions.into_iter().all(|expression| {
            let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
            let values = expression.get("values").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let found = label(key);
            match expression.get("operator").and_then(Value::as_str) {
                Some("In") => found.is_some_and(|found| values.contains(found)),
                Some("NotIn") => !found.is_some_and(|found| values.contains(found)),
                Some("Exists") => found.is_some(),
                Some("DoesNotExist") => found.is_none(),
                _ => false,
            }
        })
}

fn key(resource: &str, namespace: &str, name: &str) -> Key {
    Key { resource: resource.into(), namespace: namespace.to_owned(), name: name.to_owned() }
}

fn holds(map: &Value, pem: &str) -> bool {
    map.get("data").and_then(|data| data.get(CERTIFICATE)).and_then(Value::as_str) == Some(pem)
}

/// Whether a namespace lacks nothing, or takes nothing.
pub(super) fn is_furnished(index: &Index, namespace: &str, root_ca: Option<&str>) -> bool {
    let Some(found) = index.get(&lifecycle::namespace_key(namespace)) else { return true };
    let has_account = index.get(&key(SERVICE_ACCOUNTS, namespace, ACCOUNT)).is_some();
    let has_ca = |pem: &str| index.get(&key(CONFIG_MAPS, namespace, ROOT_CA)).is_some_and(|map| holds(&map, pem));
    object::is_deleting(&found) || (has_account && root_ca.is_none_or(has_ca))
}

/// Puts into a namespace what every namespace holds.
pub(super) fn furnish(txn: &mut Txn<'_>, namespace: &str, root_ca: Option<&str>) {
    let takes = txn.get(&lifecycle::namespace_key(namespace)).is_some_and(|found| !object::is_deleting(&found));
    if !takes {
        return;
    }
    let account = key(SERVICE_ACCOUNTS, namespace, ACCOUNT);
    if txn.get(&account).is_none() {
        let object = new("ServiceAccount", namespace, ACCOUNT);
        txn.put(account, object);
    }
    let Some(pem) = root_ca else { return };
    let map = key(CONFIG_MAPS, namespace, ROOT_CA);
    let mut object = match txn.get(&map) {
        Some(found) if holds(&found, pem) => return,
        Some(found) => Value::clone(&found),
        None => {
            let mut object = new("ConfigMap", namespace, ROOT_CA);
            let annotations = Map::from_iter([(DESCRIPTION.0.to_owned(), DESCRIPTION.1.into())]);
            object::set_meta(&mut object, "annotations", annotations);
            object
        }
    };
    object::set_field(&mut object, "data", json!({CERTIFICATE: pem}));
    txn.put(map, object);
}

fn new(kind: &str, namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": {
            "name": name, "namespace": namespace, "uid": uuid::Uuid::new_v4().to_string(),
            "creationTimestamp": object::timestamp_now(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_put_together_of_what_has_rules_of_its_own() {
        let role = |name: &str, label: &str, of: &[&str], rule: Option<&str>| {
            let selectors: Vec<Value> = of.iter().map(|label| json!({"matchLabels": {"l": label}})).collect();
            let mut role = json!({"metadata": {"name": name, "labels": {"l": label}}});
            if let Some(rule) = rule {
                role["rules"] = json!([rule]);
            }
            if !of.is_empty() {
                role["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
            }
            Arc::new(role)
        };
        // A ring of three, each with rules that it would hand on, and two leaves that one of them reaches.
        let roles = [
            role("a", "a", &["b", "leaf"], Some("old a")),
            role("b", "b", &["c"], Some("old b")),
            role("c", "c", &["a"], Some("old c")),
            role("x", "leaf", &[], Some("x")),
            role("y", "leaf", &[], Some("y")),
            role("alone", "none", &["nothing"], Some("old")),
        ];
        for role in &roles[..3] {
            assert_eq!(gathered(role, &roles), ["x", "y"], "{role}");
        }
        assert!(gathered(&roles[5], &roles).is_empty());
    }

    #[test]
    fn selectors_are_those_of_labels() {
        let role = json!({"metadata": {"labels": {"a": "1"}}});
        for (selector, wanted) in [
            (json!({"matchLabels": {"a": "1"}}), true),
            (json!({"matchLabels": {"a": "2"}}), false),
            (json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}), true),
            (json!({"matchExpressions": [{"key": "b", "operator": "Exists"}]}), false),
        ] {
            assert_eq!(selects(&selector, &role), wanted, "{selector}");
        }
    }
}
