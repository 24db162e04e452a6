//! The in-memory copy of everything stored, and the two reverse indexes that garbage collection needs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use super::ring::Ring;
use super::{Change, ChangeKind, Expired, Key, version_of};
use crate::object;

struct Collection {
    objects: BTreeMap<(String, String), Arc<Value>>,
    ring: Ring,
}

/// Objects of one resource together with the version they were read at.
pub(crate) struct Snapshot {
    pub(crate) version: u64,
    pub(crate) objects: Vec<Arc<Value>>,
}

/// The published state.
pub(crate) struct Index {
    version: u64,
    /// The version at start: no history before it is held.
    started_at: u64,
    collections: HashMap<Arc<str>, Collection>,
    uids: HashMap<String, Key>,
    dependents: HashMap<String, BTreeSet<Key>>,
}

impl Index {
    pub(super) fn new(version: u64) -> Self {
        Self {
            version,
            started_at: version,
            collections: HashMap::new(),
            uids: HashMap::new(),
            dependents: HashMap::new(),
        }
    }

    /// Puts an object read from disk in its place.
    pub(super) fn restore(&mut self, key: Key, object: Value) {
        self.version = self.version.max(version_of(&object));
        self.started_at = self.version;
        self.link(&key, &object);
        self.collection(&key.resource).objects.insert((key.namespace, key.name), Arc::new(object));
    }

    /// The version of the last published write.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        let objects = &self.collections.get(&key.resource)?.objects;
        objects.get(&(key.namespace.clone(), key.name.clone())).cloned()
    }

    /// All objects of a resource, in one namespace or (with an empty name) in all, by namespace and name.
    pub(crate) fn list(&self, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let Some(collection) = self.collections.get(resource) else { return Vec::new() };
        if namespace.is_empty() {
            return collection.objects.values().cloned().collect();
        }
        let from = Bound::Included((namespace.to_owned(), String::new()));
        let range = collection.objects.range((from, Bound::Unbounded));
        range.take_while(|((ns, _), _)| ns == namespace).map(|(_, object)| Arc::clone(object)).collect()
    }

    pub(crate) fn snapshot(&self, resource: &str, namespace: &str) -> Snapshot {
        Snapshot { version: self.version, objects: self.list(resource, namespace) }
    }

    /// Changes of a resource after `version`, and the version up to which they are complete.
    pub(crate) fn changes_since(&self, resource: &str, version: u64) -> Result<(Vec<Arc<Change>>, u64), Expired> {
        let changes = match self.collections.get(resource) {
            Some(collection) => collection.ring.since(version)?,
            None if version < self.started_at => return Err(Expired { oldest: self.started_at }),
            None => Vec::new(),
        };
        Ok((changes, self.version.max(version)))
    }

    /// Where the object with this uid is, if it is anywhere.
    pub(crate) fn locate(&self, uid: &str) -> Option<&Key> {
        self.uids.get(uid)
    }

    /// Objects that name `uid` as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Key> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// The keys of all objects in a namespace.
    pub(crate) fn keys_in_namespace(&self, namespace: &str) -> Vec<Key> {
        let keys = self.uids.values();
        keys.filter(|key| key.namespace == namespace).cloned().collect()
    }

    /// Everything stored, for passes over all resources.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Value>)> {
        self.collections.iter().flat_map(|(resource, c)| c.objects.values().map(move |object| (resource, object)))
    }

    pub(super) fn subscribe(&mut self, resource: &Arc<str>) -> watch::Receiver<u64> {
        self.collection(resource).ring.subscribe()
    }

    pub(super) fn publish(&mut self, changes: &[Arc<Change>]) {
        for change in changes {
            if let Some(previous) = &change.previous {
                self.unlink(&change.key, previous);
            }
            let place = (change.key.namespace.clone(), change.key.name.clone());
            if change.kind == ChangeKind::Deleted {
                self.collection(&change.key.resource).objects.remove(&place);
            } else {
                self.link(&change.key, &change.object);
                self.collection(&change.key.resource).objects.insert(place, Arc::clone(&change.object));
            }
            self.version = change.version;
            self.collection(&change.key.resource).ring.push(Arc::clone(change));
        }
    }

    fn collection(&mut self, resource: &Arc<str>) -> &mut Collection {
        let floor = self.started_at;
        self.collections
            .entry(Arc::clone(resource))
            .or_insert_with(|| Collection { objects: BTreeMap::new(), ring: Ring::new(floor) })
    }

    fn link(&mut self, key: &Key, object: &Value) {
        self.uids.insert(object::uid(object).to_owned(), key.clone());
        for owner in object::owners(object) {
            self.dependents.entry(owner.uid.to_owned()).or_default().insert(key.clone());
        }
    }

    fn unlink(&mut self, key: &Key, object: &Value) {
        self.uids.remove(object::uid(object));
        for owner in object::owners(object) {
            if let Some(keys) = self.dependents.get_mut(owner.uid) {
                keys.remove(key);
                if keys.is_empty() {
                    self.dependents.remove(owner.uid);
                }
            }
        }
    }
}
