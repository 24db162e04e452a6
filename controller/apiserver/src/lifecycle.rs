//! How objects end: deletion held back by finalizers, namespaces that take their contents along, definitions that take
//! their instances along. Shared by the delete verbs and garbage collection; it decides inside one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::builtin::{self, DEFINITIONS, NAMESPACES};
use crate::crd;
use crate::flavour::namespace::CONTENTS;
use crate::object;
use crate::store::{Key, Txn};

/// Holds an owner until its dependents are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Holds an owner until its dependents are free of it.
pub(crate) const ORPHAN: &str = "orphan";
/// Holds a definition until its instances are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What becomes of an object's dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// As the object's own finalizers say; without any, in the background.
    Unsaid,
    Background,
    Foreground,
    Orphan,
}

/// What a deletion came to.
pub(crate) enum Removal {
    /// The object is gone; its last state.
    Gone(Arc<Value>),
    /// Finalizers hold it; the object with its deletion time.
    Waiting(Arc<Value>),
}

/// Deletes an object, or marks it when finalizers hold it.
pub(crate) fn remove(txn: &mut Txn<'_>, key: &Key, current: &Arc<Value>, policy: Policy) -> Removal {
    let finalizers = finalizers_for(current, policy);
    if finalizers.is_empty() {
        return Removal::Gone(txn.delete(key.clone()).unwrap_or_else(|| Arc::clone(current)));
    }
    Removal::Waiting(mark(txn, key, current, |object| {
        object::set_meta(object, "finalizers", finalizers);
        if !object::is_deleting(current) {
            object::set_meta(object, "deletionGracePeriodSeconds", 0);
        }
    }))
}

/// The finalizers of an object whose deletion is asked for.
fn finalizers_for(object: &Value, policy: Policy) -> Vec<String> {
    let own = |name: &&str| policy == Policy::Unsaid || !matches!(*name, FOREGROUND | ORPHAN);
    let mut finalizers: Vec<String> = object::finalizers(object).filter(own).map(str::to_owned).collect();
    match policy {
        Policy::Foreground => finalizers.push(FOREGROUND.to_owned()),
        Policy::Orphan => finalizers.push(ORPHAN.to_owned()),
        Policy::Unsaid | Policy::Background => {}
    }
    finalizers
}

/// Gives an object its deletion time, and what else changes with it.
fn mark(txn: &mut Txn<'_>, key: &Key, current: &Arc<Value>, also: impl FnOnce(&mut Value)) -> Arc<Value> {
    let mut marked = Value::clone(current);
    also(&mut marked);
    if !object::is_deleting(current) {
        object::set_meta(&mut marked, "deletionTimestamp", object::timestamp_now());
        // Kinds that count generations count this as a change, as upstream.
        if object::generation(current) > 0 {
            object::set_meta(&mut marked, "generation", object::generation(current).saturating_add(1));
        }
    }
    if marked == **current { Arc::clone(current) } else { txn.put(key.clone(), marked) }
}

/// Takes one finalizer away, and the object with the last one. Writes nothing when the object does not have it.
pub(crate) fn release(txn: &mut Txn<'_>, key: &Key, object: &Arc<Value>, finalizer: &str) {
    if !object::finalizers(object).any(|name| name == finalizer) {
        return;
    }
    let left: Vec<String> = object::finalizers(object).filter(|name| *name != finalizer).map(str::to_owned).collect();
    if left.is_empty() && object::is_deleting(object) {
        txn.delete(key.clone());
        return;
    }
    let mut freed = Value::clone(object);
    if left.is_empty() {
        object::meta_mut(&mut freed).and_then(|metadata| metadata.remove("finalizers"));
    } else {
        object::set_meta(&mut freed, "finalizers", left.clone());
    }
    txn.put(key.clone(), freed);
}

/// Frees an object's dependents from it.
pub(crate) fn orphan(txn: &mut Txn<'_>, owner_uid: &str) {
    for key in txn.dependents(owner_uid) {
        if let Some(dependent) = txn.get(&key) {
            let mut freed = Value::clone(&dependent);
            object::drop_owners(&mut freed, |uid| uid == owner_uid);
            txn.put(key, freed);
        }
    }
}

/// Begins the end of a namespace. Its contents are removed, and then itself, by [`sweep_namespace`].
pub(crate) fn remove_namespace(txn: &mut Txn<'_>, namespace: &Arc<Value>) -> Removal {
    let key = namespace_key(object::name(namespace));
    if crate::flavour::namespace::finalizers(namespace).is_empty() && object::finalizers(namespace).next().is_none() {
        return Removal::Gone(txn.delete(key).unwrap_or_else(|| Arc::clone(namespace)));
    }
    Removal::Waiting(mark(txn, &key, namespace, |object| {
        let mut status = object.get("status").cloned().unwrap_or_else(|| json!({}));
        object::set_field(&mut status, "phase", "Terminating".into());
        object::set_field(object, "status", status);
    }))
}

/// Removes what is in a terminating namespace, says in its conditions what is left, and ends it when nothing is.
pub(crate) fn sweep_namespace(txn: &mut Txn<'_>, name: &str) {
    let key = namespace_key(name);
    let Some(namespace) = txn.get(&key).filter(|namespace| object::is_deleting(namespace)) else { return };
    for key in txn.keys_in_namespace(name) {
        if let Some(current) = txn.get(&key) {
            remove(txn, &key, &current, Policy::Background);
        }
    }
    let left: Vec<(Key, Arc<Value>)> =
        txn.keys_in_namespace(name).into_iter().filter_map(|key| txn.get(&key).map(|object| (key, object))).collect();
    let mut swept = Value::clone(&namespace);
    if left.is_empty() {
        let mut finalizers = crate::flavour::namespace::finalizers(&namespace);
        finalizers.retain(|finalizer| finalizer != CONTENTS);
        if finalizers.is_empty() && object::finalizers(&namespace).next().is_none() {
            txn.delete(key);
            return;
        }
        object::set_field(&mut swept, "spec", json!({"finalizers": finalizers}));
    }
    let conditions = namespace_conditions(&namespace, &left);
    object::set_field(&mut swept, "status", json!({"phase": "Terminating", "conditions": conditions}));
    if swept != *namespace {
        txn.put(key, swept);
    }
}

fn namespace_conditions(namespace: &Value, left: &[(Key, Arc<Value>)]) -> Vec<Value> {
    let (mut kinds, mut finalizers) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    for (key, object) in left {
        let (group, plural) = key.resource.split_once('/').unwrap_or(("", &key.resource));
        let count = kinds.entry(format!("{plural}.{group}")).or_default();
        *count = count.saturating_add(1);
        for finalizer in object::finalizers(object) {
            let count = finalizers.entry(finalizer.to_owned()).or_default();
            *count = count.saturating_add(1);
        }
    }
    let listed = |counts: &BTreeMap<String, usize>, preposition: &str| {
        let each = counts.iter().map(|(name, count)| format!("{name} {preposition} {count} resource instances"));
        each.collect::<Vec<_>>().join(", ")
    };
    let mut rows = vec![
        (
            "NamespaceDeletionDiscoveryFailure",
            false,
            "ResourcesDiscovered",
            "All resources successfully discovered".to_owned(),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            false,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed".to_owned(),
        ),
        (
            "NamespaceDeletionContentFailure",
            false,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization".to_owned(),
        ),
    ];
    rows.push(if kinds.is_empty() {
        ("NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed".to_owned())
    } else {
        let text = format!("Some resources are remaining: {}", listed(&kinds, "has"));
        ("NamespaceContentRemaining", true, "SomeResourcesRemain", text)
    });
    rows.push(if finalizers.is_empty() {
        let text = "All content-preserving finalizers finished".to_owned();
        ("NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers", text)
    } else {
        let text = format!("Some content in the namespace has finalizers remaining: {}", listed(&finalizers, "in"));
        ("NamespaceFinalizersRemaining", true, "SomeFinalizersRemain", text)
    });
    rows.into_iter()
        .map(|(kind, is_true, reason, message)| condition(namespace, kind, is_true, reason, &message))
        .collect()
}

/// A condition, with the time of its last change.
fn condition(object: &Value, kind: &str, is_true: bool, reason: &str, message: &str) -> Value {
    let status = if is_true { "True" } else { "False" };
    let known = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let before = known.into_iter().find(|c| c.get("type").and_then(Value::as_str) == Some(kind));
    let unchanged = before.filter(|before| before.get("status").and_then(Value::as_str) == Some(status));
    let since = unchanged.and_then(|before| before.get("lastTransitionTime")).and_then(Value::as_str);
    let since = since.map_or_else(object::timestamp_now, str::to_owned);
    json!({"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message})
}

pub(crate) fn namespace_key(name: &str) -> Key {
    Key { resource: NAMESPACES.into(), namespace: String::new(), name: name.to_owned() }
}

/// Begins the end of a definition. Its instances are removed, and then itself, by [`sweep_definition`].
pub(crate) fn remove_definition(txn: &mut Txn<'_>, definition: &Arc<Value>) -> Removal {
    let key = definition_key(object::name(definition));
    Removal::Waiting(mark(txn, &key, definition, |object| {
        let mut finalizers: Vec<String> = object::finalizers(object).map(str::to_owned).collect();
        if !object::is_deleting(object) && !finalizers.iter().any(|name| name == CLEANUP) {
            finalizers.push(CLEANUP.to_owned());
        }
        object::set_meta(object, "finalizers", finalizers);
        set_terminating(object);
    }))
}

fn set_terminating(definition: &mut Value) {
    const KIND: &str = "Terminating";
    let text = "CustomResource deletion is in progress";
    let found = condition(definition, KIND, true, "InstanceDeletionInProgress", text);
    let Some(list) = definition.pointer_mut("/status/conditions").and_then(Value::as_array_mut) else { return };
    list.retain(|condition| condition.get("type").and_then(Value::as_str) != Some(KIND));
    list.push(found);
}

/// Removes the instances of a definition that is being deleted, and ends it when none is left.
pub(crate) fn sweep_definition(txn: &mut Txn<'_>, name: &str) {
    let key = definition_key(name);
    let Some(definition) = txn.get(&key).filter(|definition| object::is_deleting(definition)) else { return };
    let stored_as = crd::stored_as(&definition);
    // What is stored there was never an instance of it: its names were taken.
    if builtin::is_stored_at(&stored_as) {
        return release(txn, &key, &definition, CLEANUP);
    }
    for instance in txn.list(&stored_as, "") {
        let key = Key {
            resource: Arc::clone(&stored_as),
            namespace: object::namespace(&instance).to_owned(),
            name: object::name(&instance).to_owned(),
        };
        remove(txn, &key, &instance, Policy::Background);
    }
    if txn.list(&stored_as, "").is_empty() {
        release(txn, &key, &definition, CLEANUP);
    }
}

/// Gives definitions that wait for names another chance.
pub(crate) fn accept_waiting(txn: &mut Txn<'_>) {
    let all = txn.list(&DEFINITIONS.into(), "");
    for definition in all.iter().filter(|definition| !crd::is_established(definition)) {
        crd::settle(txn, definition_key(object::name(definition)));
    }
}

fn definition_key(name: &str) -> Key {
    Key { resource: DEFINITIONS.into(), namespace: String::new(), name: name.to_owned() }
}
