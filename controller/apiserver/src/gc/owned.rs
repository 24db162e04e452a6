//! Owners and dependents: when an object goes because its owners went, and when an owner waits for its dependents.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::builtin::EVENTS;
use crate::core::SharedRegistry;
use crate::lifecycle::{self, FOREGROUND, ORPHAN, Policy};
use crate::object::{self, OwnerRef};
use crate::registry::{Registry, Resource};
use crate::store::{Key, StoreError, StoreHandle, Txn};

/// Who events are from.
const COMPONENT: &str = "garbage-collector-controller";

/// An object that is gone. Its kind may have gone with it, and then nobody else can tell its dependents so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Departed {
    pub(super) uid: String,
    api_version: String,
    kind: String,
    is_namespaced: bool,
}

impl Departed {
    pub(super) fn new(object: &Value) -> Self {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            uid: object::uid(object).to_owned(),
            api_version: text("apiVersion"),
            kind: text("kind"),
            is_namespaced: !object::namespace(object).is_empty(),
        }
    }

    /// Whether a dependent in that namespace means this object by its owner. Any version of the group does.
    fn is(&self, owner: &OwnerRef<'_>, namespace: &str) -> bool {
        self.uid == owner.uid
            && self.kind == owner.kind
            && group(&self.api_version) == group(owner.api_version)
            && !(self.is_namespaced && namespace.is_empty())
    }
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether a deletion waits for the collector to do something about dependents.
pub(super) fn is_held(object: &Value) -> bool {
    object::is_deleting(object) && object::finalizers(object).any(|name| matches!(name, FOREGROUND | ORPHAN))
}

/// Does for one object what its owners' and its own state ask for. `departed` is an owner known to be gone.
pub(super) fn attend(
    store: &StoreHandle,
    registry: &SharedRegistry,
    key: Key,
    departed: Option<Departed>,
) -> Result<(), StoreError> {
    let registry = registry.get();
    store.write_blocking(move |txn| {
        if let Some(object) = txn.get(&key) {
            if object::is_deleting(&object) {
                finish_deletion(&registry, txn, &key, &object);
            } else {
                follow_owners(&registry, txn, &key, &object, departed.as_ref());
            }
        }
        Ok(())
    })
}

/// Carries out what an object's deletion waits for.
fn finish_deletion(registry: &Registry, txn: &mut Txn<'_>, key: &Key, object: &Arc<Value>) {
    let holds = |object: &Value, finalizer: &str| object::finalizers(object).any(|name| name == finalizer);
    if holds(object, ORPHAN) {
        lifecycle::orphan(txn, object::uid(object));
        if let Some(object) = txn.get(key) {
            lifecycle::release(txn, key, &object, ORPHAN);
        }
        return;
    }
    if !holds(object, FOREGROUND) {
        return;
    }
    let uid = object::uid(object).to_owned();
    for dependent_key in txn.dependents(&uid) {
        let Some(dependent) = txn.get(&dependent_key) else { continue };
        if object::is_deleting(&dependent) {
            unblock_cycle(txn, key, &dependent_key, &dependent);
        } else {
            remove_for_owner(registry, txn, &dependent_key, &dependent, &uid);
        }
    }
    let blocked = txn
        .dependents(&uid)
        .into_iter()
        .filter_map(|key| txn.get(&key))
        .any(|dependent| object::owners(&dependent).any(|owner| owner.uid == uid && owner.blocks));
    if let Some(object) = txn.get(key).filter(|_| !blocked) {
        lifecycle::release(txn, key, &object, FOREGROUND);
    }
}

/// Deletes a dependent of an owner that goes, unless another owner keeps it or may do so.
fn remove_for_owner(registry: &Registry, txn: &mut Txn<'_>, key: &Key, dependent: &Arc<Value>, owner: &str) {
    let waits = |uid: &str| txn.locate(uid).and_then(|key| txn.get(&key)).is_some_and(|found| is_foreground(&found));
    let kept = object::owners(dependent).filter(|other| other.uid != owner).any(|other| {
        match state_of(registry, txn, key, &other, None) {
            Owner::Present => !waits(other.uid),
            Owner::Unknown => true,
            Owner::Gone | Owner::Elsewhere => false,
        }
    });
    if kept {
        let mut freed = Value::clone(dependent);
        object::drop_owners(&mut freed, |uid| uid == owner);
        txn.put(key.clone(), freed);
        return;
    }
    let has_dependents = !txn.dependents(object::uid(dependent)).is_empty();
    // What has dependents itself waits for them in turn.
    let policy = if has_dependents { Policy::Foreground } else { Policy::Unsaid };
    lifecycle::remove(txn, key, dependent, policy);
}

fn is_foreground(object: &Value) -> bool {
    object::is_deleting(object) && object::finalizers(object).any(|name| name == FOREGROUND)
}

/// Two that own each other and both wait would wait for ever: one stops being in the other's way.
fn unblock_cycle(txn: &mut Txn<'_>, owner: &Key, key: &Key, dependent: &Arc<Value>) {
    let Some(owner) = txn.get(owner) else { return };
    let is_cycle = is_foreground(dependent) && object::owners(&owner).any(|o| o.uid == object::uid(dependent));
    if !is_cycle {
        return;
    }
    let mut freed = Value::clone(dependent);
    let list = freed.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
    for reference in list.into_iter().flatten().filter_map(Value::as_object_mut) {
        let names_owner = reference.get("uid").and_then(Value::as_str) == Some(object::uid(&owner));
        if names_owner && reference.get("blockOwnerDeletion") == Some(&Value::Bool(true)) {
            reference.insert("blockOwnerDeletion".to_owned(), false.into());
        }
    }
    if freed != **dependent {
        txn.put(key.clone(), freed);
    }
}

fn follow_owners(registry: &Registry, txn: &mut Txn<'_>, key: &Key, object: &Arc<Value>, departed: Option<&Departed>) {
    let state = |owner: OwnerRef<'_>| state_of(registry, txn, key, &owner, departed);
    let owners: Vec<_> = object::owners(object).map(|owner| (owner, state(owner))).collect();
    for (owner, state) in &owners {
        if *state == Owner::Elsewhere {
            report(registry, txn, key, object, owner);
        }
    }
    let states: Vec<_> = owners.iter().map(|(owner, state)| (owner.uid, *state)).collect();
    match decide(&states) {
        Verdict::Keep => {}
        Verdict::Delete => {
            lifecycle::remove(txn, key, object, Policy::Unsaid);
        }
        Verdict::Forget(gone) => {
            let mut freed = Value::clone(object);
            object::drop_owners(&mut freed, |uid| gone.contains(&uid));
            txn.put(key.clone(), freed);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Present,
    Gone,
    /// As good as gone: it is in another namespace, where no owner can be.
    Elsewhere,
    /// Its kind is not served, or it cannot own this dependent, so nobody can say.
    Unknown,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict<'a> {
    Keep,
    Delete,
    Forget(Vec<&'a str>),
}

fn decide<'a>(owners: &[(&'a str, Owner)]) -> Verdict<'a> {
    let is_gone = |state: Owner| matches!(state, Owner::Gone | Owner::Elsewhere);
    let gone: Vec<&str> = owners.iter().filter(|(_, state)| is_gone(*state)).map(|(uid, _)| *uid).collect();
    if gone.is_empty() {
        Verdict::Keep
    } else if gone.len() == owners.len() {
        Verdict::Delete
    } else if owners.iter().any(|(_, state)| *state == Owner::Present) {
        Verdict::Forget(gone)
    } else {
        Verdict::Keep
    }
}

fn state_of(
    registry: &Registry,
    txn: &Txn<'_>,
    dependent: &Key,
    owner: &OwnerRef<'_>,
    departed: Option<&Departed>,
) -> Owner {
    let Some(resource) = registry.find_kind(owner.api_version, owner.kind) else {
        let is_gone = departed.is_some_and(|departed| departed.is(owner, &dependent.namespace));
        return if is_gone { Owner::Gone } else { Owner::Unknown };
    };
    if resource.namespaced && dependent.namespace.is_empty() {
        return Owner::Unknown;
    }
    match txn.locate(owner.uid) {
        Some(key) if key.resource != resource.stored_as || key.name != owner.name => Owner::Gone,
        Some(key) if !key.namespace.is_empty() && key.namespace != dependent.namespace => Owner::Elsewhere,
        Some(key) if txn.get(&key).is_some() => Owner::Present,
        _ => Owner::Gone,
    }
}

/// Says in an event that an owner is where none can be.
fn report(registry: &Registry, txn: &mut Txn<'_>, key: &Key, object: &Value, owner: &OwnerRef<'_>) {
    let Some(resource) = of_key(registry, key) else { return };
    let name = format!("{}.{:x}", key.name, jiff::Timestamp::now().as_nanosecond());
    let message = format!(
        "ownerRef [{}/{}, namespace: {}, name: {}, uid: {}] does not exist in namespace \"{}\"",
        owner.api_version, owner.kind, key.namespace, owner.name, owner.uid, key.namespace
    );
    let now = object::timestamp_now();
    let event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {
            "name": name, "namespace": key.namespace, "uid": uuid::Uuid::new_v4().to_string(),
            "creationTimestamp": now,
        },
        "involvedObject": {
            "apiVersion": resource.api_version(), "kind": resource.kind, "namespace": key.namespace, "name": key.name,
            "uid": object::uid(object),
        },
        "reason": "OwnerRefInvalidNamespace", "message": message, "type": "Warning", "count": 1,
        "firstTimestamp": now, "lastTimestamp": now, "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
    });
    txn.put(Key { resource: EVENTS.into(), namespace: key.namespace.clone(), name }, event);
}

fn of_key<'r>(registry: &'r Registry, key: &Key) -> Option<&'r Arc<Resource>> {
    registry.all().find(|resource| resource.stored_as == key.resource)
}

#[cfg(test)]
mod tests {
    use super::Owner::{Elsewhere, Gone, Present, Unknown};
    use super::*;

    #[test]
    fn verdicts() {
        let cases = [
            (vec![], Verdict::Keep),
            (vec![("a", Present)], Verdict::Keep),
            (vec![("a", Gone)], Verdict::Delete),
            (vec![("a", Elsewhere)], Verdict::Delete),
            (vec![("a", Gone), ("b", Gone)], Verdict::Delete),
            (vec![("a", Gone), ("b", Present)], Verdict::Forget(vec!["a"])),
            (vec![("a", Gone), ("b", Unknown)], Verdict::Keep),
            (vec![("a", Unknown)], Verdict::Keep),
        ];
        for (owners, wanted) in cases {
            assert_eq!(decide(&owners), wanted, "{owners:?}");
        }
    }
}
