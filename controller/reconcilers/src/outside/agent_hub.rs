//! The agents, as reconcilers see them.

use std::collections::HashMap;

use async_trait::async_trait;
use bessemer_protocol::{BootId, HostId, NodeReport, Outcome, Role, WorkId, WorkItem};
use futures::stream::BoxStream;
use jiff::Timestamp;

/// What the controller's end of the agent protocol shows of one host. Rebuilt from streams after a restart; nothing in
/// here is state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentView {
    /// Whether a stream is open and was heard within its heartbeats.
    pub connected: bool,
    /// The role of the open stream, or of the last one.
    pub role: Option<Role>,
    /// The boot that the (last) ramdisk stream's certificate names; none for the node role.
    pub boot_id: Option<BootId>,
    /// What the agent said it is.
    pub agent_version: Option<String>,
    /// When the last stream ended or fell silent; none while one is open, and for hosts never seen.
    pub lost_since: Option<Timestamp>,
    /// Every item that the agent is known to have: those sent on the open stream and those its `Hello` listed.
    pub items: HashMap<WorkId, ItemView>,
    /// The node role's last report.
    pub node: Option<NodeReport>,
    /// The last lines of the agent's console, each with its newline; at most [`Self::LOG_TAIL`] bytes.
    pub log_tail: String,
}

impl AgentView {
    /// Longest [`Self::log_tail`], in bytes.
    pub const LOG_TAIL: usize = 16 << 10;
}

/// One work item as its agent last told of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ItemView {
    /// The last progress; none before the first.
    pub progress: Option<Progress>,
    /// None while it runs.
    pub outcome: Option<Outcome>,
}

/// How far an item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// What is being done, such as `writing`.
    pub phase: String,
    /// Bytes done.
    pub done: u64,
    /// Bytes in all, when known.
    pub total: Option<u64>,
}

/// Why an item was not handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentHubError {
    /// No stream of this host is open.
    #[error("the agent of host {0} is not connected")]
    NotConnected(HostId),
    /// The stream ended while the item was being sent; it may or may not have arrived.
    #[error("the stream of host {0} closed while sending")]
    Closed(HostId),
}

/// The controller's end of all agents' streams.
#[async_trait]
pub trait AgentHub: Send + Sync {
    /// What is known of this host now; [`AgentView::default`] if it was never heard.
    fn view(&self, host: &HostId) -> AgentView;

    /// Hands an item to its host's ramdisk agent, and shows it in [`AgentView::items`] from then on. Sending an id again is harmless:
    /// the agent answers with what it knows.
    ///
    /// # Errors
    /// [`AgentHubError`]; the caller tries again when the host next changes.
    async fn send(&self, item: WorkItem) -> Result<(), AgentHubError>;

    /// The result of this item is stored in the API: the agent may forget it. Lost if the agent is not connected, which
    /// is harmless: it repeats its result on its next stream.
    async fn stored(&self, host: &HostId, work: WorkId);

    /// Ends the stream and the certificate of this host's agent.
    async fn disconnect(&self, host: &HostId, reason: &str);

    /// A host is named each time something of its view changed; several changes may be told once. Any number of
    /// subscribers, each from now on.
    fn changes(&self) -> BoxStream<'static, HostId>;
}
