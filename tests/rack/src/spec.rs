//! What a rack is asked to be: names and sizes, and everything about a host that follows from its place in the rack.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// A rack to start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spec {
    /// Names the rack's namespace and folder; lower-case letters, digits and dashes, at most 20.
    pub id: String,
    /// The hosts, at most 99. Under emulation a machine carries about one running host per processor.
    pub hosts: Vec<HostSpec>,
}

impl Spec {
    /// A rack of `hosts`.
    #[must_use]
    pub fn new(id: &str, hosts: Vec<HostSpec>) -> Self {
        Self { id: id.to_owned(), hosts }
    }
}

/// One server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostSpec {
    /// Its name in the rack.
    pub name: String,
    /// Virtual processors.
    pub cpus: u8,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Size of its one disk in GiB; a sparse file.
    pub disk_gib: u32,
}

impl HostSpec {
    /// A host that can carry a one-node control plane: 2 processors, 3 GiB, 8 GiB of disk.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), cpus: 2, memory_mib: 3072, disk_gib: 8 }
    }

    /// The same with less of everything, for tests that never start an operating system that works. Metal3's smallest
    /// root disk has 4 GiB.
    #[must_use]
    pub fn small(name: &str) -> Self {
        Self { name: name.to_owned(), cpus: 2, memory_mib: 1024, disk_gib: 5 }
    }
}

/// The address that every BMC of a rack listens on, inside the namespace.
pub(crate) const BMC_ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// The BMC's account with administrator privilege.
pub const BMC_USER: &str = "admin";

/// Its password: nothing outside the namespace can reach the BMC.
pub const BMC_PASSWORD: &str = "rack-secret";

/// Facts that follow from a host's place, counted from one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot(pub(crate) u8);

impl Slot {
    pub(crate) fn mac(self) -> String {
        format!("52:54:00:77:00:{:02x}", self.0)
    }

    pub(crate) fn tap(self) -> String {
        format!("tap{}", self.0)
    }

    pub(crate) fn bmc_port(self) -> u16 {
        6200 + u16::from(self.0)
    }

    pub(crate) fn uuid(self) -> String {
        format!("be55e3e2-77aa-4000-8000-0000000000{:02x}", self.0)
    }

    pub(crate) fn serial(self) -> String {
        format!("RACK{:04}", self.0)
    }
}
