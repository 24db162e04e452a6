//! The recent history of one resource, from which watches and reads of the past are served. Bounded in number, bytes
//! and time: a watcher that falls behind it is told so (410) and lists again, so that a slow client never costs memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;

use super::record::Record;
use super::{Change, ChangeKind, Key};

/// One committed write as watchers see it.
pub(crate) struct Event {
    pub(crate) key: Key,
    pub(crate) version: u64,
    pub(crate) kind: ChangeKind,
    /// The object after the change; for a deletion its last state under the deletion's version.
    pub(crate) object: Arc<Record>,
    pub(crate) previous: Option<Arc<Record>>,
    at: Instant,
    /// How it was sent: what one watcher made serves all that want the same.
    shapes: Mutex<Vec<(String, Bytes)>>,
}

impl Event {
    fn new(change: &Change) -> Self {
        Self {
            key: change.key.clone(),
            version: change.version,
            kind: change.kind,
            object: Arc::clone(&change.record),
            previous: change.previous_record.clone(),
            at: Instant::now(),
            shapes: Mutex::default(),
        }
    }

    /// The shape under `name`, made by the first who asks while the event is new.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn shape<E>(&self, name: &str, make: impl FnOnce() -> Result<Bytes, E>) -> Result<Bytes, E> {
        // Held while making: many watchers wake at once, and one of them should do the work.
        let mut shapes = self.shapes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, made)) = shapes.iter().find(|(known, _)| known == name) {
            return Ok(made.clone());
        }
        let made = make()?;
        if shapes.len() < SHAPES && made.len() <= LONGEST_SHAPE {
            shapes.push((name.to_owned(), made.clone()));
        }
        Ok(made)
    }

    fn forget_shapes(&self) {
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The history asked for is no longer held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expired {
    pub(crate) oldest: u64,
}

/// Bounds of the history of one resource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
    pub(crate) age: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { count: 8192, bytes: 16 * 1024 * 1024, age: Duration::from_secs(15 * 60) }
    }
}

/// Events whose shapes are kept, the shapes of each, and the largest kept.
const SHAPED: usize = 64;
const SHAPES: usize = 4;
const LONGEST_SHAPE: usize = 128 * 1024;
/// Events handed out at once.
const MOST_AT_ONCE: usize = 256;

pub(super) struct Ring {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    bounds: Bounds,
    /// Every change after this version is held.
    floor: u64,
    wake: watch::Sender<u64>,
}

impl Ring {
    /// An empty history that is complete since `floor`.
    pub(super) fn new(floor: u64, bounds: Bounds) -> Self {
        Self { events: VecDeque::new(), bytes: 0, bounds, floor, wake: watch::Sender::new(floor) }
    }

    pub(super) fn push(&mut self, change: &Change) {
        let version = change.version;
        self.bytes += change.record.bytes().len();
        self.events.push_back(Arc::new(Event::new(change)));
        let now = Instant::now();
        while let Some(first) = self.events.front() {
            let kept = self.events.len() <= self.bounds.count
                && (self.bytes <= self.bounds.bytes || self.events.len() == 1)
                && now.duration_since(first.at) <= self.bounds.age;
            if kept {
                break;
            }
            self.bytes = self.bytes.saturating_sub(first.object.bytes().len());
            self.floor = first.version;
            self.events.pop_front();
        }
        if let Some(aged) = self.events.len().checked_sub(SHAPED + 1).and_then(|at| self.events.get(at)) {
            aged.forget_shapes();
        }
        self.wake.send_replace(version);
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.wake.subscribe()
    }

    /// The oldest changes after `version`, and whether those are all.
    pub(super) fn since(&self, version: u64) -> Result<(Vec<Arc<Event>>, bool), Expired> {
        let rest = self.after(version)?;
        let all = rest.len() <= MOST_AT_ONCE;
        Ok((rest.take(MOST_AT_ONCE).cloned().collect(), all))
    }

    /// All changes after `version`.
    pub(super) fn after(
        &self,
        version: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Arc<Event>> + ExactSizeIterator, Expired> {
        if version < self.floor {
            return Err(Expired { oldest: self.floor });
        }
        let start = self.events.partition_point(|event| event.version <= version);
        Ok(self.events.range(start..))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn change(version: u64, size: usize) -> Change {
        let key = Key { resource: "/x".into(), namespace: String::new(), name: "a".into() };
        let object = Arc::new(json!("x".repeat(size)));
        let record = Arc::new(Record::new(&object, version));
        Change { key, version, kind: ChangeKind::Added, object, previous: None, record, previous_record: None }
    }

    #[test]
    fn serves_only_complete_history() {
        let bounds = Bounds { count: 300, ..Bounds::default() };
        let mut ring = Ring::new(10, bounds);
        assert_eq!(ring.since(9).err().unwrap(), Expired { oldest: 10 });
        assert!(ring.since(10).unwrap().0.is_empty());
        for version in 11..11 + 305 {
            ring.push(&change(version, 1));
        }
        assert_eq!(ring.since(14).err().unwrap(), Expired { oldest: 15 });
        let (some, all) = ring.since(15).unwrap();
        assert_eq!((some.len(), all), (MOST_AT_ONCE, false));
        assert_eq!(ring.since(11 + 300).unwrap().0.len(), 4);
    }

    #[test]
    fn a_shape_is_made_once_while_the_event_is_new() {
        let mut ring = Ring::new(0, Bounds::default());
        ring.push(&change(1, 1));
        let event = ring.after(0).unwrap().next().cloned().unwrap();
        let shape =
            |name: &str, text: &'static str| event.shape(name, || Ok::<_, ()>(Bytes::from_static(text.as_bytes())));
        assert!(event.shape("whole", || Err(())).is_err());
        assert_eq!(shape("whole", "1").unwrap(), "1");
        assert_eq!(shape("whole", "2").unwrap(), "1");
        assert_eq!(shape("table", "3").unwrap(), "3");
        for version in 2..2 + SHAPED as u64 {
            ring.push(&change(version, 1));
        }
        assert_eq!(shape("whole", "4").unwrap(), "4");
    }

    proptest! {
        #[test]
        fn stays_within_its_bounds(sizes in proptest::collection::vec(0_usize..900, 1..200)) {
            let bounds = Bounds { count: 50, bytes: 5000, age: Duration::from_secs(60) };
            let mut ring = Ring::new(0, bounds);
            let mut version = 0;
            for size in sizes {
                version += 1;
                ring.push(&change(version, size));
                let held = ring.after(ring.floor).unwrap().map(|event| event.object.bytes().len());
                let held: Vec<usize> = held.collect();
                prop_assert!(held.len() <= 50 && held.iter().sum::<usize>() <= 5000 && !held.is_empty());
                prop_assert_eq!(held.iter().sum::<usize>(), ring.bytes);
                // Without gaps: what is held is all that came after the floor.
                prop_assert_eq!(held.len() as u64, version - ring.floor);
            }
        }
    }
}
