//! What the ramdisk role says on a stream: hello with every open item, progress at most once a second, each result until it is stored.
//! What it hears goes to the worker.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bessemer_protocol::{
    Down, Failure, FailureCode, HardwareIdentity, Outcome, PROTOCOL_VERSION, Role, Up, Work, WorkId, WorkItem,
};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::clock::ControllerTime;
use crate::link::items::{Admission, Items, MOST_OPEN, Progress};
use crate::link::log::{self, LogTail};
use crate::link::stream::Session;

/// Least time between two progress messages of one item.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// The ramdisk's side of a stream.
pub(crate) struct RamdiskSession {
    identity: HardwareIdentity,
    items: Arc<Items>,
    changes: watch::Receiver<u64>,
    work: mpsc::Sender<WorkItem>,
    said_results: HashSet<WorkId>,
    said_progress: HashMap<WorkId, (Instant, Progress)>,
    /// Items that found no room, with the reason, until it is said.
    refused: Vec<(WorkId, String)>,
    log: LogTail,
    time: ControllerTime,
}

impl RamdiskSession {
    /// New items go to `work`, in the order in which they came. `time` is set whenever the controller tells it.
    pub(crate) fn new(
        identity: HardwareIdentity,
        items: Arc<Items>,
        work: mpsc::Sender<WorkItem>,
        time: ControllerTime,
    ) -> Self {
        let changes = items.changes();
        Self {
            identity,
            items,
            changes,
            work,
            said_results: HashSet::new(),
            said_progress: HashMap::new(),
            refused: Vec::new(),
            log: LogTail::default(),
            time,
        }
    }
}

impl Session for RamdiskSession {
    fn open(&mut self) -> Vec<Up> {
        self.said_results.clear();
        self.said_progress.clear();
        self.log.opened();
        vec![Up::Hello {
            role: Role::Ramdisk,
            agent_version: crate::VERSION.to_owned(),
            identity: self.identity.clone(),
            items: self.items.open(),
            protocol: PROTOCOL_VERSION,
        }]
    }

    fn pending(&mut self) -> Vec<Up> {
        let refused = self.refused.drain(..);
        let mut messages: Vec<Up> =
            refused.map(|(work_id, message)| Up::Result { work_id, outcome: refusal(message) }).collect();
        let now = Instant::now();
        for (work_id, progress) in self.items.running() {
            let due = self
                .said_progress
                .get(&work_id)
                .is_none_or(|(at, said)| *said != progress && now.duration_since(*at) >= PROGRESS_INTERVAL);
            if due {
                let Progress { phase, done, total } = progress.clone();
                self.said_progress.insert(work_id, (now, progress));
                messages.push(Up::Progress { work_id, phase, done, total });
            }
        }
        for (work_id, outcome) in self.items.results() {
            if self.said_results.insert(work_id) {
                if matches!(outcome, Outcome::Failed(_)) {
                    self.log.failed();
                }
                messages.push(Up::Result { work_id, outcome });
            }
        }
        messages.extend(self.log.due());
        messages
    }

    async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn hear(&mut self, message: Down) {
        match message {
            // Its CAs and addresses are of no use: a ramdisk lives for one boot, whose overlay has told it all this.
            Down::Welcome { protocol, now, .. } => {
                self.log.welcomed(protocol);
                now.into_iter().for_each(|now| self.time.told(now));
            }
            Down::Heartbeat | Down::Refused(_) => {}
            Down::Stored { work_id } => self.items.stored(work_id),
            Down::Work(item) => match self.items.admit(item.id) {
                // At once, as what the worker is at may be what hangs.
                Admission::New if item.work == Work::Collect => {
                    self.items.end(item.id, Outcome::Done { report: log::collected() });
                }
                Admission::New => {
                    let id = item.id;
                    // There is room for all items that may be open, and the worker lives as long as the program.
                    if self.work.try_send(item).is_err() {
                        self.items.end(id, refusal("the agent's queue of work is full or gone".to_owned()));
                    }
                }
                Admission::Known => {
                    self.said_results.remove(&item.id);
                }
                Admission::Full(reason) => {
                    self.refused.push((item.id, reason));
                    let surplus = self.refused.len().saturating_sub(MOST_OPEN);
                    self.refused.drain(..surplus);
                }
            },
        }
    }
}

fn refusal(message: String) -> Outcome {
    Outcome::Failed(Failure { code: FailureCode::Refused, message })
}

#[cfg(test)]
mod tests;
