//! The agent's memory of work items: what runs, how far it is, how it ended. It outlives streams, so that a result is never lost with
//! one, and an id that was seen is never worked on twice.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bessemer_protocol::{ItemState, Outcome, WorkId};
use tokio::sync::watch;

/// How far an item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Such as `writing`.
    pub(crate) phase: String,
    /// Bytes done.
    pub(crate) done: u64,
    /// Bytes in all, when known.
    pub(crate) total: Option<u64>,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    progress: Option<Progress>,
    outcome: Option<Outcome>,
    stored: bool,
}

/// All items of this boot.
#[derive(Debug)]
pub(crate) struct Items {
    entries: Mutex<BTreeMap<WorkId, Entry>>,
    /// Counts what the controller should hear of, other than progress.
    changes: watch::Sender<u64>,
}

impl Default for Items {
    fn default() -> Self {
        Self { entries: Mutex::default(), changes: watch::Sender::new(0) }
    }
}

impl Items {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<WorkId, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Wakes whoever waits for ends and acknowledgements.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Takes note of an item. False when its id is known: then nothing must be done for it.
    pub(crate) fn admit(&self, id: WorkId) -> bool {
        let mut entries = self.lock();
        if let Some(known) = entries.get_mut(&id) {
            // The controller asks again, so it has not stored the answer, whatever we believed.
            known.stored = false;
            drop(entries);
            self.changed();
            return false;
        }
        entries.insert(id, Entry::default());
        true
    }

    /// Notes how far an item is. Cheap: may be called for each chunk.
    pub(crate) fn progress(&self, id: WorkId, progress: Progress) {
        if let Some(entry) = self.lock().get_mut(&id) {
            entry.progress = Some(progress);
        }
    }

    /// Notes how an item ended.
    pub(crate) fn end(&self, id: WorkId, outcome: Outcome) {
        if let Some(entry) = self.lock().get_mut(&id) {
            entry.outcome = Some(outcome);
        }
        self.changed();
    }

    /// The controller has the result. The id stays known.
    pub(crate) fn stored(&self, id: WorkId) {
        if let Some(entry) = self.lock().get_mut(&id) {
            entry.stored = entry.outcome.is_some();
        }
        self.changed();
    }

    /// Whether the controller has the result of `id`.
    pub(crate) fn is_stored(&self, id: WorkId) -> bool {
        self.lock().get(&id).is_some_and(|entry| entry.stored)
    }

    /// What a new stream starts with.
    pub(crate) fn open(&self) -> Vec<ItemState> {
        let entries = self.lock();
        let open = entries.iter().filter(|(_, entry)| !entry.stored);
        open.map(|(id, entry)| ItemState { work_id: *id, outcome: entry.outcome.clone() }).collect()
    }

    /// Items that ended and are not stored yet.
    pub(crate) fn results(&self) -> Vec<(WorkId, Outcome)> {
        let entries = self.lock();
        let ended = entries.iter().filter(|(_, entry)| !entry.stored);
        ended.filter_map(|(id, entry)| Some((*id, entry.outcome.clone()?))).collect()
    }

    /// How far each running item is.
    pub(crate) fn running(&self) -> Vec<(WorkId, Progress)> {
        let entries = self.lock();
        let running = entries.iter().filter(|(_, entry)| entry.outcome.is_none());
        running.filter_map(|(id, entry)| Some((*id, entry.progress.clone()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use bessemer_protocol::{Failure, FailureCode};

    use super::*;

    fn failed(message: &str) -> Outcome {
        Outcome::Failed(Failure { code: FailureCode::Internal, message: message.into() })
    }

    #[test]
    fn an_id_is_worked_on_once_even_after_its_result_was_stored() {
        let items = Items::default();
        let id = WorkId::random();
        assert!(items.admit(id));
        assert!(!items.admit(id), "it runs");
        items.end(id, failed("x"));
        items.stored(id);
        assert!(items.is_stored(id));
        assert!(items.open().is_empty());
        assert!(!items.admit(id), "it ended");
        assert_eq!(items.results(), [(id, failed("x"))], "asked again, it answers again");
    }

    #[test]
    fn an_acknowledgement_before_the_end_means_nothing() {
        let items = Items::default();
        let id = WorkId::random();
        items.admit(id);
        items.stored(id);
        items.end(id, failed("x"));
        assert_eq!(items.results().len(), 1);
    }
}
