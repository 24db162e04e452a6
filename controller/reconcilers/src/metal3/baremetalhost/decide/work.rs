//! Work items: one record for each attempt, written before it is sent, and looked up in what the agent says.

use std::time::Duration;

use bessemer_api::bessemer::{ProgressRecord, WorkKind, WorkRecord};
use bessemer_protocol::{Failure, FailureCode, Outcome, Report, Work, WorkId, WorkItem};
use sha2::{Digest, Sha256};

use super::super::budgets::{DEADLINE_SLACK, POWER_POLL, PROGRESS_PERIOD};
use super::super::effect::Effect;
use super::{Rules, later};
use crate::kubernetes::time;
use crate::outside::Progress;

/// Where an item is.
#[derive(Debug)]
pub(super) enum WorkState {
    /// Being sent or being done, or held back after a failure.
    Pending,
    /// Stored as done.
    Done(Report),
    /// Failed just now; whoever asked follows it up. The next attempt comes when the gate opens.
    Failed(Failure),
}

impl Rules<'_> {
    /// Has the agent do `work` once for this payload and claim. Only while its stream is open.
    pub(super) fn work(&mut self, kind: WorkKind, work: Work, claim: Option<String>, budget: Duration) -> WorkState {
        let digest = payload_digest(&work);
        let same =
            |record: &WorkRecord| record.kind == kind && record.payload_digest == digest && record.claim == claim;
        let Some(record) = self.decision.record.work.clone().filter(same) else {
            return self.start(kind, work, digest, claim, budget, 1);
        };
        match record.outcome.clone().map(serde_json::from_value::<Outcome>) {
            Some(Ok(Outcome::Done { report })) => WorkState::Done(report),
            // A failure of before: the gate tells when the next attempt may start.
            Some(_) if self.held_back() => WorkState::Pending,
            Some(_) => self.start(kind, work, digest, claim, budget, record.attempt.saturating_add(1)),
            None => self.follow(record, work),
        }
    }

    /// Marks an open item as ended without a result, so that it is not taken for running.
    pub(super) fn end_work(&mut self, why: &str) {
        if let Some(record) = self.decision.record.work.as_mut().filter(|record| record.outcome.is_none()) {
            let failure = Failure { code: FailureCode::Internal, message: why.to_owned() };
            record.outcome = serde_json::to_value(Outcome::Failed(failure)).ok();
        }
    }

    fn start(
        &mut self,
        kind: WorkKind,
        work: Work,
        digest: String,
        claim: Option<String>,
        budget: Duration,
        attempt: i32,
    ) -> WorkState {
        let record = WorkRecord {
            id: self.seen.seed.work.to_string(),
            kind,
            payload_digest: digest,
            attempt,
            deadline: time(later(self.now, budget)),
            claim,
            progress: None,
            outcome: None,
        };
        self.decision.effect = Some(self.sending(&record, self.seen.seed.work, work));
        self.decision.record.work = Some(record);
        self.wake_in(POWER_POLL);
        WorkState::Pending
    }

    /// An item that was written before: what does the agent know of it?
    fn follow(&mut self, mut record: WorkRecord, work: Work) -> WorkState {
        let Ok(id) = record.id.parse::<WorkId>() else { return WorkState::Pending };
        let item = self.seen.agent.items.get(&id);
        if let Some(outcome) = item.and_then(|item| item.outcome.clone()) {
            record.outcome = serde_json::to_value(&outcome).ok();
            self.decision.record.work = Some(record);
            self.decision.effect = Some(Effect::Stored(id));
            return match outcome {
                Outcome::Done { report } => WorkState::Done(report),
                Outcome::Failed(failure) => WorkState::Failed(failure),
            };
        }
        let patience = later(record.deadline.0, DEADLINE_SLACK);
        if patience <= self.now {
            let message = format!("the agent did not finish by {}", record.deadline.0);
            self.decision.record.work = Some(record);
            self.end_work(&message);
            return WorkState::Failed(Failure { code: FailureCode::Internal, message });
        }
        self.wake_at(patience);
        match item {
            // Never sent, or to an agent that does not remember.
            None => self.decision.effect = Some(self.sending(&record, id, work)),
            Some(item) => {
                if let Some(progress) = &item.progress {
                    self.note_progress(&mut record, progress);
                }
            }
        }
        self.decision.record.work = Some(record);
        WorkState::Pending
    }

    fn note_progress(&mut self, record: &mut WorkRecord, progress: &Progress) {
        let fresh = ProgressRecord {
            phase: progress.phase.clone(),
            done: i64::try_from(progress.done).unwrap_or(i64::MAX),
            total: progress.total.map(|total| i64::try_from(total).unwrap_or(i64::MAX)),
            at: time(self.now),
        };
        let due = record.progress.as_ref().is_none_or(|old| {
            let moved = (old.done, old.total) != (fresh.done, fresh.total);
            old.phase != fresh.phase || moved && later(old.at.0, PROGRESS_PERIOD) <= self.now
        });
        if due {
            record.progress = Some(fresh);
        }
    }

    fn sending(&self, record: &WorkRecord, id: WorkId, work: Work) -> Effect {
        Effect::Send(Box::new(WorkItem {
            id,
            host_id: self.id,
            claim: record.claim.clone(),
            deadline: record.deadline.0.as_second(),
            work,
        }))
    }
}

/// SHA-256 of the payload as it would be sent.
pub(super) fn payload_digest(work: &Work) -> String {
    let bytes = serde_json::to_vec(work).unwrap_or_default();
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
