//! How objects end: deletion held back by finalizers, namespaces that take their contents along, definitions that take
//! their instances along. Shared by the delete verbs and garbage collection.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::builtin::NAMESPACES;
use crate::object;
use crate::store::{Key, Txn};

/// What a deletion came to.
pub(crate) enum Removal {
    /// The object is gone; its last state.
    Gone(Arc<Value>),
    /// Finalizers hold it; the object with its deletion time.
    Waiting(Arc<Value>),
}

/// Deletes an object, or marks it when finalizers hold it.
pub(crate) fn remove(txn: &mut Txn<'_>, key: &Key, current: &Arc<Value>) -> Removal {
    if object::finalizers(current).next().is_none() {
        return Removal::Gone(txn.delete(key.clone()).unwrap_or_else(|| Arc::clone(current)));
    }
    Removal::Waiting(mark(txn, key, current, |_| {}))
}

fn mark(txn: &mut Txn<'_>, key: &Key, current: &Arc<Value>, also: impl FnOnce(&mut Value)) -> Arc<Value> {
    if object::is_deleting(current) {
        return Arc::clone(current);
    }
    let mut marked = Value::clone(current);
    object::set_meta(&mut marked, "deletionTimestamp", object::timestamp_now());
    object::set_meta(&mut marked, "deletionGracePeriodSeconds", 0);
    // Kinds that count generations count this as a change, as upstream.
    if object::generation(current) > 0 {
        object::set_meta(&mut marked, "generation", object::generation(current).saturating_add(1));
    }
    also(&mut marked);
    txn.put(key.clone(), marked)
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

/// Deletes a namespace and everything in it. While finalizers hold some of that, the namespace stays, terminating.
pub(crate) fn remove_namespace(txn: &mut Txn<'_>, namespace: &Arc<Value>) -> Removal {
    let name = object::name(namespace).to_owned();
    for key in txn.keys_in_namespace(&name) {
        if let Some(current) = txn.get(&key) {
            remove(txn, &key, &current);
        }
    }
    let key = namespace_key(&name);
    if txn.keys_in_namespace(&name).is_empty() && object::finalizers(namespace).next().is_none() {
        return Removal::Gone(txn.delete(key).unwrap_or_else(|| Arc::clone(namespace)));
    }
    Removal::Waiting(mark(txn, &key, namespace, |object| {
        object::set_field(object, "status", json!({"phase": "Terminating"}))
    }))
}

/// Deletes a terminating namespace once nothing is left in it.
pub(crate) fn finish_namespace(txn: &mut Txn<'_>, name: &str) {
    if let Some(namespace) = txn.get(&namespace_key(name)).filter(|namespace| object::is_deleting(namespace)) {
        remove_namespace(txn, &namespace);
    }
}

pub(crate) fn namespace_key(name: &str) -> Key {
    Key { resource: NAMESPACES.into(), namespace: String::new(), name: name.to_owned() }
}

/// Deletes a definition with all its instances; answers the name of an instance whose finalizers forbid that.
pub(crate) fn remove_definition(txn: &mut Txn<'_>, definition: &Arc<Value>) -> Result<Removal, String> {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let stored_as: Arc<str> = format!("{}/{}", text("/spec/group"), text("/spec/names/plural")).into();
    let instances = txn.list(&stored_as, "");
    if let Some(held) = instances.iter().find(|instance| object::finalizers(instance).next().is_some()) {
        return Err(object::name(held).to_owned());
    }
    for instance in instances {
        txn.delete(Key {
            resource: Arc::clone(&stored_as),
            namespace: object::namespace(&instance).to_owned(),
            name: object::name(&instance).to_owned(),
        });
    }
    let key = Key {
        resource: crate::builtin::DEFINITIONS.into(),
        namespace: String::new(),
        name: object::name(definition).to_owned(),
    };
    Ok(remove(txn, &key, definition))
}
