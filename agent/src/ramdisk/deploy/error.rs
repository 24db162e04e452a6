//! Why nothing was deployed, and what became of the disk.

use bessemer_protocol::{Digest, FailureCode};

use crate::link::LinkError;
use crate::ramdisk::root;

/// Why nothing was deployed.
#[derive(Debug, thiserror::Error)]
pub(in crate::ramdisk) enum DeployError {
    /// See [`root::NoRoot`].
    #[error(transparent)]
    NoRoot(#[from] root::NoRoot),
    /// No certificate for the installed host.
    #[error("certificate for the installed host: {0}")]
    Certificate(LinkError),
    /// No source gave the whole image.
    #[error("no source gave the image: {0}")]
    Fetch(String),
    /// What came is not what was wanted.
    #[error("image digest is {got}, wanted {wanted}")]
    Digest {
        /// Of what came.
        got: Digest,
        /// Of what should have come.
        wanted: Digest,
    },
    /// The image cannot be decoded, has no usable partition table or does not fit.
    #[error("image: {0}")]
    BadImage(String),
    /// The seed cannot be written as it was ordered.
    #[error("seed: {0}")]
    BadSeed(String),
    /// A new seed would leave the installed host without an identity. Nothing was written.
    #[error("{disk}: the seed has no identity for {claim} that could be kept ({why}): deploy the host again")]
    NoIdentity {
        /// Device path.
        disk: String,
        /// Whose identity it should be.
        claim: String,
        /// What is there.
        why: String,
    },
    /// Another disk carries what this host could take for its seed, and it must stay. Nothing was touched.
    #[error("{0}")]
    SeedInTheWay(String),
    /// Another disk would be taken for this host's seed.
    #[error("{0}")]
    StaleSeed(String),
    /// The disk.
    #[error("{disk}: {action}: {cause}")]
    Disk {
        /// Device path.
        disk: String,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        cause: String,
    },
    /// The firmware's boot entries.
    #[error("boot entry: {0}")]
    BootEntry(String),
    /// The item's time ran out.
    #[error("deadline passed while {0}")]
    Late(&'static str),
    /// It failed before anything was written.
    #[error("{0}; the disk is as it was")]
    Untouched(Box<DeployError>),
    /// It failed after the old tables were destroyed, and both ends of the disk are zero again.
    #[error("{0}; the disk was not made bootable")]
    Scrubbed(Box<DeployError>),
    /// As `Scrubbed`, but they may not be zero.
    #[error(
        "{cause}; {disk} could not be scrubbed after that ({scrub}) and may boot what is half-written: wipe it first"
    )]
    Unscrubbed {
        /// What failed first.
        cause: Box<DeployError>,
        /// Device path.
        disk: String,
        /// Why it could not be scrubbed.
        scrub: String,
    },
    /// It failed after seeds were removed from other disks.
    #[error("{cause}; {}", removed.join("; "))]
    SeedsRemoved {
        /// What failed.
        cause: Box<DeployError>,
        /// Each of them, in words.
        removed: Vec<String>,
    },
    /// A thread ended without an answer.
    #[error("internal: {0}")]
    Internal(String),
}

impl DeployError {
    /// An error of the disk.
    pub(super) fn disk(disk: &str, action: &'static str, cause: &dyn std::fmt::Display) -> Self {
        Self::Disk { disk: disk.to_owned(), action, cause: cause.to_string() }
    }

    /// `cause`, and what was done to other disks before.
    pub(super) fn after(removed: Vec<String>, cause: Self) -> Self {
        if removed.is_empty() { cause } else { Self::SeedsRemoved { cause: Box::new(cause), removed } }
    }

    /// For the controller to tell situations apart.
    pub(in crate::ramdisk) fn code(&self) -> FailureCode {
        match self {
            Self::NoRoot(root::NoRoot::None(_)) => FailureCode::NoRootDevice,
            Self::NoRoot(_) | Self::SeedInTheWay(_) => FailureCode::WrongDisk,
            Self::Certificate(_) | Self::Internal(_) => FailureCode::Internal,
            Self::Late(_) => FailureCode::Late,
            Self::Fetch(_) => FailureCode::FetchFailed,
            Self::Digest { .. } => FailureCode::DigestMismatch,
            Self::BadImage(_) => FailureCode::BadImage,
            Self::BadSeed(_) | Self::NoIdentity { .. } => FailureCode::Refused,
            Self::BootEntry(_) => FailureCode::BootEntryFailed,
            Self::Disk { .. } | Self::StaleSeed(_) => FailureCode::WriteFailed,
            Self::Untouched(cause)
            | Self::Scrubbed(cause)
            | Self::Unscrubbed { cause, .. }
            | Self::SeedsRemoved { cause, .. } => cause.code(),
        }
    }

    /// Whether another source of the same image may do better.
    pub(super) fn is_of_the_source(&self) -> bool {
        matches!(self, Self::Fetch(_) | Self::Digest { .. } | Self::BadImage(_))
    }
}
