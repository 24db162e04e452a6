//! HostRecord: what the controller remembers of one host.

use bessemer_api_macros::api;
use serde_json::Value;

use crate::Time;
use crate::addresses::IpText;
use crate::metal3::{ErrorType, Image};

/// 128 random bits.
const ID: &str = "^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$";
/// A SHA-256 digest.
const SHA256: &str = "^[0-9a-f]{64}$";
/// Characters kept of one line's detail.
const DETAIL: usize = 1024;

/// Same namespace and name as its BareMetalHost, and owned by it. All of it is status.
#[api(optional_spec)]
#[kube(
    group = "bessemer.dev",
    version = "v1alpha1",
    kind = "HostRecord",
    plural = "hostrecords",
    namespaced,
    status = "HostRecordStatus"
)]
#[column("Target", string, ".status.boot.target", "What the host shall boot")]
#[column("Agent", string, ".status.agent.role", "Role of the agent last heard")]
#[column("Work", string, ".status.work.kind", "Last work item")]
#[column("Phase", string, ".status.work.progress.phase", "Phase of that work item")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct HostRecordSpec {}

/// What the controller remembers.
#[api]
pub struct HostRecordStatus {
    /// The current boot.
    pub boot: Option<BootRecord>,
    /// The agent last heard.
    pub agent: Option<AgentRecord>,
    /// The key of the installed system's certificate.
    pub node_key: Option<NodeKeyRecord>,
    /// The last work item.
    pub work: Option<WorkRecord>,
    /// The image last written to the disk, as it was when it was written.
    pub written: Option<Image>,
    /// Since when the disk may carry a seed of ours; set before a deployment is sent, none once that was erased.
    pub seed_since: Option<Time>,
    /// When the system was asked to shut down; none while nobody waits for that.
    pub soft_off: Option<Time>,
    /// URL of the virtual CD that may be in the host's drive, written before it is inserted; none once it was ejected.
    #[text(..=2048)]
    pub medium: Option<String>,
    /// When what failed may be tried again.
    pub retry: Option<RetryRecord>,
    /// What a machine said of itself that no BareMetalHost knows. A record with this is nobody's and gives nobody anything.
    pub discovered: Option<DiscoveredRecord>,
    /// What the agent, and its kernel if it was asked, said last when something failed.
    #[text(..=16384)]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log_tail: String,
    /// SMBIOS UUID of the machine that enrolled last.
    #[text(..=64)]
    pub smbios_uuid: Option<String>,
    /// Starts of one boot, counted by whichever boot server saw them.
    pub starts: Option<StartsRecord>,
    /// What happened, oldest first; at most [`HostRecordStatus::STORY_LINES`].
    #[list(atomic, ..=50)]
    pub story: Vec<StoryLine>,
}

impl HostRecordStatus {
    /// Lines kept of the story.
    pub const STORY_LINES: usize = 50;

    /// Adds a line to the story; the oldest goes when there are too many, and the end of a long one.
    pub fn tell(&mut self, at: Time, event: &str, detail: impl Into<String>) {
        let mut detail = detail.into();
        if let Some((end, _)) = detail.char_indices().nth(DETAIL) {
            detail.truncate(end);
        }
        self.story.push(StoryLine { at, event: event.to_owned(), detail });
        let surplus = self.story.len().saturating_sub(Self::STORY_LINES);
        self.story.drain(..surplus);
    }
}

/// How often a boot was started.
#[api(no_default)]
pub struct StartsRecord {
    /// Boot id.
    #[text(32..=36, ID)]
    pub boot: String,
    /// Starts.
    pub count: u32,
    /// When the last one was counted.
    pub last: Time,
}

/// An unknown machine's report. Nothing in it is proven.
#[api(no_default)]
pub struct DiscoveredRecord {
    /// When it last reported.
    pub at: Time,
    /// From which address.
    pub from: IpText,
    /// Its hardware addresses, lower case with colons.
    #[list(atomic, ..=64)]
    pub macs: Vec<String>,
    /// Serial number.
    #[text(..=256)]
    pub serial: Option<String>,
    /// SMBIOS UUID.
    #[text(..=64)]
    pub smbios_uuid: Option<String>,
    /// Maker of the system.
    #[text(..=256)]
    pub manufacturer: String,
    /// Product name of the system.
    #[text(..=256)]
    pub product_name: String,
    /// The whole inventory, as the agent protocol writes it.
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub hardware: Option<Value>,
}

/// One boot: everything served to the host until the next one.
#[api(no_default)]
pub struct BootRecord {
    /// Boot id.
    #[text(32..=36, ID)]
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
    /// Why the boot servers hold the host instead of booting it again: it asked for this boot again and again, and no agent
    /// enrolled.
    #[text(..=1024)]
    pub gave_up: Option<String>,
    /// URL of the virtual CD that the BMC is to show to the host for this boot; none for a boot from the network.
    #[text(..=2048)]
    pub media: Option<String>,
    /// URL of the live system that is booted.
    #[text(..=2048)]
    pub live: Option<String>,
    /// How far can be believed what was booted; none where that is not ours to say.
    pub trust: Option<BootTrust>,
    /// The ramdisk's network, as the agent protocol writes it; none for DHCP. The same for the whole boot.
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub network: Option<Value>,
}

/// What stands between a boot and whoever is on the boot network.
#[api]
pub enum BootTrust {
    /// Nothing: it came over plain DHCP, TFTP or HTTP.
    #[serde(rename = "plain")]
    Plain,
    /// Firmware loaded its first program over HTTPS and verified the server.
    #[serde(rename = "https")]
    Https,
    /// The BMC fetched the medium over HTTPS, and says that it verified the server.
    #[serde(rename = "media")]
    Media,
    /// Firmware verified the signature of what it booted.
    #[serde(rename = "secureboot")]
    Secureboot,
}

impl BootTrust {
    /// Whether somebody on the boot network could not have given the host another system.
    #[must_use]
    pub fn is_trusted(self) -> bool {
        self != Self::Plain
    }
}

/// What a host shall boot.
#[api]
pub enum BootTarget {
    /// Nothing is answered.
    Nothing,
    /// The ramdisk.
    Ramdisk,
    /// The system on its disk.
    LocalDisk,
    /// A live system, each time.
    LiveIso,
    /// It should be off.
    PowerOff,
}

/// Steps of bringing a host into its target; each is an intent until the next one is written.
#[api]
pub enum BootStep {
    /// What an earlier boot left in the virtual drive is to go, and the medium of this one to be inserted.
    Insert,
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
    /// The medium is to be ejected, once the host is off, before it may boot its disk.
    Eject,
    /// The BMC has reset the host, or its medium is out: whatever it boots next is its target.
    Left,
}

/// The agent last heard.
#[api]
#[serde(default)]
pub struct AgentRecord {
    /// Its version.
    pub version: String,
    /// `ramdisk` or `node`.
    #[words("ramdisk", "node")]
    pub role: String,
    /// Whether its stream was open when this was written.
    pub connected: bool,
    /// When this was written, or when the stream was lost.
    pub last_seen: Option<Time>,
    /// The boot of a ramdisk agent.
    #[text(32..=36, ID)]
    pub boot_id: Option<String>,
    /// How far a node agent was.
    pub node_phase: Option<String>,
}

/// Which key stands for the installed system of a claim: bootstrap data goes to no other.
#[api(no_default)]
#[derive(Eq)]
pub struct NodeKeyRecord {
    /// `<namespace>/<metal3machine>`.
    pub claim: String,
    /// SHA-256 of its SubjectPublicKeyInfo.
    #[text(64..=64, SHA256)]
    pub sha256: String,
}

/// One attempt at one work item, written before it is sent.
#[api(no_default)]
pub struct WorkRecord {
    /// Work id.
    #[text(32..=36, ID)]
    pub id: String,
    /// What it is.
    pub kind: WorkKind,
    /// SHA-256 of the payload: an equal payload needs no new item.
    #[text(64..=64, SHA256)]
    pub payload_digest: String,
    /// 1 for the first attempt with that payload.
    #[number(1..)]
    pub attempt: i32,
    /// When the agent must give up.
    pub deadline: Time,
    /// `<namespace>/<metal3machine>`.
    pub claim: Option<String>,
    /// How far it is.
    pub progress: Option<ProgressRecord>,
    /// How it ended, as the agent protocol writes it.
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub outcome: Option<Value>,
}

/// Kinds of work items.
#[api]
pub enum WorkKind {
    /// Report the hardware.
    Inspect,
    /// Erase disks.
    Erase,
    /// Write an image.
    Deploy,
    /// End the ramdisk.
    Leave,
}

/// How far a work item is; written every few seconds at most.
#[api(no_default)]
#[derive(Eq)]
pub struct ProgressRecord {
    /// What is being done.
    pub phase: String,
    /// Bytes done.
    #[number(0..)]
    pub done: i64,
    /// Bytes in all, when known.
    #[number(0..)]
    pub total: Option<i64>,
    /// When this was written.
    pub at: Time,
}

/// When what failed may be tried again.
#[api(no_default)]
#[derive(Eq)]
pub struct RetryRecord {
    /// Not before; none for not before somebody edits the host.
    pub not_before: Option<Time>,
    /// Failures in a row.
    #[number(0..)]
    pub failures: i32,
    /// The host's generation at the last failure: an edit of its spec ends the wait.
    pub generation: i64,
    /// What kind of failure the last one was; shown again should it be missing in the host's status.
    pub kind: Option<ErrorType>,
    /// What the last failure was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// One line of a host's story.
#[api(no_default)]
#[derive(Eq)]
pub struct StoryLine {
    /// When.
    pub at: Time,
    /// What, in one or two words.
    #[text(1..=64)]
    pub event: String,
    /// More of it.
    #[text(..=1024)]
    pub detail: String,
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

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let mut status = HostRecordStatus::default();
        status.tell(Time(Timestamp::UNIX_EPOCH), "event", "é".repeat(2000));
        assert_eq!(status.story.last().unwrap().detail, "é".repeat(DETAIL));
    }
}
