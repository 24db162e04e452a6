//! The boot server's questions, answered from the objects (`BootDirectory`) and the site's secrets.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use bessemer_agents::SiteAuthority;
use bessemer_protocol::{BOOT_CONFIG_PATH, BootId};
use bessemer_pxe::{
    BootFiles, BootTarget, ClientIdentity, DirectoryError, HostDirectory, Lease, MacAddr, Overlay, OverlayFile, Pool,
    Subnet,
};
use bessemer_reconcilers::outside::{AddressPool, BootDirectory, BootTargetView, NoAddress};
use uuid::Uuid;

/// Owner only: the overlay holds the enrolment token.
const OVERLAY_MODE: u32 = 0o600;

/// The adapter.
pub(super) struct Directory {
    pub(super) hosts: Arc<dyn BootDirectory>,
    pub(super) site: Arc<SiteAuthority>,
    /// `https://address:port` of the agents' endpoint.
    pub(super) controllers: Vec<String>,
}

#[async_trait]
impl HostDirectory for Directory {
    async fn boot_target(&self, who: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        let Some(mac) = who.mac() else { return Ok(BootTarget::Nothing) };
        let target = self.hosts.target(&mac.to_string()).await.map_err(DirectoryError::new)?;
        Ok(match target {
            BootTargetView::Unknown => BootTarget::Nothing,
            BootTargetView::Ramdisk { boot } => BootTarget::Ramdisk { boot_id: bessemer_pxe::BootId(boot.0.as_u128()) },
            BootTargetView::LocalDisk => BootTarget::LocalDisk,
            BootTargetView::PowerOff => BootTarget::PowerOff,
        })
    }

    async fn lease(
        &self,
        who: &ClientIdentity,
        subnet: &Subnet,
        _: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        let (Some(mac), Some(pool)) = (who.mac(), &subnet.pool) else { return Ok(None) };
        let pool = Addresses { pool, subnet: subnet.prefix.to_string() };
        let address = self.hosts.lease(&mac.to_string(), &pool).await.map_err(DirectoryError::new)?;
        Ok(address.map(|address| Lease { address }))
    }

    async fn overlay(&self, boot: &bessemer_pxe::BootId) -> Result<BootFiles, DirectoryError> {
        let boot = BootId(Uuid::from_u128(boot.0));
        let Some(found) = self.hosts.boot(boot).await.map_err(DirectoryError::new)? else {
            return Ok(BootFiles::Unknown);
        };
        let content =
            self.site.overlay(boot, &self.controllers, found.issued.as_second()).map_err(DirectoryError::new)?;
        let path = BOOT_CONFIG_PATH.trim_start_matches('/').to_owned();
        let files = vec![OverlayFile { path, mode: OVERLAY_MODE, content: content.into() }];
        let addresses = found.address.map(Into::into).into_iter().collect();
        Ok(BootFiles::Ready(Overlay { files, addresses, ..Overlay::default() }))
    }
}

/// The boot server's rule of choice, for whoever stores the lease.
struct Addresses<'a> {
    pool: &'a Pool,
    /// In CIDR form.
    subnet: String,
}

impl AddressPool for Addresses<'_> {
    fn subnet(&self) -> String {
        self.subnet.clone()
    }

    fn contains(&self, address: Ipv4Addr) -> bool {
        self.pool.contains(address)
    }

    fn pick(&self, mac: &str, taken: &BTreeSet<Ipv4Addr>) -> Result<Ipv4Addr, NoAddress> {
        let mac: MacAddr = mac.parse().map_err(|error: bessemer_pxe::InvalidIdentity| NoAddress(error.to_string()))?;
        self.pool.pick(mac, taken).map_err(|error| NoAddress(error.to_string()))
    }
}
