//! The questions that the boot server asks about a machine. The embedding program answers them; this room never infers
//! an answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::client::ClientIdentity;
use crate::config::{PoolV6Exhausted, Subnet, SubnetV6};
use crate::identity::BootId;
use crate::overlay::BootFiles;
use crate::pool::PoolExhausted;
use crate::trace::Exchange;

/// What a machine shall boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootTarget {
    /// Nothing to say to its firmware: boot requests get no answer. An operating system on it still gets its lease.
    Nothing,
    /// Our ramdisk, with the overlay of this boot.
    Ramdisk {
        /// The boot that everything served from here on belongs to.
        boot_id: BootId,
    },
    /// Our ramdisk for an unknown machine, to learn what it is: the overlay of this boot holds no secrets.
    Discover {
        /// As for `Ramdisk`.
        boot_id: BootId,
    },
    /// The system on its disk.
    LocalDisk,
    /// A live system that somebody else serves.
    LiveIso {
        /// As for `Ramdisk`: its script is [`crate::BootFiles::Live`].
        boot_id: BootId,
        /// Where; an `http` or `https` URL.
        url: String,
    },
    /// It should be off. Its firmware is held in iPXE until the power is cut or the target changes.
    PowerOff,
}

/// The IPv4 address of one machine in one subnet. Netmask, router and lease time are the [`Subnet`]'s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The address it may use.
    pub address: Ipv4Addr,
}

/// The IPv6 address of one machine in one subnet. Lifetimes are the [`SubnetV6`]'s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseV6 {
    /// The address it may use.
    pub address: Ipv6Addr,
}

/// A question could not be answered; the client is left unanswered and asks again.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The pool has no address left for this machine.
    #[error(transparent)]
    Exhausted(#[from] PoolExhausted),
    /// The IPv6 pool has no address left for this machine.
    #[error(transparent)]
    ExhaustedV6(#[from] PoolV6Exhausted),
    /// This machine can be given no address, for the reason that is told: its reserved one is of another subnet, say.
    #[error("{0}")]
    NoAddress(String),
    /// What this machine says of itself is of several machines: it is left alone, for the reason that is told.
    #[error("{0}")]
    Contradiction(String),
    /// Anything else, such as an API that is away.
    #[error("the host directory cannot answer: {0}")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl DirectoryError {
    /// Wraps the directory's own error (or a text).
    pub fn new(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }
}

/// Who the machines are. Called from many tasks at once, possibly by several boot servers over one store; every
/// question has a deadline of [`crate::Config::DIRECTORY_DEADLINE`], after which it is dropped at its next await.
#[async_trait::async_trait]
pub trait HostDirectory: Send + Sync {
    /// What this machine shall boot. Asked on each DHCP request of a boot client that has a lease (or, beside another
    /// DHCP server, of each boot client), and for whoever asks for settings without an address (`who.arch` tells boot
    /// clients from systems; a system whose target is `Nothing` or `Discover` is left in silence); a stable answer within one boot is the directory's business (a firmware and
    /// its iPXE ask at least four times).
    async fn boot_target(&self, who: &ClientIdentity) -> Result<BootTarget, DirectoryError>;

    /// This machine's address in `subnet`; `None` for an unknown one, which is then left in silence.
    ///
    /// Allocated once per MAC and subnet, whatever the client id, and **stored before it is returned**, such that a
    /// second server over the same store can never return it for another machine; nothing is written when it is asked
    /// for again. [`crate::Pool::pick`] chooses from the pool; a subnet without one has reservations only. `wanted` is
    /// the address that the machine asks for; to be preferred where it is free, so that machines keep their addresses
    /// over a lost store.
    async fn lease(
        &self,
        who: &ClientIdentity,
        subnet: &Subnet,
        wanted: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError>;

    /// As [`HostDirectory::lease`], for one identity association (`iaid`) of a DHCPv6 client.
    async fn lease_v6(
        &self,
        who: &ClientIdentity,
        subnet: &SubnetV6,
        iaid: u32,
        wanted: Option<Ipv6Addr>,
    ) -> Result<Option<LeaseV6>, DirectoryError> {
        let _ = (who, subnet, iaid, wanted);
        Ok(None)
    }

    /// The machine found its address in use by another (DHCPDECLINE): it must get another one next time, and nobody
    /// this one for a while. Anybody on the link can say so for any MAC, hence: only the address leased to `who`, and
    /// never a reserved one, may be withdrawn.
    async fn declined(&self, who: &ClientIdentity, address: IpAddr) -> Result<(), DirectoryError> {
        let _ = (who, address);
        Ok(())
    }

    /// The machine gave its address back. Nothing needs to be done: addresses stay with their machine.
    async fn released(&self, who: &ClientIdentity, address: IpAddr) -> Result<(), DirectoryError> {
        let _ = (who, address);
        Ok(())
    }

    /// What there is to fetch under a boot id.
    async fn overlay(&self, boot_id: &BootId) -> Result<BootFiles, DirectoryError>;

    /// A boot is started: asked once for each start. How often that happened by now, whichever server of the same store
    /// saw it; `None` where nobody counts but this server.
    async fn started(&self, boot_id: &BootId) -> Result<Option<u32>, DirectoryError> {
        let _ = boot_id;
        Ok(None)
    }

    /// A boot was started `starts` times without the enrolment of its host, and is not started again: its target should
    /// be [`BootTarget::PowerOff`] from now on, with this as the reason. Told once by each server, and again after each failure to tell. Not said of a boot without overlay files (discovery):
    /// nobody owns that machine.
    async fn looping(&self, boot_id: &BootId, starts: u32) -> Result<(), DirectoryError> {
        let _ = (boot_id, starts);
        Ok(())
    }

    /// Told of every exchange with anybody, known or not, answered or not; what is dropped unread (malformed, a flood)
    /// is only counted. Must neither block nor grow without bound: strangers decide how often it is called. Serving
    /// something proves nothing about the machine's state: what it says of itself does.
    fn observed(&self, exchange: &Exchange) {
        let _ = exchange;
    }
}
