//! The two directions of the long-lived stream.

use serde::{Deserialize, Serialize};

use crate::enrol::oldest;
use crate::{HardwareIdentity, NodeReport, Outcome, Refusal, Role, WorkId, WorkItem};

/// Longest line of [`Up::Log`], in characters; the rest is cut off.
pub const MAX_LOG_LINE: usize = 512;

/// From the agent to the controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Up {
    /// First on every stream.
    #[serde(rename_all = "camelCase")]
    Hello {
        /// Which life.
        role: Role,
        /// The agent's version.
        agent_version: String,
        /// Who it runs on.
        identity: HardwareIdentity,
        /// Every item it still remembers.
        items: Vec<ItemState>,
        /// The newest version of the protocol that it speaks.
        #[serde(default = "oldest")]
        protocol: u32,
    },
    /// Sent each [`crate::HEARTBEAT_SECONDS`] when nothing else was.
    Heartbeat,
    /// At most one a second and item.
    #[serde(rename_all = "camelCase")]
    Progress {
        /// Of which item.
        work_id: WorkId,
        /// What it is doing, such as `writing`.
        phase: String,
        /// Bytes done.
        done: u64,
        /// Bytes in all, when known.
        total: Option<u64>,
    },
    /// An item ended. Repeated on each new stream until [`Down::Stored`].
    #[serde(rename_all = "camelCase")]
    Result {
        /// Which item.
        work_id: WorkId,
        /// How.
        outcome: Outcome,
    },
    /// What the agent has said on its console since it last told, oldest first; at most one a second. Lines that did not
    /// fit are gone. Since version 2.
    Log {
        /// Without control characters, each at most [`MAX_LOG_LINE`] characters.
        lines: Vec<String>,
    },
    /// The node role's state; sent on each change and first on every stream.
    Node(NodeReport),
}

/// From the controller to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
#[expect(clippy::large_enum_variant, reason = "few are in memory at a time, and a box would be in every reader's way")]
pub enum Down {
    /// Do this, unless the id is known already.
    Work(WorkItem),
    /// The result of this item is safe; the agent may forget it.
    #[serde(rename_all = "camelCase")]
    Stored {
        /// Which item.
        work_id: WorkId,
    },
    /// Hello was heard: first on a stream of version 2 and later.
    #[serde(rename_all = "camelCase")]
    Welcome {
        /// The version that is spoken from here on.
        protocol: u32,
        /// Every CA that controllers of this site may be certified by, PEM. An agent that goes on for longer than a boot
        /// remembers it, so that the CA can be replaced without visiting hosts.
        ca: String,
        /// `https://address:port` of every controller; empty when this one does not know.
        #[serde(default)]
        controllers: Vec<String>,
        /// What time it is at the controller, in seconds since the epoch: deadlines are by its clock. An older one does not say.
        #[serde(default)]
        now: Option<i64>,
    },
    /// The stream ends, for this reason. Since version 2.
    Refused(Refusal),
    /// Keeps the stream alive; an agent that hears nothing for three heartbeats reconnects.
    Heartbeat,
}

/// An item as the agent remembers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemState {
    /// Which item.
    pub work_id: WorkId,
    /// None while it runs.
    pub outcome: Option<Outcome>,
}
