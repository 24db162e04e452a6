//! One stream of one agent, as the hub sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bessemer_protocol::{Down, HostId, ItemState, Role, Up};
use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Hub, view};
use crate::identity::{KeyDigest, RoleIdentity};

/// Messages that may wait for an agent. Items come one at a time, so more than a few means that it does not read.
const QUEUE: usize = 16;

/// The controller's handle of one stream.
pub(super) struct Session {
    pub(super) id: u64,
    pub(super) key: KeyDigest,
    pub(super) role: RoleIdentity,
    pub(super) queue: mpsc::Sender<Down>,
    pub(super) end: CancellationToken,
}

/// The stream's side of a session: what to write, and until when.
pub(crate) struct Outgoing {
    /// Messages for the agent.
    pub(crate) queue: mpsc::Receiver<Down>,
    /// Cancelled when the stream shall end, by whichever side.
    pub(crate) end: CancellationToken,
}

/// The first message of a stream.
pub(crate) struct Hello {
    pub(crate) role: Role,
    pub(crate) agent_version: String,
    pub(crate) items: Vec<ItemState>,
}

pub(super) fn open(key: KeyDigest, role: RoleIdentity) -> (Session, Outgoing) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (sender, receiver) = mpsc::channel(QUEUE);
    let end = CancellationToken::new();
    let session = Session { id: NEXT.fetch_add(1, Ordering::Relaxed), key, role, queue: sender, end: end.clone() };
    (session, Outgoing { queue: receiver, end })
}

/// A stream that the hub knows. Dropping it, for whatever reason, marks the agent as lost, unless a newer stream has
/// taken its place.
pub(crate) struct Attached {
    hub: Arc<Hub>,
    host: HostId,
    session: u64,
}

impl Attached {
    pub(super) fn new(hub: Arc<Hub>, host: HostId, session: u64) -> Self {
        Self { hub, host, session }
    }

    /// Takes in one message.
    pub(crate) fn receive(&self, message: Up) {
        if matches!(message, Up::Heartbeat) {
            return;
        }
        self.hub.update(self.host, self.session, |host| view::apply(&mut host.view, message));
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.hub.update(self.host, self.session, |host| host.lose(Timestamp::now()));
    }
}
