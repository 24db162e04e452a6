//! The questions that the boot server asks about a machine. The embedding program answers them; this room never infers
//! an answer.

use std::net::Ipv4Addr;

use bytes::Bytes;
use uuid::Uuid;

use crate::identity::{BootId, ClientArch, MacAddr};
use crate::pool::Pool;

/// What a machine told about itself in a DHCP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The hardware address it asked from.
    pub mac: MacAddr,
    /// The SMBIOS UUID of option 97, the octets in the order they arrived. Firmware sends the first three fields
    /// little-endian, iPXE may not: compare in both byte orders.
    pub smbios_uuid: Option<Uuid>,
    /// The (first) architecture of option 93; only boot clients send it.
    pub arch: Option<ClientArch>,
    /// The interface of ours that heard it.
    pub interface: String,
}

/// What a machine shall boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootTarget {
    /// Nothing to say to its firmware: boot requests get no answer. An operating system on it still gets its lease.
    Nothing,
    /// Our ramdisk, with the overlay of this boot.
    Ramdisk {
        /// The boot that everything served from here on belongs to.
        boot_id: BootId,
    },
    /// The system on its disk.
    LocalDisk,
    /// It should be off. Its firmware is held in iPXE until the power is cut or the target changes.
    PowerOff,
}

/// The address of one machine. Netmask, router and lease time are the subnet's, see [`crate::Config`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The address it may use.
    pub address: Ipv4Addr,
}

/// The files that one boot adds to the ramdisk.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Overlay {
    /// The files; directories above them are made where missing.
    pub files: Vec<OverlayFile>,
    /// Only this address may fetch anything of this boot. `None` if no lease is known: then any may.
    pub address: Option<Ipv4Addr>,
}

impl std::fmt::Debug for Overlay {
    /// Names and sizes only: the contents are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Overlay").field("files", &self.files).field("address", &self.address).finish()
    }
}

/// One file of an [`Overlay`].
#[derive(Clone, PartialEq, Eq)]
pub struct OverlayFile {
    /// Path from the ramdisk's root, such as `etc/bessemer/agent.json`.
    pub path: String,
    /// Permission bits, such as `0o600`.
    pub mode: u32,
    /// The content.
    pub content: Bytes,
}

impl std::fmt::Debug for OverlayFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:o}, {} bytes)", self.path, self.mode, self.content.len())
    }
}

/// One step of a machine's boot, for whoever tells its story. Serving something proves nothing about the machine's
/// state: what it says of itself does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootEvent {
    /// An address was offered, with the boot file named to the client, if it was a boot client.
    Offered {
        /// Who asked.
        client: ClientIdentity,
        /// What it may use.
        lease: Lease,
        /// Boot file name or URL.
        boot_file: Option<String>,
    },
    /// An address was confirmed; the same fields.
    Acknowledged {
        /// Who asked.
        client: ClientIdentity,
        /// What it may use.
        lease: Lease,
        /// Boot file name or URL.
        boot_file: Option<String>,
    },
    /// The client found its address in use by somebody else (DHCPDECLINE).
    Declined {
        /// Who asked.
        client: ClientIdentity,
        /// The address that is not free.
        address: Ipv4Addr,
    },
    /// Part of a boot is being sent.
    Served {
        /// Which boot.
        boot_id: BootId,
        /// `boot.ipxe`, `kernel` or `initrd`.
        file: &'static str,
        /// Who fetches it.
        peer: Ipv4Addr,
        /// Octets sent, the whole file or the range asked for.
        bytes: u64,
    },
}

/// A question could not be answered; the client is left unanswered and asks again.
#[derive(Debug, thiserror::Error)]
#[error("the host directory cannot answer: {0}")]
pub struct DirectoryError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

impl DirectoryError {
    /// Wraps the directory's own error (or a text).
    pub fn new(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(source.into())
    }
}

/// Who the machines are. Called from many tasks at once; every call has a deadline of [`crate::Config::DIRECTORY_DEADLINE`],
/// after which it is dropped at its next await.
#[async_trait::async_trait]
pub trait HostDirectory: Send + Sync {
    /// What this machine shall boot. Asked on each DHCP request of a boot client that has a lease; a stable answer within one boot is the
    /// directory's business (a firmware and its iPXE ask at least four times).
    async fn boot_target(&self, who: &ClientIdentity) -> Result<BootTarget, DirectoryError>;

    /// This machine's address; `None` for an unknown one, which is then left in silence. Stable for a MAC, and stored
    /// before it is returned. [`Pool::pick`] chooses from the pool.
    async fn lease(&self, who: &ClientIdentity, pool: &Pool) -> Result<Option<Lease>, DirectoryError>;

    /// The overlay of one boot: the same bytes each time, `None` once it may no longer be fetched (the client sees 404).
    async fn overlay(&self, boot_id: &BootId) -> Result<Option<Overlay>, DirectoryError>;

    /// Told of each answer given. Must not block for long: the exchange waits for it.
    async fn observed(&self, event: BootEvent) {
        let _ = event;
    }
}
