//! What the boot server asks about a machine.

use std::net::IpAddr;

use async_trait::async_trait;
use bessemer_protocol::{BootId, HostId, NetworkConfig};
use jiff::Timestamp;
use uuid::Uuid;

/// What a machine shall boot, as stored by the BareMetalHost's `decide`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootTargetView {
    /// No host has one of these MACs, or it is not to be touched.
    Unknown,
    /// The ramdisk.
    Ramdisk {
        /// Of this boot.
        boot: BootId,
    },
    /// The ramdisk without any secret, to learn what an unknown machine is.
    Discover {
        /// Of this boot, which nobody can enrol with.
        boot: BootId,
    },
    /// The system on its disk.
    LocalDisk,
    /// A live system.
    LiveIso {
        /// Its files' name: the URL is for the script alone.
        boot: BootId,
        /// Where the ISO is served.
        url: String,
    },
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
    /// It boots from a virtual CD, which its BMC fetches from an address of its own.
    pub media: bool,
    /// Its leased addresses; none before its first lease.
    pub addresses: Vec<IpAddr>,
    /// When the boot was made: the overlay's clock, the same bytes at each fetch.
    pub issued: Timestamp,
    /// The ramdisk's network; none for DHCP. The same for the whole boot.
    pub network: Option<NetworkConfig>,
}

/// What there is of a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootFilesView {
    /// It may be fetched.
    Ready(BootView),
    /// The boot of an unknown machine: its overlay holds no secret.
    Discover {
        /// When it was made.
        issued: Timestamp,
    },
    /// A live system is booted, which somebody else serves.
    Live {
        /// Where.
        url: String,
        /// The host's leased addresses; none before its first lease.
        addresses: Vec<IpAddr>,
    },
    /// It may no longer be fetched: the agent opened its stream, or the time is over.
    Over,
    /// Nobody knows it.
    Unknown,
}

/// No address can be had: all are taken, or the machine's reserved one cannot be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoAddress(pub String);

/// The addresses of one subnet; the rule of choice is the boot server's.
pub trait AddressPool: Send + Sync {
    /// The subnet in CIDR form, for the lease's record.
    fn subnet(&self) -> String;

    /// Whether a remembered lease still is one of this pool.
    fn contains(&self, address: IpAddr) -> bool;

    /// How many addresses there are to pick from.
    fn size(&self) -> u128;

    /// Whether a machine of this subnet can have an address that a person reserved for it, in the pool or beside it.
    ///
    /// # Errors
    /// [`NoAddress`] with the reason.
    fn reserve(&self, address: IpAddr) -> Result<(), NoAddress>;

    /// A free address for `mac`.
    ///
    /// # Errors
    /// [`NoAddress`] when all are `taken`.
    fn pick(&self, mac: &str, taken: &dyn Fn(IpAddr) -> bool) -> Result<IpAddr, NoAddress>;
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
    /// All addresses are taken, or the reserved one cannot be given.
    #[error(transparent)]
    NoAddress(#[from] NoAddress),
}

/// Whose machine asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhoseView {
    /// A host's.
    Host,
    /// Nobody's.
    Nobody,
    /// It cannot be told, for this reason: what it says of itself is of several hosts, or contradicts what is known. None
    /// is picked, and it is no stranger either.
    Contradiction(String),
}

/// Who the machines are. MACs are lower case with colons.
#[async_trait]
pub trait BootDirectory: Send + Sync {
    /// Whose machine this is, as far as the caches know. The UUID is as it arrived, in either byte order.
    fn whose(&self, macs: &[String], smbios_uuid: Option<Uuid>) -> WhoseView;

    /// What the machine with these MACs shall boot.
    ///
    /// # Errors
    /// [`DirectoryError::Api`].
    async fn target(&self, macs: &[String]) -> Result<BootTargetView, DirectoryError>;

    /// The machine's address in the pool's subnet, picked and stored as a BootLease at its first request; none for an
    /// unknown one. Several boot servers over one API never give one address to two machines. `boots`: it is a boot client,
    /// no running system.
    ///
    /// # Errors
    /// [`DirectoryError`].
    async fn lease(
        &self,
        macs: &[String],
        boots: bool,
        pool: &dyn AddressPool,
    ) -> Result<Option<IpAddr>, DirectoryError>;

    /// The machine found its address in use by another one: it gets another, and nobody that one for a while. Only the
    /// address that is leased to it is withdrawn.
    ///
    /// # Errors
    /// [`DirectoryError`].
    async fn declined(&self, macs: &[String], address: IpAddr) -> Result<(), DirectoryError>;

    /// The boot behind an overlay.
    ///
    /// # Errors
    /// [`DirectoryError::Api`].
    async fn boot(&self, boot: BootId) -> Result<BootFilesView, DirectoryError>;

    /// A machine starts this boot; asked once for each start. How often that happened by now, whichever boot server saw it;
    /// none for a boot that is no host's.
    ///
    /// # Errors
    /// [`DirectoryError`].
    async fn started(&self, boot: BootId) -> Result<Option<u32>, DirectoryError>;

    /// The machine asked for this boot's files again and again, and no agent enrolled: `why` says what was seen. It is to
    /// be powered off with that reason.
    ///
    /// # Errors
    /// [`DirectoryError::Api`].
    async fn gave_up(&self, boot: BootId, why: &str) -> Result<(), DirectoryError>;
}
