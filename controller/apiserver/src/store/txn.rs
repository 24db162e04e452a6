//! One write's view of the store: the published index, the writes of the same batch before it, and its own.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use serde_json::Value;

use super::{Change, ChangeKind, Index, Key};
use crate::object;

/// A running transaction on the writer thread.
pub(crate) struct Txn<'a> {
    index: &'a RwLock<Index>,
    version: u64,
    /// Newest state of the keys written in this batch; `None` is a deleted one.
    written: BTreeMap<Key, Option<Arc<Value>>>,
    changes: Vec<Arc<Change>>,
}

/// A point to return to.
#[derive(Clone, Copy)]
pub(crate) struct Savepoint {
    changes: usize,
    version: u64,
}

impl<'a> Txn<'a> {
    pub(super) fn new(index: &'a RwLock<Index>) -> Self {
        let version = read(index).version();
        Self { index, version, written: BTreeMap::new(), changes: Vec::new() }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        match self.written.get(key) {
            Some(written) => written.clone(),
            None => read(self.index).get(key),
        }
    }

    /// All objects of a resource, in one namespace or (with an empty name) in all.
    pub(crate) fn list(&self, resource: &Arc<str>, namespace: &str) -> Vec<Arc<Value>> {
        let mut found: BTreeMap<Key, Arc<Value>> = BTreeMap::new();
        for object in read(self.index).list(resource, namespace) {
            let key = Key {
                resource: Arc::clone(resource),
                namespace: object::namespace(&object).to_owned(),
                name: object::name(&object).to_owned(),
            };
            found.insert(key, object);
        }
        for (key, written) in &self.written {
            if key.resource != *resource || !(namespace.is_empty() || key.namespace == namespace) {
                continue;
            }
            match written {
                Some(object) => found.insert(key.clone(), Arc::clone(object)),
                None => found.remove(key),
            };
        }
        found.into_values().collect()
    }

    /// Objects that name `uid` as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Key> {
        let mut keys = read(self.index).dependents(uid);
        keys.extend(self.written.keys().cloned());
        keys.sort();
        keys.dedup();
        let depends = |key: &Key| self.get(key).is_some_and(|object| object::owners(&object).any(|o| o.uid == uid));
        keys.retain(depends);
        keys
    }

    /// Where the object with this uid is, as of the last commit.
    pub(crate) fn locate(&self, uid: &str) -> Option<Key> {
        read(self.index).locate(uid).cloned()
    }

    /// Everything in a namespace, of all resources.
    pub(crate) fn keys_in_namespace(&self, namespace: &str) -> Vec<Key> {
        let mut keys = read(self.index).keys_in_namespace(namespace);
        keys.extend(self.written.keys().filter(|key| key.namespace == namespace).cloned());
        keys.sort();
        keys.dedup();
        keys.retain(|key| self.get(key).is_some());
        keys
    }

    /// Stores `object` under a new version and returns it with that version in it.
    pub(crate) fn put(&mut self, key: Key, mut object: Value) -> Arc<Value> {
        let previous = self.get(&key);
        self.version += 1;
        object::set_meta(&mut object, "resourceVersion", self.version.to_string());
        let object = Arc::new(object);
        self.written.insert(key.clone(), Some(Arc::clone(&object)));
        let kind = if previous.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.changes.push(Arc::new(Change { key, version: self.version, kind, object: Arc::clone(&object), previous }));
        object
    }

    /// Removes an object. The returned last state carries the version of the deletion.
    pub(crate) fn delete(&mut self, key: Key) -> Option<Arc<Value>> {
        let previous = self.get(&key)?;
        self.version += 1;
        let mut last = Value::clone(&previous);
        object::set_meta(&mut last, "resourceVersion", self.version.to_string());
        let object = Arc::new(last);
        self.written.insert(key.clone(), None);
        self.changes.push(Arc::new(Change {
            key,
            version: self.version,
            kind: ChangeKind::Deleted,
            object: Arc::clone(&object),
            previous: Some(previous),
        }));
        Some(object)
    }

    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint { changes: self.changes.len(), version: self.version }
    }

    /// Undoes everything written after `point`; also how a dry run leaves no trace.
    pub(crate) fn roll_back(&mut self, point: Savepoint) {
        while self.changes.len() > point.changes {
            if let Some(change) = self.changes.pop() {
                self.written.insert(change.key.clone(), change.previous.clone());
            }
        }
        self.version = point.version;
    }

    pub(super) fn into_changes(self) -> Vec<Arc<Change>> {
        self.changes
    }
}

fn read(index: &RwLock<Index>) -> std::sync::RwLockReadGuard<'_, Index> {
    index.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}
