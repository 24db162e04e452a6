//! What a decision may do to the world, one at a time, and what comes of it.

use std::fmt;

use bessemer_bmc::{BmcError, BootOverride, Identity, PowerAction};
use bessemer_protocol::{Work, WorkId, WorkItem};

/// One act outside the Kubernetes API.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Prove address and credentials of the BMC.
    Identify,
    /// Show the image at this URL to the host as a virtual CD.
    Insert(String),
    /// Empty the host's virtual drives.
    Eject,
    /// Choose what the host boots next.
    SetOverride(BootOverride),
    /// Change power.
    Power(PowerAction),
    /// Hand a work item to the agent.
    Send(Box<WorkItem>),
    /// Tell the agent that a result is stored.
    Stored(WorkId),
    /// End the agent's stream and certificate, and forget the BMC.
    LetGo {
        /// Why.
        reason: &'static str,
    },
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identify => f.write_str("identify"),
            Self::Insert(url) => write!(f, "insert a virtual cd from {}", origin(url)),
            Self::Eject => f.write_str("eject the virtual cd"),
            Self::SetOverride(wanted) => write!(f, "boot override {wanted}"),
            Self::Power(action) => action.fmt(f),
            Self::Send(item) => {
                let work = match item.work {
                    Work::Inspect => "inspect",
                    Work::Erase(_) => "erase",
                    Work::Deploy(_) => "deploy",
                    Work::SetBootEntry(_) => "set the boot entry",
                    Work::WriteSeed(_) => "write seed",
                    Work::Collect => "collect logs",
                    Work::Leave { .. } => "leave",
                };
                write!(f, "send {work} {}", item.id)
            }
            Self::Stored(work) => write!(f, "result of {work} stored"),
            Self::LetGo { reason } => write!(f, "let go: {reason}"),
        }
    }
}

/// Scheme, host and port of a URL. Whoever knows more of a medium of ours can fetch its token.
pub(crate) fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    format!("{scheme}://{}", authority.rsplit('@').next().unwrap_or_default())
}

/// How an effect went.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// As asked.
    Done,
    /// The BMC let us in.
    Identified {
        /// Who it is.
        identity: Identity,
        /// Whether the server is on.
        powered_on: bool,
    },
    /// The virtual CD is in the drive.
    Inserted {
        /// The BMC says that it verified the server it comes from.
        verified: bool,
    },
    /// Not as asked.
    Failed(BmcFailure),
    /// The agent is away; it will be asked again when it is back.
    AgentAway,
}

/// A BMC's failure, as far as decisions depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BmcFailure {
    /// For people.
    pub(crate) message: String,
    /// Waiting may heal it.
    pub(crate) transient: bool,
    /// The credentials were refused.
    pub(crate) refused: bool,
}

impl From<&BmcError> for BmcFailure {
    fn from(error: &BmcError) -> Self {
        Self {
            message: error.to_string(),
            transient: error.is_transient(),
            refused: matches!(error, BmcError::BadCredentials { .. }),
        }
    }
}
