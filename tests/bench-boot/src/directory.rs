//! A directory of leases whose durability is that of the peers: every new lease is appended to a file before it is told.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bessemer_pxe::{
    BootFiles, BootId, BootTarget, ClientIdentity, DirectoryError, HostDirectory, Lease, MacAddr, Overlay, Subnet,
};

/// Everybody is known, and boots the ramdisk.
pub(crate) struct Leases(Mutex<Stored>);

struct Stored {
    by_mac: HashMap<MacAddr, Ipv4Addr>,
    taken: BTreeSet<Ipv4Addr>,
    file: File,
}

impl Leases {
    pub(crate) fn in_file(path: &Path) -> std::io::Result<Self> {
        let (by_mac, taken) = (HashMap::new(), BTreeSet::new());
        Ok(Self(Mutex::new(Stored { by_mac, taken, file: File::create(path)? })))
    }
}

#[async_trait::async_trait]
impl HostDirectory for Leases {
    async fn boot_target(&self, who: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        let boot_id = BootId(who.mac().map_or(0, |MacAddr([a, b, c, d, e, f])| {
            u128::from_be_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, e, f])
        }));
        Ok(BootTarget::Ramdisk { boot_id })
    }

    async fn lease(
        &self,
        who: &ClientIdentity,
        subnet: &Subnet,
        _: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        let (Some(mac), Some(pool)) = (who.mac(), &subnet.pool) else { return Ok(None) };
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = stored.by_mac.get(&mac) {
            return Ok(Some(Lease { address: *address }));
        }
        let address = pool.pick(mac, |address| stored.taken.contains(&address))?;
        writeln!(stored.file, "{mac} {address}").map_err(DirectoryError::new)?;
        stored.taken.insert(address);
        stored.by_mac.insert(mac, address);
        Ok(Some(Lease { address }))
    }

    async fn overlay(&self, _: &BootId) -> Result<BootFiles, DirectoryError> {
        Ok(BootFiles::Ready(Overlay::default()))
    }
}
