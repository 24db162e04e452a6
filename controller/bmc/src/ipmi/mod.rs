//! [`Bmc`] over IPMI 2.0: which commands an act is made of, and what their answers mean for the caller.

mod boot;
mod errors;
mod power;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use ipmi_client::command::{Command, GetDeviceId, GetSystemGuid};
use ipmi_client::{Client, IpmiError, Login, Options};

use crate::power::Patience;
use crate::{Address, Bmc, BmcError, BootOverride, Credentials, Identity, PowerAction, PowerState, ReadBack};

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
        let client = Client::new(address.host(), address.port(), login, options);
        Ok(Self { address: address.clone(), user, client, patience })
    }

    /// Carries out `command` as a part of `act`.
    async fn execute<C: Command + Sync>(&self, act: &str, command: &C) -> Result<C::Answer, BmcError> {
        self.client.execute(command).await.map_err(|error| self.explain(act, error))
    }
}

#[async_trait]
impl Bmc for IpmiBmc {
    async fn identify(&self) -> Result<Identity, BmcError> {
        const ACT: &str = "reading its identity";
        let id = self.execute(ACT, &GetDeviceId).await?;
        let system_guid = match self.client.execute(&GetSystemGuid).await {
            Ok(guid) => Some(guid),
            // Optional: many BMCs have none.
            Err(IpmiError::Completion { code, .. }) if !code.is_transient() => None,
            Err(IpmiError::Malformed(_)) => None,
            Err(error) => return Err(self.explain(ACT, error)),
        };
        Ok(Identity {
            vendor: Some(format!("IANA {}", id.manufacturer)),
            model: Some(format!("product {}", id.product)),
            firmware: Some(format!("{}.{:02}", id.firmware_major, id.firmware_minor)),
            uuid: system_guid.map(hex),
            ..Identity::default()
        })
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

    async fn close(&self) {
        self.client.close().await;
    }
}

/// The GUID in the order in which it came over the wire.
fn hex(guid: [u8; 16]) -> String {
    guid.iter().map(|byte| format!("{byte:02x}")).collect()
}
