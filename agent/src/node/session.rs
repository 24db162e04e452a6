//! What the node role says on a stream: its report, first and on each change.

use bessemer_protocol::{
    Down, Failure, FailureCode, HardwareIdentity, NodeReport, Outcome, PROTOCOL_VERSION, Role, Up, WorkId,
};
use tokio::sync::watch;

use crate::link::stream::Session;

/// The node's side of a stream.
pub(super) struct NodeSession {
    identity: HardwareIdentity,
    report: watch::Receiver<NodeReport>,
    refused: Vec<WorkId>,
}

impl NodeSession {
    /// Says `report` whenever it changes.
    pub(super) fn new(identity: HardwareIdentity, report: watch::Receiver<NodeReport>) -> Self {
        Self { identity, report, refused: Vec::new() }
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
        vec![hello, Up::Node(self.report.borrow_and_update().clone())]
    }

    fn pending(&mut self) -> Vec<Up> {
        let mut messages: Vec<Up> =
            self.refused.drain(..).map(|work_id| Up::Result { work_id, outcome: refusal() }).collect();
        if self.report.has_changed().unwrap_or(false) {
            messages.push(Up::Node(self.report.borrow_and_update().clone()));
        }
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
        if let Down::Work(item) = message {
            self.refused.push(item.id);
        }
    }
}

fn refusal() -> Outcome {
    let message = "an installed host takes no work; boot the ramdisk for it".to_owned();
    Outcome::Failed(Failure { code: FailureCode::Refused, message })
}
