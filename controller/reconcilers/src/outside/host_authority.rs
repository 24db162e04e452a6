//! What the agents' endpoint asks before it lets anyone in.

use std::net::IpAddr;

use async_trait::async_trait;
use bessemer_protocol::{BootId, Bootstrap, DiscoverRequest, DiscoverResponse, HardwareIdentity, HostId, WorkId};

/// Who a client certificate says its holder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentIdentity {
    /// The host.
    pub host: HostId,
    /// In which life.
    pub role: RoleIdentity,
}

/// The part of a certificate that depends on the role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleIdentity {
    /// The ramdisk, good for one boot.
    Ramdisk {
        /// Which.
        boot: BootId,
    },
    /// The installed system, good for one claim.
    Node {
        /// `<namespace>/<metal3machine>`.
        claim: String,
    },
}

/// A refusal with its reason, fit to be told to the agent and shown to a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// Lower case, no trailing stop, no secret.
    pub message: String,
    /// Whether asking again later can help.
    pub retry: bool,
}

impl Refused {
    /// A refusal that time does not change.
    pub fn for_good(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry: false }
    }

    /// A refusal for now.
    pub fn for_now(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry: true }
    }
}

/// Decides by the current objects who may do what. Asked on each request; answers change when objects do.
#[async_trait]
pub trait HostAuthority: Send + Sync {
    /// May a machine of this identity enrol as that boot? The token is the caller's business. One of its MACs must be
    /// the host's boot MAC, and a serial number or UUID that contradicts what is known refuses. Remembers the
    /// enrolment; safe to repeat.
    ///
    /// # Errors
    /// [`Refused`] for an unknown, expired or spent boot, or another machine.
    async fn admit(&self, boot: BootId, identity: &HardwareIdentity, agent_version: &str) -> Result<HostId, Refused>;

    /// Is this certificate still good?
    ///
    /// # Errors
    /// [`Refused`] when the boot is over, or the host released or claimed by another.
    async fn authorise(&self, who: &AgentIdentity) -> Result<(), Refused>;

    /// The claim of the host's open `Deploy` item, to go into a node certificate.
    ///
    /// # Errors
    /// [`Refused`] if that item is not open.
    async fn deploying(&self, host: HostId, work: WorkId) -> Result<String, Refused>;

    /// A node certificate for this claim is about to be handed out, for the key of this digest (SHA-256 of its
    /// SubjectPublicKeyInfo, lower-case hexadecimal). Remembers it in place of any earlier one: the disk that held that
    /// one is being written anew.
    ///
    /// # Errors
    /// [`Refused`] when it cannot be remembered; the certificate is then withheld.
    async fn certified(&self, host: HostId, claim: &str, key: &str) -> Result<(), Refused>;

    /// Is this the key that was last [`Self::certified`] for the claim? Yes, too, when none is remembered, as of a host
    /// whose record was deleted.
    ///
    /// # Errors
    /// [`Refused`] for another key.
    async fn holds_key(&self, host: HostId, claim: &str, key: &str) -> Result<(), Refused>;

    /// The bootstrap data for the host's claim.
    ///
    /// # Errors
    /// [`Refused`]; with `retry` while the data does not exist yet.
    async fn bootstrap(&self, host: HostId, claim: &str) -> Result<Bootstrap, Refused>;

    /// Two keys came for one boot while the first was connected: something else has the boot's token. The endpoint has
    /// ended both; this tells people, and lets the host be booted anew.
    async fn contested(&self, host: HostId, boot: BootId);

    /// A machine without token or certificate says what it is. The default is a site without discovery.
    ///
    /// # Errors
    /// [`Refused`] where discovery is off, or no more machines are taken in.
    async fn discovered(&self, from: IpAddr, report: &DiscoverRequest) -> Result<DiscoverResponse, Refused> {
        let (_, _) = (from, report);
        Err(Refused::for_good("discovery is off at this site: register the machine's MAC as a BareMetalHost"))
    }
}
