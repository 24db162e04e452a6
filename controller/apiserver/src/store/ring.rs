//! The recent history of one resource, from which watches are served. Bounded: a watcher that falls behind it is told
//! so (410) and lists again, so that a slow client never costs memory.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use super::Key;

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

/// One committed write.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) key: Key,
    pub(crate) version: u64,
    pub(crate) kind: ChangeKind,
    /// The object after the change; for a deletion its last state under the deletion's version.
    pub(crate) object: Arc<Value>,
    pub(crate) previous: Option<Arc<Value>>,
}

/// The history asked for is no longer held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expired {
    pub(crate) oldest: u64,
}

/// Changes kept per resource.
const CAPACITY: usize = 4096;

pub(super) struct Ring {
    changes: VecDeque<Arc<Change>>,
    /// Every change after this version is held.
    floor: u64,
    wake: watch::Sender<u64>,
}

impl Ring {
    /// An empty history that is complete since `floor`.
    pub(super) fn new(floor: u64) -> Self {
        Self { changes: VecDeque::new(), floor, wake: watch::Sender::new(floor) }
    }

    pub(super) fn push(&mut self, change: Arc<Change>) {
        let version = change.version;
        if self.changes.len() >= CAPACITY
            && let Some(dropped) = self.changes.pop_front()
        {
            self.floor = dropped.version;
        }
        self.changes.push_back(change);
        self.wake.send_replace(version);
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.wake.subscribe()
    }

    /// Changes after `version`, oldest first.
    pub(super) fn since(&self, version: u64) -> Result<Vec<Arc<Change>>, Expired> {
        if version < self.floor {
            return Err(Expired { oldest: self.floor });
        }
        let start = self.changes.partition_point(|change| change.version <= version);
        Ok(self.changes.range(start..).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(version: u64) -> Arc<Change> {
        let key = Key { resource: "/x".into(), namespace: String::new(), name: "a".into() };
        Arc::new(Change { key, version, kind: ChangeKind::Added, object: Arc::new(Value::Null), previous: None })
    }

    #[test]
    fn serves_only_complete_history() {
        let mut ring = Ring::new(10);
        assert_eq!(ring.since(9).unwrap_err(), Expired { oldest: 10 });
        assert!(ring.since(10).unwrap().is_empty());
        for version in 11..11 + CAPACITY as u64 + 5 {
            ring.push(change(version));
        }
        assert_eq!(ring.since(14).unwrap_err(), Expired { oldest: 15 });
        assert_eq!(ring.since(15).unwrap().len(), CAPACITY);
        assert_eq!(ring.since(11 + CAPACITY as u64).unwrap().len(), 4);
    }
}
