//! [`Bmc`] over Redfish: which resource is the server, which calls an act is made of, and what their answers mean for
//! the caller. How a service must be spoken to is `redfish-client`'s business.

mod bios;
mod boot;
mod capabilities;
mod console;
mod errors;
mod events;
mod firmware;
mod identify;
mod inventory;
mod logs;
mod managers;
mod media;
mod power;
mod quirks;
mod secure_boot;
mod sensors;
mod settle;
mod survey;
mod system;
#[cfg(test)]
mod tests;
mod time;
mod turns;
mod value;
mod work;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use redfish_client::{Client, Options, Reference, Trust};
use tokio::sync::OnceCell;
use turns::Limits;

use crate::power::Patience;
use crate::{
    Address, Bios, BiosValue, Bmc, BmcError, BootOverride, Capabilities, ConsoleAccess, Credentials, EventStream,
    FirmwareFile, FirmwareImage, FirmwareJob, FirmwareProgress, FirmwareWays, Identity, InsertedMedia, Inventory,
    KnownSubscription, LogEntry, MediaKind, MediaSlot, Medium, PowerAction, PowerState, ReadBack, SecureBoot, Sensor,
    Subscription, SubscriptionId,
};

/// One BMC that speaks Redfish, with at most one session.
pub(crate) struct RedfishBmc {
    address: Address,
    user: String,
    client: Client,
    /// Where the server is in the tree; it does not move while the BMC lives.
    system: OnceCell<Reference>,
    unproven_bios: Mutex<bios::Unproven>,
    patience: Patience,
    /// Held by the act that is under way.
    turn: tokio::sync::Mutex<()>,
    limits: Limits,
}

impl RedfishBmc {
    /// The server that `address` names, by way of `client`, which the other servers of the same BMC share.
    pub(crate) fn new(address: &Address, credentials: &Credentials, client: Client) -> Self {
        Self::by(address, credentials, client, Patience::default())
    }

    fn by(address: &Address, credentials: &Credentials, client: Client, patience: Patience) -> Self {
        let user = credentials.username().to_owned();
        let address = address.clone();
        let (system, unproven_bios) = (OnceCell::new(), Mutex::default());
        let (turn, limits) = (tokio::sync::Mutex::default(), Limits::default());
        Self { address, user, client, system, unproven_bios, patience, turn, limits }
    }

    #[cfg(test)]
    fn with(
        address: &Address,
        credentials: &Credentials,
        options: Options,
        patience: Patience,
    ) -> Result<Self, BmcError> {
        Ok(Self::by(address, credentials, client_with(address, credentials, options)?, patience))
    }

    /// Settings of firmware that were written and wait to be proven by a reset.
    fn unproven_bios(&self) -> MutexGuard<'_, bios::Unproven> {
        self.unproven_bios.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client of the BMC at `address`. Old TLS (feature `legacy-tls`) is spoken only with a BMC whose certificate is not
/// looked at either: whoever could read along can do so there anyway.
pub(crate) fn client(address: &Address, credentials: &Credentials, trust: Trust) -> Result<Client, BmcError> {
    let mut options = Options::default();
    options.legacy_tls = cfg!(feature = "legacy-tls") && trust == Trust::Anyone;
    options.trust = trust;
    client_with(address, credentials, options)
}

fn client_with(address: &Address, credentials: &Credentials, options: Options) -> Result<Client, BmcError> {
    let login = quirks::login(credentials.username(), credentials.expose_password());
    Client::new(&address.service_url(), Some(login), options)
        .map_err(|error| BmcError::BadAddress { address: address.to_string(), problem: error.to_string() })
}

#[async_trait]
impl Bmc for RedfishBmc {
    async fn identify(&self) -> Result<Identity, BmcError> {
        self.within(self.limits.look, "identifying it", self.read_identity()).await
    }

    async fn power_state(&self) -> Result<PowerState, BmcError> {
        self.within(self.limits.look, "reading the power state", self.settled_power()).await
    }

    async fn power(&self, action: PowerAction) -> Result<(), BmcError> {
        self.in_turn(&action.to_string(), self.act_on_power(action)).await?;
        if matches!(action, PowerAction::Reset | PowerAction::Cycle) {
            self.unproven_bios().reset();
        }
        Ok(())
    }

    async fn set_boot_override(&self, wanted: &BootOverride) -> Result<ReadBack, BmcError> {
        let written = self.in_turn("setting the boot override", self.write_boot_override(wanted)).await;
        // It may repeat an address that is secret in part.
        written.map_err(|error| errors::scrubbed(error, None))
    }

    async fn capabilities(&self) -> Result<Capabilities, BmcError> {
        self.within(self.limits.survey, "finding out what it can do", self.find_capabilities()).await
    }

    async fn media(&self) -> Result<Vec<MediaSlot>, BmcError> {
        self.within(self.limits.survey, "reading virtual media", self.read_media()).await
    }

    async fn insert_media(&self, medium: &Medium) -> Result<InsertedMedia, BmcError> {
        self.in_turn("inserting a virtual medium", self.insert(medium)).await
    }

    async fn eject_media(&self, kind: MediaKind) -> Result<ReadBack, BmcError> {
        self.in_turn("ejecting virtual media", self.eject(kind)).await
    }

    async fn inventory(&self) -> Result<Inventory, BmcError> {
        self.within(self.limits.survey, "reading the inventory", self.read_inventory()).await
    }

    async fn sensors(&self) -> Result<Vec<Sensor>, BmcError> {
        self.within(self.limits.survey, "reading sensors", self.read_sensors()).await
    }

    async fn close(&self) {
        self.client.close().await;
    }

    async fn secure_boot(&self) -> Result<SecureBoot, BmcError> {
        self.within(self.limits.look, "reading the state of secure boot", self.read_secure_boot()).await
    }

    async fn set_secure_boot(&self, enabled: bool) -> Result<ReadBack, BmcError> {
        self.in_turn("switching secure boot", self.write_secure_boot(enabled)).await
    }

    async fn bios(&self) -> Result<Bios, BmcError> {
        self.within(self.limits.survey, "reading bios settings", self.read_bios()).await
    }

    async fn set_bios(&self, wanted: &BTreeMap<String, BiosValue>) -> Result<ReadBack, BmcError> {
        self.in_turn("changing bios settings", self.write_bios(wanted)).await
    }

    async fn reset_bios(&self) -> Result<ReadBack, BmcError> {
        self.in_turn("resetting bios settings", self.restore_bios()).await
    }

    async fn discard_pending_bios(&self) -> Result<ReadBack, BmcError> {
        self.in_turn("taking back bios settings that wait", RedfishBmc::discard_pending_bios(self)).await
    }

    async fn firmware_ways(&self) -> Result<FirmwareWays, BmcError> {
        self.within(self.limits.look, "asking how firmware can be updated", self.read_firmware_ways()).await
    }

    async fn start_firmware_update(&self, image: &FirmwareImage) -> Result<FirmwareJob, BmcError> {
        self.in_turn("starting a firmware update", self.fetch_firmware(image)).await
    }

    async fn push_firmware_update(&self, file: FirmwareFile) -> Result<FirmwareJob, BmcError> {
        self.alone("sending firmware", self.push_firmware(file)).await
    }

    async fn firmware_progress(&self, job: &FirmwareJob) -> Result<FirmwareProgress, BmcError> {
        self.within(self.limits.look, "following a firmware update", self.read_firmware_progress(job)).await
    }

    async fn subscribe(&self, subscription: &Subscription) -> Result<SubscriptionId, BmcError> {
        self.in_turn("subscribing to events", self.create_subscription(subscription)).await
    }

    async fn unsubscribe(&self, subscription: &SubscriptionId) -> Result<(), BmcError> {
        self.in_turn("ending a subscription", self.end_subscription(subscription)).await
    }

    async fn subscriptions(&self) -> Result<Vec<KnownSubscription>, BmcError> {
        self.within(self.limits.survey, "listing subscriptions", self.list_subscriptions()).await
    }

    async fn send_test_event(&self) -> Result<(), BmcError> {
        self.in_turn("sending a test event", self.submit_test_event()).await
    }

    async fn events(&self) -> Result<Box<dyn EventStream>, BmcError> {
        self.within(self.limits.look, "listening to events", self.open_events()).await
    }

    async fn log_entries(&self, limit: usize) -> Result<Vec<LogEntry>, BmcError> {
        self.within(self.limits.survey, "reading log entries", self.read_log_entries(limit)).await
    }

    async fn console(&self) -> Result<Vec<ConsoleAccess>, BmcError> {
        self.within(self.limits.survey, "looking for the console", self.find_consoles()).await
    }
}
