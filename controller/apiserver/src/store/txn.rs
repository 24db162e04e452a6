//! One write's view of the store: the published index, the writes of the same batch before it, and its own.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use serde_json::Value;

use super::record::Record;
use super::{Change, ChangeKind, Index, Key};
use crate::object;

/// Largest object stored, in bytes of JSON; etcd's limit.
const OBJECT_LIMIT: usize = 1536 * 1024;

/// A state as tree and as bytes.
type State = (Arc<Value>, Arc<Record>);

/// A running transaction on the writer thread.
pub(crate) struct Txn<'a> {
    index: &'a RwLock<Index>,
    version: u64,
    /// Newest state of the keys written in this batch; `None` is a deleted one.
    written: BTreeMap<Key, Option<State>>,
    changes: Vec<Arc<Change>>,
    bytes: usize,
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
        Self { index, version, written: BTreeMap::new(), changes: Vec::new(), bytes: 0 }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.state(key).map(|(object, _)| object)
    }

    fn state(&self, key: &Key) -> Option<State> {
        match self.written.get(key) {
            Some(written) => written.clone(),
            None => {
                let record = read(self.index).record(key).map(Arc::clone)?;
                Some((record.value(), record))
            }
        }
    }

    /// The version of an object, without reading the rest of it.
    pub(crate) fn version_of(&self, key: &Key) -> Option<u64> {
        match self.written.get(key) {
            Some(written) => written.as_ref().map(|(_, record)| record.version()),
            None => read(self.index).record(key).map(|record| record.version()),
        }
    }

    /// All objects of a resource, in one namespace or (with an empty name) in all.
    pub(crate) fn list(&self, resource: &Arc<str>, namespace: &str) -> Vec<Arc<Value>> {
        let stored = read(self.index).records(resource, namespace);
        let mut found: BTreeMap<String, Arc<Value>> =
            stored.into_iter().map(|(place, record)| (place, record.value())).collect();
        for (key, written) in &self.written {
            if key.resource != *resource || !(namespace.is_empty() || key.namespace == namespace) {
                continue;
            }
            match written {
                Some((object, _)) => found.insert(key.place(), Arc::clone(object)),
                None => found.remove(&key.place()),
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
        keys.retain(|key| self.exists(key));
        keys
    }

    fn exists(&self, key: &Key) -> bool {
        match self.written.get(key) {
            Some(written) => written.is_some(),
            None => read(self.index).record(key).is_some(),
        }
    }

    /// Objects last written before `time` (seconds since 1970).
    pub(crate) fn written_before(&self, resource: &Arc<str>, time: u64) -> Vec<Key> {
        let old = read(self.index).records(resource, "").into_iter().filter(|(_, record)| record.written() < time);
        let keys = old.map(|(place, _)| Key::at(resource, &place));
        keys.filter(|key| !self.written.contains_key(key)).collect()
    }

    /// Stores `object` under a new version and returns it with that version in it.
    pub(crate) fn put(&mut self, key: Key, mut object: Value) -> Arc<Value> {
        let previous = self.state(&key);
        let kind = if previous.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.version += 1;
        object::set_meta(&mut object, "resourceVersion", self.version.to_string());
        self.change(key, kind, Arc::new(object), previous)
    }

    /// Removes an object. The returned last state carries the version of the deletion.
    pub(crate) fn delete(&mut self, key: Key) -> Option<Arc<Value>> {
        let previous = self.state(&key)?;
        self.version += 1;
        let mut last = Value::clone(&previous.0);
        object::set_meta(&mut last, "resourceVersion", self.version.to_string());
        Some(self.change(key, ChangeKind::Deleted, Arc::new(last), Some(previous)))
    }

    fn change(&mut self, key: Key, kind: ChangeKind, object: Arc<Value>, previous: Option<State>) -> Arc<Value> {
        let record = Arc::new(Record::new(&object, self.version));
        let state = (kind != ChangeKind::Deleted).then(|| (Arc::clone(&object), Arc::clone(&record)));
        self.written.insert(key.clone(), state);
        self.bytes += record.bytes().len();
        let (previous, previous_record) = previous.unzip();
        let (version, kept) = (self.version, Arc::clone(&object));
        self.changes.push(Arc::new(Change { key, version, kind, object, previous, record, previous_record }));
        kept
    }

    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint { changes: self.changes.len(), version: self.version }
    }

    /// Undoes everything written after `point`; also how a dry run leaves no trace.
    pub(crate) fn roll_back(&mut self, point: Savepoint) {
        while self.changes.len() > point.changes {
            if let Some(change) = self.changes.pop() {
                let previous = change.previous.clone().zip(change.previous_record.clone());
                self.written.insert(change.key.clone(), previous);
                self.bytes = self.bytes.saturating_sub(change.record.bytes().len());
            }
        }
        self.version = point.version;
    }

    /// Whether something stored after `point` is larger than what may be. What is deleted is not stored.
    pub(super) fn is_too_large_since(&self, point: Savepoint) -> bool {
        let mut stored = self.changes.iter().skip(point.changes).filter(|change| change.kind != ChangeKind::Deleted);
        stored.any(|change| change.record.json_len() > OBJECT_LIMIT)
    }

    /// How much is to be committed.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn into_changes(self) -> Vec<Arc<Change>> {
        self.changes
    }
}

fn read(index: &RwLock<Index>) -> std::sync::RwLockReadGuard<'_, Index> {
    index.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}
