//! [`Bmc`] over IPMI 2.0: which commands an act is made of, and what their answers mean for the caller.

mod boot;
mod capabilities;
mod console;
mod errors;
mod inventory;
mod log;
mod power;
mod sensors;
#[cfg(test)]
mod tests;
mod vendors;

use std::time::Duration;

use async_trait::async_trait;
use ipmi_client::command::Command;
use ipmi_client::{Client, Login, Options};

use crate::power::Patience;
use crate::{
    Address, Bmc, BmcError, BootOverride, Capabilities, ConsoleAccess, ConsoleStream, Credentials, Identity, Inventory,
    LogEntry, PowerAction, PowerState, ReadBack, Sensor,
};

/// For everything in one of a BMC's stores: a slow one takes a minute for a full log.
const READS_WITHIN: Duration = Duration::from_secs(5 * 60);

/// One BMC that speaks IPMI, with at most one session.
pub(crate) struct IpmiBmc {
    address: Address,
    user: String,
    client: Client,
    patience: Patience,
}

impl IpmiBmc {
    pub(crate) fn new(address: &Address, credentials: &Credentials) -> Result<Self, BmcError> {
        Self::with(address, credentials, Options::default(), Patience::default())
    }

    fn with(
        address: &Address,
        credentials: &Credentials,
        options: Options,
        patience: Patience,
    ) -> Result<Self, BmcError> {
        let user = credentials.username().to_owned();
        let login = Login::new(&user, credentials.expose_password()).map_err(|why| BmcError::BadCredentials {
            address: address.to_string(),
            user: user.clone(),
            why: why.to_string(),
        })?;
        let login = login.with_privilege(address.privilege());
        let client = Client::new(address.host(), address.port(), login, options);
        Ok(Self { address: address.clone(), user, client, patience })
    }

    /// Gives up reading `what`, which takes many commands, after `limit`: each has a deadline of its own, and a BMC that just
    /// keeps them could be read for hours.
    async fn within<T>(
        &self,
        limit: Duration,
        what: &str,
        reading: impl Future<Output = Result<T, BmcError>> + Send,
    ) -> Result<T, BmcError> {
        tokio::time::timeout(limit, reading).await.unwrap_or_else(|_| {
            let why = format!("it was still telling {what}");
            Err(BmcError::Unreachable { address: self.address.to_string(), deadline: limit, why })
        })
    }

    /// Carries out `command` as a part of `act`.
    async fn execute<C: Command + Sync>(&self, act: &str, command: &C) -> Result<C::Answer, BmcError> {
        self.client.execute(command).await.map_err(|error| self.explain(act, error))
    }
}

#[async_trait]
impl Bmc for IpmiBmc {
    async fn identify(&self) -> Result<Identity, BmcError> {
        self.read_identity().await
    }

    async fn power_state(&self) -> Result<PowerState, BmcError> {
        self.read_power().await
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

    async fn inventory(&self) -> Result<Inventory, BmcError> {
        self.within(READS_WITHIN, "its inventory", self.read_inventory()).await
    }

    async fn sensors(&self) -> Result<Vec<Sensor>, BmcError> {
        self.within(READS_WITHIN, "its sensors", self.read_sensors()).await
    }

    async fn log_entries(&self, limit: usize) -> Result<Vec<LogEntry>, BmcError> {
        self.within(READS_WITHIN, "its event log", self.read_log(limit)).await
    }

    async fn console(&self) -> Result<Vec<ConsoleAccess>, BmcError> {
        Ok(vec![self.console_access()])
    }

    async fn open_console(&self, take_over: bool) -> Result<Box<dyn ConsoleStream>, BmcError> {
        self.open_serial(take_over).await
    }

    async fn close(&self) {
        self.client.close().await;
    }
}
