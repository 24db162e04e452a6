//! What the node role says on a stream: its report, first and on each change.

use bessemer_protocol::{
    Down, Failure, FailureCode, HardwareIdentity, NodeIdentity, NodePhase, NodeReport, Outcome, PROTOCOL_VERSION, Role,
    Up, WorkId,
};
use tokio::sync::watch;

use crate::link::log::LogTail;
use crate::link::stream::Session;

/// The node's side of a stream.
pub(super) struct NodeSession {
    identity: HardwareIdentity,
    report: watch::Receiver<NodeReport>,
    refused: Vec<WorkId>,
    /// What the controller told of the site.
    told: watch::Sender<Told>,
    log: LogTail,
    /// Whether the report that was said last is of a failure.
    had_failed: bool,
}

/// What an agent remembers of its site: the CAs to trust, and where the controllers are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told {
    ca: String,
    controllers: Vec<String>,
}

/// Returns with the identity in which what the controller told is new.
pub(super) async fn updated(told: &mut watch::Receiver<Told>, identity: &NodeIdentity) -> NodeIdentity {
    loop {
        if told.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        let Told { ca, controllers } = told.borrow_and_update().clone();
        let mut new = identity.clone();
        if !ca.is_empty() {
            new.ca = ca;
        }
        if !controllers.is_empty() {
            new.controllers = controllers;
        }
        if new != *identity {
            return new;
        }
    }
}

impl NodeSession {
    /// Says `report` whenever it changes.
    pub(super) fn new(identity: HardwareIdentity, report: watch::Receiver<NodeReport>) -> Self {
        Self {
            identity,
            report,
            refused: Vec::new(),
            told: watch::Sender::new(Told::default()),
            log: LogTail::default(),
            had_failed: false,
        }
    }

    fn report(&mut self) -> Up {
        let report = self.report.borrow_and_update().clone();
        let has_failed = matches!(report.phase, NodePhase::Failed { .. });
        if has_failed && !self.had_failed {
            self.log.failed();
        }
        self.had_failed = has_failed;
        Up::Node(report)
    }

    /// What the controller tells of the site, as it comes.
    pub(super) fn told(&self) -> watch::Receiver<Told> {
        self.told.subscribe()
    }
}

impl Session for NodeSession {
    fn open(&mut self) -> Vec<Up> {
        let hello = Up::Hello {
            role: Role::Node,
            agent_version: crate::VERSION.to_owned(),
            identity: self.identity.clone(),
            items: Vec::new(),
            protocol: PROTOCOL_VERSION,
        };
        self.log.opened();
        vec![hello, self.report()]
    }

    fn pending(&mut self) -> Vec<Up> {
        let mut messages: Vec<Up> =
            self.refused.drain(..).map(|work_id| Up::Result { work_id, outcome: refusal() }).collect();
        if self.report.has_changed().unwrap_or(false) {
            messages.push(self.report());
        }
        messages.extend(self.log.due());
        messages
    }

    async fn changed(&mut self) {
        // Without marking it as seen: that is done when it is said.
        if self.report.has_changed().is_ok_and(|changed| changed) {
            return;
        }
        let mut waiting = self.report.clone();
        if waiting.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn hear(&mut self, message: Down) {
        match message {
            Down::Work(item) => {
                self.refused.push(item.id);
                let surplus = self.refused.len().saturating_sub(MOST_REFUSED);
                self.refused.drain(..surplus);
            }
            Down::Welcome { protocol, ca, controllers, .. } => {
                self.log.welcomed(protocol);
                let told = Told { ca, controllers };
                self.told.send_if_modified(|known| std::mem::replace(known, told.clone()) != told);
            }
            Down::Stored { .. } | Down::Refused(_) | Down::Heartbeat => {}
        }
    }
}

/// Refusals that wait to be said: an honest controller sends an installed host nothing.
const MOST_REFUSED: usize = 16;

fn refusal() -> Outcome {
    let message = "an installed host takes no work; boot the ramdisk for it".to_owned();
    Outcome::Failed(Failure { code: FailureCode::Refused, message })
}

#[cfg(test)]
mod tests {
    use bessemer_protocol::{BootstrapDelivery, HostId};

    use super::*;

    #[tokio::test]
    async fn what_is_told_anew_is_remembered_and_nothing_else() {
        let identity = NodeIdentity {
            controllers: vec!["https://192.0.2.1:8444".into()],
            ca: "OLD".into(),
            certificate: "CERT".into(),
            key: "KEY".into(),
            host_id: HostId::random(),
            claim: "metal/m0".into(),
            hostname: "r1-u1".into(),
            delivery: BootstrapDelivery::Agent,
        };
        let report = watch::Sender::new(NodeReport::default());
        let mut session = NodeSession::new(HardwareIdentity::default(), report.subscribe());
        let mut told = session.told();
        session.hear(Down::Welcome { protocol: 2, ca: "OLD".into(), controllers: vec![], now: None });
        let nothing = tokio::time::timeout(std::time::Duration::from_millis(20), updated(&mut told, &identity));
        assert!(nothing.await.is_err());
        session.hear(Down::Welcome {
            protocol: 2,
            ca: "OLDNEW".into(),
            controllers: vec!["https://192.0.2.2:1".into()],
            now: None,
        });
        let new = updated(&mut told, &identity).await;
        assert_eq!((new.ca.as_str(), new.controllers.len(), new.key.as_str()), ("OLDNEW", 1, "KEY"));
        assert_eq!(new.controllers, ["https://192.0.2.2:1"]);
    }
}
