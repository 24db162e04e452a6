//! The in-memory copy of everything stored, and the two reverse indexes that garbage collection needs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use super::record::Record;
use super::ring::{Bounds, Event, Ring};
use super::{Change, ChangeKind, Expired, Key};
use crate::object;

/// Objects by place: `namespace/name`, or the name alone. In this order lists are answered, as upstream.
type Places = BTreeMap<String, Arc<Record>>;

struct Collection {
    objects: Places,
    ring: Ring,
}

/// A part of a list at one version.
pub(crate) struct Page {
    /// The place and the bytes of each object.
    pub(crate) objects: Vec<(String, Arc<Record>)>,
    pub(crate) version: u64,
}

/// The published state.
pub(crate) struct Index {
    version: u64,
    /// The version at start: no history before it is held.
    started_at: u64,
    bounds: Bounds,
    collections: HashMap<Arc<str>, Collection>,
    uids: HashMap<String, Key>,
    dependents: HashMap<String, BTreeSet<Key>>,
}

/// What the reverse indexes need of an object, read without building the rest of it.
#[derive(Deserialize)]
struct Head {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    owner_references: Vec<Owner>,
}

#[derive(Deserialize)]
struct Owner {
    #[serde(default)]
    uid: String,
}

impl Index {
    pub(super) fn new(version: u64) -> Self {
        Self {
            version,
            started_at: version,
            bounds: Bounds::default(),
            collections: HashMap::new(),
            uids: HashMap::new(),
            dependents: HashMap::new(),
        }
    }

    /// Puts what was read from disk in its place: an object, or that there is none. `None` when it cannot be read.
    /// [`Self::advance`] ends a run of these.
    pub(super) fn restore(&mut self, key: Key, record: Option<Arc<Record>>) -> Option<()> {
        let place = key.place();
        let head = |record: &Record| serde_json::from_slice::<Head>(&record.json()).ok();
        let collection = self.collection(&key.resource);
        let before = match &record {
            Some(record) => collection.objects.insert(place, Arc::clone(record)),
            None => collection.objects.remove(&place),
        };
        if let Some(before) = before {
            let head = head(&before)?.metadata;
            self.unlink(&key, &head.uid, head.owner_references.iter().map(|owner| owner.uid.as_str()));
        }
        if let Some(record) = record {
            let head = head(&record)?.metadata;
            self.link(&key, &head.uid, head.owner_references.iter().map(|owner| owner.uid.as_str()));
        }
        Some(())
    }

    /// The version that the files have.
    pub(super) fn advance(&mut self, version: u64) {
        self.version = version;
        self.started_at = version;
        for collection in self.collections.values_mut() {
            collection.ring = Ring::new(version, self.bounds);
        }
    }

    /// The version of the last published write.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.record(key).map(|record| record.value())
    }

    /// An object's bytes.
    pub(crate) fn record(&self, key: &Key) -> Option<&Arc<Record>> {
        self.collections.get(&key.resource)?.objects.get(&key.place())
    }

    /// All objects of a resource, in one namespace or (with an empty name) in all, by namespace and name.
    pub(crate) fn list(&self, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        self.places(resource, namespace).map(|(_, record)| record.value()).collect()
    }

    /// As [`Self::list`], with their keys and as bytes.
    pub(crate) fn records(&self, resource: &str, namespace: &str) -> Vec<(String, Arc<Record>)> {
        self.places(resource, namespace).map(|(place, record)| (place.clone(), Arc::clone(record))).collect()
    }

    fn places(&self, resource: &str, namespace: &str) -> impl Iterator<Item = (&String, &Arc<Record>)> {
        self.places_from(resource, namespace, "")
    }

    fn places_from(
        &self,
        resource: &str,
        namespace: &str,
        from: &str,
    ) -> impl Iterator<Item = (&String, &Arc<Record>)> + use<'_> {
        let objects = self.collections.get(resource).map(|collection| &collection.objects);
        let prefix = prefix(namespace);
        let from = prefix.clone().max(from.to_owned());
        objects.into_iter().flat_map(move |objects| objects.range(from.clone()..)).take_while(
            // The order of places is that of their bytes, so that what starts alike is together.
            move |(place, _)| place.starts_with(&prefix),
        )
    }

    /// The objects of a resource from a place on, as they were at a version (zero is now).
    ///
    /// # Errors
    /// When the history since that version is no longer held.
    pub(crate) fn page(&self, resource: &str, namespace: &str, from: &str, at: u64) -> Result<Page, Expired> {
        let version = if at == 0 { self.version } else { at };
        let prefix = prefix(namespace);
        let inside = |place: &str| place >= from && place.starts_with(&prefix);
        let objects = self.places_from(resource, namespace, from);
        let objects = objects.map(|(place, record)| (place.clone(), Arc::clone(record)));
        if version == self.version {
            return Ok(Page { objects: objects.collect(), version });
        }
        let mut then: Places = objects.collect();
        // Undone from the newest to the oldest.
        match self.collections.get(resource) {
            None if version < self.started_at => return Err(Expired { oldest: self.started_at }),
            None => {}
            Some(collection) => {
                for event in collection.ring.after(version)?.rev() {
                    let place = event.key.place();
                    if !inside(&place) {
                        continue;
                    }
                    match &event.previous {
                        Some(previous) => then.insert(place, Arc::clone(previous)),
                        None => then.remove(&place),
                    };
                }
            }
        }
        Ok(Page { objects: then.into_iter().collect(), version })
    }

    /// The oldest changes of a resource after `version`, and the version up to which they are complete.
    pub(crate) fn changes_since(&self, resource: &str, version: u64) -> Result<(Vec<Arc<Event>>, u64), Expired> {
        let (events, all) = match self.collections.get(resource) {
            Some(collection) => collection.ring.since(version)?,
            None if version < self.started_at => return Err(Expired { oldest: self.started_at }),
            None => (Vec::new(), true),
        };
        let last = events.last().map_or(version, |event| event.version);
        Ok((events, if all { self.version.max(version) } else { last }))
    }

    /// Where the object with this uid is, if it is anywhere.
    pub(crate) fn locate(&self, uid: &str) -> Option<&Key> {
        self.uids.get(uid)
    }

    /// Objects that name `uid` as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Key> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Objects that name an owner which is not there.
    pub(crate) fn orphaned(&self) -> Vec<Key> {
        let gone = self.dependents.iter().filter(|(owner, _)| !self.uids.contains_key(*owner));
        gone.flat_map(|(_, keys)| keys).cloned().collect()
    }

    /// How many objects of each resource there are.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Arc<str>, usize)> {
        self.collections.iter().map(|(resource, collection)| (Arc::clone(resource), collection.objects.len()))
    }

    /// Objects whose deletion has begun. Looks into every object, which is for the start only.
    pub(crate) fn deleting(&self) -> Vec<(Key, Arc<Value>)> {
        const MARK: &[u8] = b"\"deletionTimestamp\"";
        let mut found = Vec::new();
        for (resource, collection) in &self.collections {
            for (place, record) in &collection.objects {
                if !record.json().windows(MARK.len()).any(|window| window == MARK) {
                    continue;
                }
                let (object, (namespace, name)) = (record.value(), place.split_once('/').unwrap_or(("", place)));
                if object::is_deleting(&object) {
                    let (namespace, name) = (namespace.to_owned(), name.to_owned());
                    found.push((Key { resource: Arc::clone(resource), namespace, name }, object));
                }
            }
        }
        found
    }

    /// The keys of all objects in a namespace.
    pub(crate) fn keys_in_namespace(&self, namespace: &str) -> Vec<Key> {
        let keys = self.collections.keys().flat_map(|resource| {
            self.places(resource, namespace).filter_map(|(place, _)| {
                let (namespace, name) = place.split_once('/')?;
                let (namespace, name) = (namespace.to_owned(), name.to_owned());
                Some(Key { resource: Arc::clone(resource), namespace, name })
            })
        });
        keys.collect()
    }

    pub(super) fn subscribe(&mut self, resource: &Arc<str>) -> watch::Receiver<u64> {
        self.collection(resource).ring.subscribe()
    }

    pub(super) fn publish(&mut self, changes: &[Arc<Change>]) {
        for change in changes {
            if let Some(previous) = &change.previous {
                self.unlink(&change.key, object::uid(previous), object::owners(previous).map(|owner| owner.uid));
            }
            let place = change.key.place();
            if change.kind == ChangeKind::Deleted {
                self.collection(&change.key.resource).objects.remove(&place);
            } else {
                let owners = object::owners(&change.object).map(|owner| owner.uid);
                self.link(&change.key, object::uid(&change.object), owners);
                self.collection(&change.key.resource).objects.insert(place, Arc::clone(&change.record));
            }
            self.version = change.version;
            self.collection(&change.key.resource).ring.push(change);
        }
    }

    fn collection(&mut self, resource: &Arc<str>) -> &mut Collection {
        let (floor, bounds) = (self.started_at, self.bounds);
        self.collections
            .entry(Arc::clone(resource))
            .or_insert_with(|| Collection { objects: BTreeMap::new(), ring: Ring::new(floor, bounds) })
    }

    fn link<'a>(&mut self, key: &Key, uid: &str, owners: impl Iterator<Item = &'a str>) {
        self.uids.insert(uid.to_owned(), key.clone());
        for owner in owners {
            self.dependents.entry(owner.to_owned()).or_default().insert(key.clone());
        }
    }

    fn unlink<'a>(&mut self, key: &Key, uid: &str, owners: impl Iterator<Item = &'a str>) {
        self.uids.remove(uid);
        for owner in owners {
            if let Some(keys) = self.dependents.get_mut(owner) {
                keys.remove(key);
                if keys.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
    }
}

fn prefix(namespace: &str) -> String {
    if namespace.is_empty() { String::new() } else { format!("{namespace}/") }
}
