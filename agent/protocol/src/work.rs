//! Work items: what the controller asks of an agent, and what the agent answers.

use serde::{Deserialize, Serialize};

use crate::{
    BootReport, Digest, Disk, DiskIdentity, Erase, EraseReport, HardwareDetails, HostId, Image, LeaveHow, LeaveReport,
    RootDeviceHints, Seed, SetBootEntry, WorkId,
};

/// One thing to do, once. The agent answers an id it knows with the stored state and never does it twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkItem {
    /// Stored by the controller before this was sent.
    pub id: WorkId,
    /// The agent refuses an item for another host.
    pub host_id: HostId,
    /// `<namespace>/<metal3machine>` that the work is for; none for work on an unclaimed host.
    pub claim: Option<String>,
    /// Seconds since the epoch after which the item must not be started or go on.
    pub deadline: i64,
    /// What to do.
    pub work: Work,
}

/// The kinds of work of the ramdisk role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Work {
    /// Report the hardware.
    Inspect,
    /// Erase disks.
    Erase(Erase),
    /// Write an image and its seed to the root disk.
    Deploy(Deploy),
    /// Make the firmware boot the root disk.
    SetBootEntry(SetBootEntry),
    /// Write the seed again beside an image that is on the root disk already.
    WriteSeed(WriteSeed),
    /// Report what the agent and the kernel have said last. Answered at once, also while another item is worked on.
    Collect,
    /// End the ramdisk. The answer is sent before it happens.
    Leave {
        /// In which way.
        how: LeaveHow,
    },
}

/// Payload of [`Work::Deploy`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deploy {
    /// Where the image is, in order of preference: `http://`, `https://` or `oci://` URLs.
    pub sources: Vec<String>,
    /// What the image is.
    pub image: Image,
    /// Which disk to write; Metal3's semantics.
    pub root: RootDeviceHints,
    /// The disk that the hints chose of an inspection's. Where they choose another one by now, nothing is touched. Without it they alone decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskIdentity>,
    /// Disks to leave wholly alone, as an inspection found them. One that is not there, that the hints choose or that carries a seed ends
    /// the item before anything is touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<DiskIdentity>,
    /// What to leave beside it.
    pub seed: Seed,
}

/// Payload of [`Work::WriteSeed`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteSeed {
    /// The disk that the image was written to. It must have a seed partition.
    pub root: RootDeviceHints,
    /// As [`Deploy::disk`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskIdentity>,
    /// As [`Deploy::keep`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<DiskIdentity>,
    /// What takes the place of the seed that is there.
    pub seed: Seed,
}

/// How an item ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "outcome")]
pub enum Outcome {
    /// Wholly done.
    Done {
        /// What came of it.
        report: Report,
    },
    /// Not done; what was begun has been made harmless.
    Failed(Failure),
}

/// What came of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "of")]
pub enum Report {
    /// Of [`Work::Inspect`].
    Inspected {
        /// The inventory.
        hardware: Box<HardwareDetails>,
    },
    /// Of [`Work::Erase`].
    Erased(EraseReport),
    /// Of [`Work::Deploy`].
    Deployed(DeployReport),
    /// Of [`Work::SetBootEntry`].
    BootEntrySet(BootReport),
    /// Of [`Work::WriteSeed`].
    Seeded {
        /// The disk.
        disk: Box<Disk>,
    },
    /// Of [`Work::Collect`], each oldest first, of at most [`crate::MAX_LOG_LINE`] characters, with what looks like a secret masked.
    Collected {
        /// The end of what the agent said on its console.
        agent: Vec<String>,
        /// The end of what the kernel said.
        kernel: Vec<String>,
    },
    /// Of [`Work::Leave`], sent just before it happens.
    Leaving(LeaveReport),
}

/// What a deploy did, as read back from the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeployReport {
    /// The disk.
    pub disk: Box<Disk>,
    /// Bytes fetched.
    pub fetched_bytes: u64,
    /// Bytes of the image on the disk.
    pub image_bytes: u64,
    /// Digest of the fetched bytes, equal to the one wanted.
    pub digest: Digest,
    /// What the bytes were, such as `raw in zstd` or `qcow2`.
    pub format: String,
    /// `number name first-last` of each partition as re-read, in sectors.
    pub partitions: Vec<String>,
    /// How the firmware finds it.
    pub boot: BootReport,
    /// What was left undone or done otherwise, in words: a root that the installed system has to grow, a cut source.
    pub notes: Vec<String>,
}

/// Why an item failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// For programs.
    pub code: FailureCode,
    /// For people: what, which value, what would help.
    pub message: String,
}

/// The situations that the controller tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FailureCode {
    /// The item was not for this host or was too late.
    Refused,
    /// No disk satisfies the hints.
    NoRootDevice,
    /// No source gave the image.
    FetchFailed,
    /// The fetched bytes are not those wanted. Nothing bootable was left.
    DigestMismatch,
    /// The image cannot be read or does not fit.
    BadImage,
    /// The disk would not take it.
    WriteFailed,
    /// A disk is not the one that the item means, or a disk to be kept is not there or in the way. Nothing was touched.
    WrongDisk,
    /// A disk is not erased, or it could not be proven. The host must not go to anybody else.
    EraseFailed,
    /// The firmware's boot entries could not be set.
    BootEntryFailed,
    /// The item's deadline passed.
    Late,
    /// Anything else in the agent.
    Internal,
}
