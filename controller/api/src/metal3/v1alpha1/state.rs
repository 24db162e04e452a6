//! The words in which a BareMetalHost tells its state. Programs compare them: spaces included, they are upstream's.

use std::fmt;

use bessemer_api_macros::api;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// `status.provisioning.state`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProvisioningState {
    /// Not looked at yet.
    #[default]
    #[serde(rename = "")]
    None,
    /// No BMC is given.
    Unmanaged,
    /// Address and credentials are being tried.
    Registering,
    /// Legacy; passes on.
    #[serde(rename = "match profile")]
    MatchProfile,
    /// Its hardware is being looked at.
    Inspecting,
    /// RAID, firmware and cleaning.
    Preparing,
    /// Legacy name of available.
    Ready,
    /// Waits to be claimed.
    Available,
    /// An image is being written.
    Provisioning,
    /// The image is written and the host has left the ramdisk.
    Provisioned,
    /// Written by others.
    #[serde(rename = "externally provisioned")]
    ExternallyProvisioned,
    /// Its consumer is gone.
    Deprovisioning,
    /// The object is being deleted.
    #[serde(rename = "powering off before delete")]
    PoweringOffBeforeDelete,
    /// The object is being deleted.
    Deleting,
}

impl fmt::Display for ProvisioningState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

// A plain string upstream: a state that we do not know must not make the server refuse an object.
impl JsonSchema for ProvisioningState {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ProvisioningState".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// `status.operationalStatus`.
#[api]
pub enum OperationalStatus {
    /// Not looked at yet.
    #[default]
    #[serde(rename = "")]
    None,
    /// Nothing is wrong.
    #[serde(rename = "OK")]
    Ok,
    /// Known, without BMC details.
    #[serde(rename = "discovered")]
    Discovered,
    /// See the error message.
    #[serde(rename = "error")]
    Error,
    /// Waits for capacity.
    #[serde(rename = "delayed")]
    Delayed,
    /// Managed by nobody.
    #[serde(rename = "detached")]
    Detached,
    /// Firmware or settings are being changed.
    #[serde(rename = "servicing")]
    Servicing,
}

/// `status.errorType`.
#[api]
pub enum ErrorType {
    /// The BMC of a provisioned host cannot be used.
    #[serde(rename = "provisioned registration error")]
    ProvisionedRegistration,
    /// The BMC cannot be used.
    #[serde(rename = "registration error")]
    Registration,
    /// The hardware could not be looked at.
    #[serde(rename = "inspection error")]
    Inspection,
    /// RAID, firmware or cleaning failed.
    #[serde(rename = "preparation error")]
    Preparation,
    /// The image could not be written.
    #[serde(rename = "provisioning error")]
    Provisioning,
    /// Power could not be changed.
    #[serde(rename = "power management error")]
    PowerManagement,
    /// Firmware or settings could not be changed.
    #[serde(rename = "servicing error")]
    Servicing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_upstreams() {
        assert_eq!(ProvisioningState::PoweringOffBeforeDelete.to_string(), "powering off before delete");
        assert_eq!(ProvisioningState::Inspecting.to_string(), "inspecting");
        assert_eq!(OperationalStatus::Ok.to_string(), "OK");
        assert_eq!(ErrorType::Registration.to_string(), "registration error");
        let state: ProvisioningState = serde_json::from_str("\"externally provisioned\"").unwrap();
        assert_eq!(state, ProvisioningState::ExternallyProvisioned);
    }
}
