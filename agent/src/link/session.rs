//! What the ramdisk role says on a stream: hello with every open item, progress at most once a second, each result until it is stored.
//! What it hears goes to the worker.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bessemer_protocol::{Down, HardwareIdentity, PROTOCOL_VERSION, Role, Up, WorkId, WorkItem};
use tokio::sync::{mpsc, watch};

use super::items::{Items, Progress};
use super::stream::Session;

/// Least time between two progress messages of one item.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// The ramdisk's side of a stream.
pub(crate) struct RamdiskSession {
    identity: HardwareIdentity,
    items: Arc<Items>,
    changes: watch::Receiver<u64>,
    work: mpsc::UnboundedSender<WorkItem>,
    said_results: HashSet<WorkId>,
    said_progress: HashMap<WorkId, (Instant, Progress)>,
}

impl RamdiskSession {
    /// New items go to `work`, in the order in which they came.
    pub(crate) fn new(identity: HardwareIdentity, items: Arc<Items>, work: mpsc::UnboundedSender<WorkItem>) -> Self {
        let changes = items.changes();
        Self { identity, items, changes, work, said_results: HashSet::new(), said_progress: HashMap::new() }
    }
}

impl Session for RamdiskSession {
    fn open(&mut self) -> Vec<Up> {
        self.said_results.clear();
        self.said_progress.clear();
        vec![Up::Hello {
            role: Role::Ramdisk,
            agent_version: crate::VERSION.to_owned(),
            identity: self.identity.clone(),
            items: self.items.open(),
            protocol: PROTOCOL_VERSION,
        }]
    }

    fn pending(&mut self) -> Vec<Up> {
        let mut messages = Vec::new();
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
                messages.push(Up::Result { work_id, outcome });
            }
        }
        messages
    }

    async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn hear(&mut self, message: Down) {
        match message {
            // A ramdisk lives for one boot, whose overlay has told it all this.
            Down::Heartbeat | Down::Welcome { .. } | Down::Refused(_) => {}
            Down::Stored { work_id } => self.items.stored(work_id),
            Down::Work(item) => {
                if self.items.admit(item.id) {
                    // The worker lives as long as the program.
                    let _ = self.work.send(item);
                } else {
                    self.said_results.remove(&item.id);
                }
            }
        }
    }
}
