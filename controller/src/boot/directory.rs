//! The boot server's questions, answered from the objects (`BootDirectory`) and the site's secrets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use async_trait::async_trait;
use bessemer_agents::BootAuthority;
use bessemer_protocol::{BOOT_CONFIG_PATH, BootId};
use bessemer_pxe::{
    BootFiles, BootTarget, ClientIdentity, DirectoryError, Exchange, HostDirectory, Lease, LeaseV6, Overlay,
    OverlayFile, Subnet, SubnetV6,
};
use bessemer_reconcilers::Journal;
use bessemer_reconcilers::outside::{
    BootDirectory, BootFilesView, BootTargetView, DirectoryError as NotFound, WhoseView,
};
use uuid::Uuid;

use super::conversations::Conversations;
use super::pools::{PoolV4, PoolV6};

/// Owner only: the overlay holds the enrolment token.
const OVERLAY_MODE: u32 = 0o600;

/// What every host of this site is told.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) authority: BootAuthority,
    /// `https://address:port` of each controller's endpoint for agents.
    pub(crate) controllers: Vec<String>,
}

/// The adapter.
pub(crate) struct Directory {
    hosts: Arc<dyn BootDirectory>,
    site: Site,
    conversations: Conversations,
}

impl Directory {
    /// `server` is the name of this boot server in what operators read.
    pub(crate) fn new(hosts: Arc<dyn BootDirectory>, site: Site, journal: Arc<Journal>, server: String) -> Self {
        Self { hosts, site, conversations: Conversations::new(journal, server) }
    }

    fn whose(&self, who: &ClientIdentity) -> Result<WhoseView, DirectoryError> {
        match self.hosts.whose(&macs(who), who.smbios_uuid) {
            WhoseView::Contradiction(why) => Err(DirectoryError::Contradiction(why)),
            found => Ok(found),
        }
    }
}

#[async_trait]
impl HostDirectory for Directory {
    async fn boot_target(&self, who: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        // A system that asks for settings is no boot of an unknown machine.
        if self.whose(who)? == WhoseView::Nobody && who.arch.is_none() {
            return Ok(BootTarget::Nothing);
        }
        let target = self.hosts.target(&macs(who)).await.map_err(DirectoryError::new)?;
        let served = |boot: BootId| bessemer_pxe::BootId(boot.0.as_u128());
        Ok(match target {
            BootTargetView::Unknown => BootTarget::Nothing,
            BootTargetView::Ramdisk { boot } => BootTarget::Ramdisk { boot_id: served(boot) },
            BootTargetView::Discover { boot } => BootTarget::Discover { boot_id: served(boot) },
            BootTargetView::LocalDisk => BootTarget::LocalDisk,
            BootTargetView::LiveIso { boot, url } => BootTarget::LiveIso { boot_id: served(boot), url },
            BootTargetView::PowerOff => BootTarget::PowerOff,
        })
    }

    async fn lease(
        &self,
        who: &ClientIdentity,
        subnet: &Subnet,
        wanted: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        self.whose(who)?;
        let Some(pool) = &subnet.pool else { return Ok(None) };
        let pool = PoolV4 { pool, subnet, wanted };
        let address = self.hosts.lease(&macs(who), who.arch.is_some(), &pool).await.map_err(trouble)?;
        Ok(address.and_then(|address| match address {
            IpAddr::V4(address) => Some(Lease { address }),
            IpAddr::V6(_) => None,
        }))
    }

    async fn lease_v6(
        &self,
        who: &ClientIdentity,
        subnet: &SubnetV6,
        // One address a machine: firmware and system number their associations differently.
        _iaid: u32,
        wanted: Option<Ipv6Addr>,
    ) -> Result<Option<LeaseV6>, DirectoryError> {
        self.whose(who)?;
        let pool = PoolV6 { subnet, wanted };
        let address = self.hosts.lease(&macs(who), who.arch.is_some(), &pool).await.map_err(trouble)?;
        Ok(address.and_then(|address| match address {
            IpAddr::V6(address) => Some(LeaseV6 { address }),
            IpAddr::V4(_) => None,
        }))
    }

    async fn declined(&self, who: &ClientIdentity, address: IpAddr) -> Result<(), DirectoryError> {
        self.whose(who)?;
        self.hosts.declined(&macs(who), address).await.map_err(DirectoryError::new)
    }

    async fn overlay(&self, boot: &bessemer_pxe::BootId) -> Result<BootFiles, DirectoryError> {
        let boot = BootId(Uuid::from_u128(boot.0));
        let Site { authority, controllers } = &self.site;
        let mut media = false;
        let (content, addresses) = match self.hosts.boot(boot).await.map_err(DirectoryError::new)? {
            BootFilesView::Ready(found) => {
                media = found.media;
                (authority.overlay(boot, controllers, found.issued.as_second(), found.network), found.addresses)
            }
            BootFilesView::Discover { issued } => {
                (authority.discovery_overlay(boot, controllers, issued.as_second()), Vec::new())
            }
            BootFilesView::Live { url, addresses } => return Ok(BootFiles::Live { url, addresses }),
            BootFilesView::Over => return Ok(BootFiles::Spent),
            BootFilesView::Unknown => return Ok(BootFiles::Unknown),
        };
        let content = content.map_err(DirectoryError::new)?;
        let path = BOOT_CONFIG_PATH.trim_start_matches('/').to_owned();
        let files = vec![OverlayFile { path, mode: OVERLAY_MODE, content: content.into() }];
        Ok(BootFiles::Ready(Overlay { files, addresses, media, ..Overlay::default() }))
    }

    async fn started(&self, boot: &bessemer_pxe::BootId) -> Result<Option<u32>, DirectoryError> {
        self.hosts.started(BootId(Uuid::from_u128(boot.0))).await.map_err(DirectoryError::new)
    }

    async fn looping(&self, boot: &bessemer_pxe::BootId, starts: u32) -> Result<(), DirectoryError> {
        let boot = BootId(Uuid::from_u128(boot.0));
        let why = format!("it was started {starts} times from the network and no agent enrolled");
        self.hosts.gave_up(boot, &why).await.map_err(DirectoryError::new)
    }

    fn observed(&self, exchange: &Exchange) {
        self.conversations.observed(exchange);
    }
}

fn trouble(error: NotFound) -> DirectoryError {
    match error {
        NotFound::NoAddress(why) => DirectoryError::NoAddress(why.to_string()),
        other => DirectoryError::new(other),
    }
}

fn macs(who: &ClientIdentity) -> Vec<String> {
    who.macs.iter().map(ToString::to_string).collect()
}
