//! HostRecord: what the controller remembers of one host.

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Time;
use crate::metal3::{ErrorType, Image};

/// Same namespace and name as its BareMetalHost, and owned by it. All of it is status.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "bessemer.dev",
    version = "v1alpha1",
    kind = "HostRecord",
    plural = "hostrecords",
    namespaced,
    status = "HostRecordStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Target","type":"string","description":"What the host shall boot","jsonPath":".status.boot.target"}"#,
    printcolumn = r#"{"name":"Agent","type":"string","description":"Role of the agent last heard","jsonPath":".status.agent.role"}"#,
    printcolumn = r#"{"name":"Work","type":"string","description":"Last work item","jsonPath":".status.work.kind"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","description":"Phase of that work item","jsonPath":".status.work.progress.phase"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct HostRecordSpec {}

/// What the controller remembers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HostRecordStatus {
    /// The current boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<BootRecord>,
    /// The agent last heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRecord>,
    /// The last work item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkRecord>,
    /// The image last written to the disk, as it was when it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<Image>,
    /// When the system was asked to shut down; none while nobody waits for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_off: Option<Time>,
    /// When what failed may be tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRecord>,
    /// What happened, oldest first; at most [`HostRecordStatus::STORY_LINES`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<StoryLine>,
}

impl HostRecordStatus {
    /// Lines kept of the story.
    pub const STORY_LINES: usize = 50;

    /// Adds a line to the story; the oldest goes when there are too many.
    pub fn tell(&mut self, at: Time, event: &str, detail: impl Into<String>) {
        self.story.push(StoryLine { at, event: event.to_owned(), detail: detail.into() });
        let surplus = self.story.len().saturating_sub(Self::STORY_LINES);
        self.story.drain(..surplus);
    }
}

/// One boot: everything served to the host until the next one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootRecord {
    /// Boot id.
    pub id: String,
    /// What the host shall boot.
    pub target: BootTarget,
    /// How far the controller is with it.
    pub step: BootStep,
    /// When it was made.
    pub issued: Time,
    /// After this, the host should have enrolled and nothing more is served.
    pub expires: Time,
    /// Whether an agent has enrolled.
    #[serde(default)]
    pub enrolled: bool,
}

/// What a host shall boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BootTarget {
    /// Nothing is answered.
    Nothing,
    /// The ramdisk.
    Ramdisk,
    /// The system on its disk.
    LocalDisk,
    /// It should be off.
    PowerOff,
}

/// Steps of bringing a host into its target; each is an intent until the next one is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BootStep {
    /// The one-time boot override is to be set.
    Override,
    /// The server is to be powered on, or reset.
    Power,
    /// The host is booting; its agent is awaited.
    Waiting,
    /// The agent opened its stream: the token is spent, the overlay gone.
    Streaming,
    /// The override is to be cleared before the host leaves for its disk.
    ClearOverride,
    /// The host may leave, or has left.
    Leaving,
    /// The agent does not leave: the BMC is to reset the host into its disk.
    Reset,
    /// The BMC has reset the host.
    Left,
}

/// The agent last heard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentRecord {
    /// Its version.
    pub version: String,
    /// `ramdisk` or `node`.
    pub role: String,
    /// Whether its stream was open when this was written.
    pub connected: bool,
    /// When this was written, or when the stream was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Time>,
    /// The boot of a ramdisk agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// How far a node agent was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_phase: Option<String>,
}

/// One attempt at one work item, written before it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkRecord {
    /// Work id.
    pub id: String,
    /// What it is.
    pub kind: WorkKind,
    /// SHA-256 of the payload: an equal payload needs no new item.
    pub payload_digest: String,
    /// 1 for the first attempt with that payload.
    pub attempt: i32,
    /// When the agent must give up.
    pub deadline: Time,
    /// `<namespace>/<metal3machine>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressRecord>,
    /// How it ended, as the agent protocol writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub outcome: Option<Value>,
}

/// Kinds of work items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WorkKind {
    /// Report the hardware.
    Inspect,
    /// Write an image.
    Deploy,
    /// End the ramdisk.
    Leave,
}

/// How far a work item is; written every few seconds at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgressRecord {
    /// What is being done.
    pub phase: String,
    /// Bytes done.
    pub done: i64,
    /// Bytes in all, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// When this was written.
    pub at: Time,
}

/// When what failed may be tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryRecord {
    /// Not before; none for not before somebody edits the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Time>,
    /// Failures in a row.
    pub failures: i32,
    /// The host's generation at the last failure: an edit of its spec ends the wait.
    pub generation: i64,
    /// What kind of failure the last one was; shown again should it be missing in the host's status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub kind: Option<ErrorType>,
    /// What the last failure was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// One line of a host's story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoryLine {
    /// When.
    pub at: Time,
    /// What, in one or two words.
    pub event: String,
    /// More of it.
    pub detail: String,
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "nullable": true, "x-kubernetes-preserve-unknown-fields": true })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    #[test]
    fn the_story_is_bounded_and_keeps_the_newest() {
        let mut status = HostRecordStatus::default();
        for line in 0..60 {
            status.tell(Time(Timestamp::UNIX_EPOCH), "event", line.to_string());
        }
        assert_eq!(status.story.len(), HostRecordStatus::STORY_LINES);
        assert_eq!(status.story.last().unwrap().detail, "59");
    }
}
