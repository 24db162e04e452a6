//! [`Bmc`] over Redfish: which resource is the server, which calls an act is made of, and what their answers mean for
//! the caller. How a service must be spoken to is `redfish-client`'s business.

mod boot;
mod capabilities;
mod errors;
mod identify;
mod inventory;
mod media;
mod power;
mod quirks;
mod sensors;
mod survey;
mod system;
#[cfg(test)]
mod tests;
mod value;

use async_trait::async_trait;
use redfish_client::{Client, Login, Options, Reference, Trust};
use tokio::sync::OnceCell;

use crate::power::Patience;
use crate::{
    Address, Bmc, BmcError, BootOverride, Capabilities, Credentials, Identity, InsertedMedia, Inventory, MediaKind,
    MediaSlot, Medium, PowerAction, PowerState, ReadBack, Sensor,
};

/// One BMC that speaks Redfish, with at most one session.
pub(crate) struct RedfishBmc {
    address: Address,
    user: String,
    client: Client,
    /// Where the server is in the tree; it does not move while the BMC lives.
    system: OnceCell<Reference>,
    patience: Patience,
}

impl RedfishBmc {
    pub(crate) fn new(address: &Address, credentials: &Credentials, trust: Trust) -> Result<Self, BmcError> {
        let mut options = Options::default();
        options.trust = trust;
        Self::with(address, credentials, options, Patience::default())
    }

    fn with(
        address: &Address,
        credentials: &Credentials,
        options: Options,
        patience: Patience,
    ) -> Result<Self, BmcError> {
        let user = credentials.username().to_owned();
        let login = Login::new(&user, credentials.expose_password());
        let client = Client::new(&address.service_url(), Some(login), options)
            .map_err(|error| BmcError::BadAddress { address: address.to_string(), problem: error.to_string() })?;
        Ok(Self { address: address.clone(), user, client, system: OnceCell::new(), patience })
    }
}

#[async_trait]
impl Bmc for RedfishBmc {
    async fn identify(&self) -> Result<Identity, BmcError> {
        self.read_identity().await
    }

    async fn power_state(&self) -> Result<PowerState, BmcError> {
        self.settled_power().await
    }

    async fn power(&self, action: PowerAction) -> Result<(), BmcError> {
        self.act_on_power(action).await
    }

    async fn set_boot_override(&self, wanted: &BootOverride) -> Result<ReadBack, BmcError> {
        self.write_boot_override(wanted).await
    }

    async fn capabilities(&self) -> Result<Capabilities, BmcError> {
        self.find_capabilities().await
    }

    async fn media(&self) -> Result<Vec<MediaSlot>, BmcError> {
        self.read_media().await
    }

    async fn insert_media(&self, medium: &Medium) -> Result<InsertedMedia, BmcError> {
        self.insert(medium).await
    }

    async fn eject_media(&self, kind: MediaKind) -> Result<ReadBack, BmcError> {
        self.eject(kind).await
    }

    async fn inventory(&self) -> Result<Inventory, BmcError> {
        self.read_inventory().await
    }

    async fn sensors(&self) -> Result<Vec<Sensor>, BmcError> {
        self.read_sensors().await
    }

    async fn close(&self) {
        self.client.close().await;
    }
}
