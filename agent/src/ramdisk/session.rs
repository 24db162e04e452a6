//! What the ramdisk role says on a stream: hello with every open item, progress at most once a second, each result until it is stored.
//! What it hears goes to the worker.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bessemer_protocol::{
    Down, Failure, FailureCode, HardwareIdentity, Outcome, PROTOCOL_VERSION, Role, Up, Work, WorkId, WorkItem,
};
use tokio::sync::{mpsc, watch};

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
mod tests {
    use bessemer_protocol::{HostId, Report};

    use super::*;

    #[test]
    fn a_surplus_item_is_refused_with_the_reason_and_never_queued() {
        let items = Arc::new(Items::default());
        let (work, mut queue) = mpsc::channel(MOST_OPEN);
        let time = ControllerTime::starting_at(0);
        let mut session = RamdiskSession::new(HardwareIdentity::default(), items, work, time);
        session.open();
        let mut last = WorkId::random();
        for _ in 0..=MOST_OPEN {
            last = WorkId::random();
            let host_id = HostId::random();
            session.hear(Down::Work(WorkItem { id: last, host_id, claim: None, deadline: 0, work: Work::Inspect }));
        }
        let said = session.pending();
        let [Up::Result { work_id, outcome: Outcome::Failed(failure) }] = said.as_slice() else { panic!("{said:?}") };
        assert_eq!((*work_id, failure.code), (last, FailureCode::Refused));
        assert!(failure.message.contains("items wait"), "{}", failure.message);
        let mut queued = 0;
        while queue.try_recv().is_ok() {
            queued += 1;
        }
        assert_eq!(queued, MOST_OPEN);
        assert!(session.pending().is_empty(), "a refusal is said once");
    }

    #[test]
    fn logs_are_told_while_the_worker_is_busy_and_the_time_is_the_controllers() {
        let items = Arc::new(Items::default());
        let (work, _never_worked_on) = mpsc::channel(MOST_OPEN);
        let time = ControllerTime::starting_at(1000);
        let mut session = RamdiskSession::new(HardwareIdentity::default(), items, work, time.clone());
        session.open();
        let welcome = |now| Down::Welcome { protocol: 2, ca: String::new(), controllers: vec![], now };
        session.hear(welcome(None));
        assert!((1000..1010).contains(&time.now()), "an older controller does not say");
        session.hear(welcome(Some(1_360)));
        assert!((1360..1370).contains(&time.now()), "the server took six minutes to start");
        let mut send = |work| {
            let id = WorkId::random();
            session.hear(Down::Work(WorkItem { id, host_id: HostId::random(), claim: None, deadline: 0, work }));
            (id, session.pending())
        };
        assert_eq!(send(Work::Inspect).1, []);
        crate::console::keep(b"[3] bessemer: a line for Collect\n");
        let (id, said) = send(Work::Collect);
        let [Up::Result { work_id, outcome: Outcome::Done { report: Report::Collected { agent, .. } } }] = &said[..]
        else {
            panic!("{said:?}")
        };
        assert_eq!(*work_id, id);
        assert!(agent.iter().any(|line| line.ends_with("a line for Collect")), "{agent:?}");
    }
}
