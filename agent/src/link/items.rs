//! The agent's memory of work items: what runs, how far it is, how it ended. It outlives streams, so that a result is never lost with
//! one, and an id that was seen is never worked on twice.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bessemer_protocol::{Failure, FailureCode, ItemState, Outcome, Up, WorkId, encode_line};
use tokio::sync::watch;

/// Most items whose result the controller has not stored, and so the longest queue of work: it sends one after the other.
pub(crate) const MOST_OPEN: usize = 32;

/// Most ids that are remembered in one boot. None is forgotten, as an id that is not known would be worked on again.
const MOST_KNOWN: usize = 4096;

/// Stored results that are kept whole, in case that the controller asks again. An inventory may have hundreds of kilobytes.
const KEPT_RESULTS: usize = 8;

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

/// What becomes of an item that the controller sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is to be worked on.
    New,
    /// It was seen before: nothing is to be done for it but to tell how it ended.
    Known,
    /// Nothing was taken note of, for this reason.
    Full(String),
}

#[derive(Debug, Default)]
struct Memory {
    entries: BTreeMap<WorkId, Entry>,
    /// Stored ones whose result is whole, oldest first.
    kept: VecDeque<WorkId>,
}

/// All items of this boot.
#[derive(Debug)]
pub(crate) struct Items {
    memory: Mutex<Memory>,
    /// Counts what the controller should hear of, other than progress.
    changes: watch::Sender<u64>,
}

impl Default for Items {
    fn default() -> Self {
        Self { memory: Mutex::default(), changes: watch::Sender::new(0) }
    }
}

impl Items {
    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Wakes whoever waits for ends and acknowledgements.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Takes note of an item.
    pub(crate) fn admit(&self, id: WorkId) -> Admission {
        let mut memory = self.lock();
        if let Some(known) = memory.entries.get_mut(&id) {
            // The controller asks again, so it has not stored the answer, whatever we believed.
            known.stored = false;
            memory.kept.retain(|kept| *kept != id);
            drop(memory);
            self.changed();
            return Admission::Known;
        }
        if memory.entries.len() >= MOST_KNOWN {
            return Admission::Full(format!("this boot has had {MOST_KNOWN} items: boot the ramdisk again"));
        }
        let open = memory.entries.values().filter(|entry| !entry.stored).count();
        if open >= MOST_OPEN {
            return Admission::Full(format!(
                "{open} items wait for their end or for their results to be stored: send it again once they are"
            ));
        }
        memory.entries.insert(id, Entry::default());
        Admission::New
    }

    /// Notes how far an item is. Cheap: may be called for each chunk.
    pub(crate) fn progress(&self, id: WorkId, progress: Progress) {
        if let Some(entry) = self.lock().entries.get_mut(&id) {
            entry.progress = Some(progress);
        }
    }

    /// Notes how an item ended; that its report is too long if it is.
    pub(crate) fn end(&self, id: WorkId, outcome: Outcome) {
        let outcome = fitting(id, outcome);
        if let Some(entry) = self.lock().entries.get_mut(&id) {
            entry.outcome = Some(outcome);
        }
        self.changed();
    }

    /// The controller has the result. The id stays known, the result only for a while.
    pub(crate) fn stored(&self, id: WorkId) {
        let mut memory = self.lock();
        let Memory { entries, kept } = &mut *memory;
        if let Some(entry) = entries.get_mut(&id).filter(|entry| entry.outcome.is_some() && !entry.stored) {
            entry.stored = true;
            kept.push_back(id);
        }
        while kept.len() > KEPT_RESULTS {
            if let Some(entry) = kept.pop_front().and_then(|oldest| entries.get_mut(&oldest)) {
                entry.outcome = Some(forgotten());
            }
        }
        drop(memory);
        self.changed();
    }

    /// Whether the controller has the result of `id`.
    pub(crate) fn is_stored(&self, id: WorkId) -> bool {
        self.lock().entries.get(&id).is_some_and(|entry| entry.stored)
    }

    /// What a new stream starts with: ids only, as all results together may be more than a message holds. They follow one by one.
    pub(crate) fn open(&self) -> Vec<ItemState> {
        let memory = self.lock();
        let open = memory.entries.iter().filter(|(_, entry)| !entry.stored);
        open.map(|(id, _)| ItemState { work_id: *id, outcome: None }).collect()
    }

    /// Items that ended and are not stored yet.
    pub(crate) fn results(&self) -> Vec<(WorkId, Outcome)> {
        let memory = self.lock();
        let ended = memory.entries.iter().filter(|(_, entry)| !entry.stored);
        ended.filter_map(|(id, entry)| Some((*id, entry.outcome.clone()?))).collect()
    }

    /// How far each running item is.
    pub(crate) fn running(&self) -> Vec<(WorkId, Progress)> {
        let memory = self.lock();
        let running = memory.entries.iter().filter(|(_, entry)| entry.outcome.is_none());
        running.filter_map(|(id, entry)| Some((*id, entry.progress.clone()?))).collect()
    }
}

/// `outcome`, or in its place why it cannot be sent: a stream that tried would end, again and again, and the host would be lost.
fn fitting(work_id: WorkId, outcome: Outcome) -> Outcome {
    let message = Up::Result { work_id, outcome };
    let problem = encode_line(&message).err();
    match (problem, message) {
        (Some(problem), _) => {
            let message = format!("it ended, and its report cannot be sent: {problem}");
            Outcome::Failed(Failure { code: FailureCode::Internal, message })
        }
        (None, Up::Result { outcome, .. }) => outcome,
        (None, _) => forgotten(),
    }
}

/// In place of a result that was stored long ago.
fn forgotten() -> Outcome {
    let message = "it ended and its result was stored, which is no longer kept here: send a new item".to_owned();
    Outcome::Failed(Failure { code: FailureCode::Refused, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(message: &str) -> Outcome {
        Outcome::Failed(Failure { code: FailureCode::Internal, message: message.into() })
    }

    #[test]
    fn an_id_is_worked_on_once_even_after_its_result_was_stored() {
        let items = Items::default();
        let id = WorkId::random();
        assert_eq!(items.admit(id), Admission::New);
        assert_eq!(items.admit(id), Admission::Known, "it runs");
        items.end(id, failed("x"));
        items.stored(id);
        assert!(items.is_stored(id));
        assert!(items.open().is_empty());
        assert_eq!(items.admit(id), Admission::Known, "it ended");
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

    #[test]
    fn what_is_not_stored_is_kept_and_no_more_than_a_few_are_taken() {
        let items = Items::default();
        let ids: Vec<WorkId> = (0..MOST_OPEN).map(|_| WorkId::random()).collect();
        for id in &ids {
            assert_eq!(items.admit(*id), Admission::New);
            items.end(*id, failed("x"));
        }
        let surplus = WorkId::random();
        assert!(matches!(items.admit(surplus), Admission::Full(reason) if reason.contains("32 items")));
        assert_eq!(items.results().len(), MOST_OPEN, "a refusal costs no result");
        assert_eq!(items.admit(ids[0]), Admission::Known, "a known one is answered all the same");
        items.stored(ids[1]);
        assert_eq!(items.admit(surplus), Admission::New, "there is room again");
    }

    #[test]
    fn of_old_stored_results_only_the_ids_are_kept() {
        let items = Items::default();
        let ids: Vec<WorkId> = (0..MOST_KNOWN).map(|_| WorkId::random()).collect();
        for id in &ids {
            assert_eq!(items.admit(*id), Admission::New);
            items.end(*id, failed("x"));
            items.stored(*id);
        }
        let whole = items.lock().entries.values().filter(|entry| entry.outcome == Some(failed("x"))).count();
        assert_eq!(whole, KEPT_RESULTS);
        assert_eq!(items.admit(ids[0]), Admission::Known, "never worked on again");
        assert_eq!(items.results(), [(ids[0], forgotten())]);
        assert!(
            matches!(items.admit(WorkId::random()), Admission::Full(reason) if reason.contains("boot the ramdisk"))
        );
    }

    #[test]
    fn a_report_of_any_length_leaves_the_host_in_touch() {
        use bessemer_protocol::{HardwareDetails, HardwareIdentity, MAX_LINE, PROTOCOL_VERSION, Report, Role};
        let items = Items::default();
        let inventory = |length: usize| {
            let hardware = HardwareDetails { hostname: "x".repeat(length), ..HardwareDetails::default() };
            Outcome::Done { report: Report::Inspected { hardware: Box::new(hardware) } }
        };
        let long = WorkId::random();
        items.admit(long);
        items.end(long, inventory(MAX_LINE));
        let said = items.results();
        let [(id, Outcome::Failed(failure))] = &said[..] else { panic!("a line that cannot be sent") };
        assert_eq!((*id, failure.code), (long, FailureCode::Internal));
        assert!(failure.message.contains("over the limit of 1048576"), "{}", failure.message);
        // Many that fit one by one do not together.
        for _ in 1..MOST_OPEN {
            let id = WorkId::random();
            items.admit(id);
            items.end(id, inventory(MAX_LINE - 4096));
        }
        let hello = Up::Hello {
            role: Role::Ramdisk,
            agent_version: String::new(),
            identity: HardwareIdentity::default(),
            items: items.open(),
            protocol: PROTOCOL_VERSION,
        };
        assert!(encode_line(&hello).unwrap().len() < 8192);
        for (work_id, outcome) in items.results() {
            assert!(encode_line(&Up::Result { work_id, outcome }).is_ok());
        }
        assert_eq!(items.results().len(), MOST_OPEN);
    }
}
