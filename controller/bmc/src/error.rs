//! The situations a caller must tell apart.

use std::time::Duration;

/// Why something asked of a BMC did not happen.
#[derive(Debug, thiserror::Error)]
pub enum BmcError {
    /// The address cannot be used as it is written; only an edit heals it.
    #[error("bmc address {address:?}: {problem}")]
    BadAddress {
        /// The address as given, without anything that may be a secret.
        address: String,
        /// The part that is wrong, and what is accepted.
        problem: String,
    },
    /// The BMC answered and refused this user or password; only new credentials heal it, and repeating it may lock
    /// the account.
    #[error("bmc {address} refuses user {user:?}: {why}")]
    BadCredentials {
        /// Where.
        address: String,
        /// Who.
        user: String,
        /// As much as the BMC tells: a wrong name, a wrong password, too low a privilege.
        why: String,
    },
    /// Nothing usable came back in time.
    #[error("bmc {address} is unreachable: {why} (gave up after {deadline:?})")]
    Unreachable {
        /// Where.
        address: String,
        /// How long we tried.
        deadline: Duration,
        /// What the network said, or that it said nothing.
        why: String,
    },
    /// The BMC answered that it cannot do this now; it asks to be asked again.
    #[error("bmc {address} is busy, {act}: {why}")]
    Busy {
        /// Where.
        address: String,
        /// What was asked.
        act: String,
        /// What it answered.
        why: String,
    },
    /// This BMC, or this version of ours, cannot do that at all.
    #[error("{act} is not supported: {why}")]
    Unsupported {
        /// What was asked.
        act: String,
        /// Which limit it meets.
        why: String,
    },
    /// What was asked for is wrong in itself; only asking for something else heals it.
    #[error("bmc {address}, {act}: {why}")]
    Refused {
        /// Where.
        address: String,
        /// What was asked.
        act: String,
        /// What is wrong with it, and what would be accepted.
        why: String,
    },
    /// The BMC accepted a write and reads back something else.
    #[error("bmc {address} accepted {wrote} and reads back {read}")]
    Contradicted {
        /// Where.
        address: String,
        /// What was written.
        wrote: String,
        /// What it says instead.
        read: String,
    },
    /// The BMC accepted a write and had not applied it by the deadline.
    #[error("bmc {address} accepted {wrote} and still reads {read} after {deadline:?}")]
    NotApplied {
        /// Where.
        address: String,
        /// What was written.
        wrote: String,
        /// What it still says.
        read: String,
        /// How long it was given.
        deadline: Duration,
    },
    /// The answer to an act got lost that cannot be read back: it may have been carried out. Repeating it may do it twice,
    /// which is for the caller to judge.
    #[error("bmc {address}, {act}: {why}; it may have been carried out all the same")]
    Uncertain {
        /// Where.
        address: String,
        /// What was asked.
        act: String,
        /// What became of the answer.
        why: String,
    },
    /// The BMC answered in a way the protocol does not allow for, or refused for a reason of its own.
    #[error("bmc {address}, {act}: {why}")]
    Protocol {
        /// Where.
        address: String,
        /// What was asked.
        act: String,
        /// What came back.
        why: String,
    },
}

impl BmcError {
    /// Whether the same call may succeed later with nobody changing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Busy { .. } | Self::NotApplied { .. } | Self::Protocol { .. } => true,
            Self::BadAddress { .. }
            | Self::BadCredentials { .. }
            | Self::Unsupported { .. }
            | Self::Refused { .. }
            | Self::Uncertain { .. }
            | Self::Contradicted { .. } => false,
        }
    }
}
