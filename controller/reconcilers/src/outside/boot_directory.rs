//! What the boot server asks about a machine.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use async_trait::async_trait;
use bessemer_protocol::{BootId, HostId};
use jiff::Timestamp;

/// What a machine shall boot, as stored by the BareMetalHost's `decide`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootTargetView {
    /// No host has this MAC as its boot MAC, or it is not to be touched.
    Unknown,
    /// The ramdisk.
    Ramdisk {
        /// Of this boot.
        boot: BootId,
    },
    /// The system on its disk.
    LocalDisk,
    /// It should be off; nothing on its disk may boot.
    PowerOff,
}

/// One boot whose overlay may be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootView {
    /// Which host boots.
    pub host: HostId,
    /// Its BareMetalHost's namespace.
    pub namespace: String,
    /// Its BareMetalHost's name.
    pub name: String,
    /// Its boot MAC, lower case with colons.
    pub mac: String,
    /// Its leased address; none before its first lease.
    pub address: Option<Ipv4Addr>,
    /// When the boot was made: the overlay's clock, the same bytes at each fetch.
    pub issued: Timestamp,
}

/// No address can be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoAddress(pub String);

/// The addresses of one subnet; the rule of choice is the boot server's.
pub trait AddressPool: Send + Sync {
    /// The subnet in CIDR form, for the lease's record.
    fn subnet(&self) -> String;

    /// Whether a remembered lease still is one of this pool.
    fn contains(&self, address: Ipv4Addr) -> bool;

    /// A free address for `mac`.
    ///
    /// # Errors
    /// [`NoAddress`] when all are taken.
    fn pick(&self, mac: &str, taken: &BTreeSet<Ipv4Addr>) -> Result<Ipv4Addr, NoAddress>;
}

/// A question that could not be answered; the machine asks again.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The Kubernetes API did not answer as it should.
    #[error("cannot look up {what} in the Kubernetes API")]
    Api {
        /// The object or question.
        what: String,
        /// What the client says.
        #[source]
        source: Box<kube::Error>,
    },
    /// Somebody else is writing the same thing.
    #[error("{0}")]
    Busy(String),
    /// All addresses are taken.
    #[error(transparent)]
    NoAddress(#[from] NoAddress),
}

/// Who the machines are. MACs are lower case with colons.
#[async_trait]
pub trait BootDirectory: Send + Sync {
    /// What this machine shall boot.
    ///
    /// # Errors
    /// [`DirectoryError::Api`].
    async fn target(&self, mac: &str) -> Result<BootTargetView, DirectoryError>;

    /// The machine's address, picked and stored as a BootLease at its first request; none for an unknown MAC.
    ///
    /// # Errors
    /// [`DirectoryError`].
    async fn lease(&self, mac: &str, pool: &dyn AddressPool) -> Result<Option<Ipv4Addr>, DirectoryError>;

    /// The boot behind an overlay; none when it is unknown, expired, or spent because its agent opened its stream.
    ///
    /// # Errors
    /// [`DirectoryError::Api`].
    async fn boot(&self, boot: BootId) -> Result<Option<BootView>, DirectoryError>;
}
