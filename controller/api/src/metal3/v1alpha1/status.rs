//! A BareMetalHost's status.

use bessemer_api_macros::api;
use k8s_openapi::api::core::v1::SecretReference;

use super::{
    BootMode, CustomDeploy, ErrorType, FirmwareConfig, HardwareDetails, Image, OperationalStatus, ProvisioningState,
    RaidConfig, RootDeviceHints,
};
use crate::absent::is_default;
use crate::{Condition, Time};

/// What is observed of a host.
#[api]
#[serde(default)]
pub struct BareMetalHostStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// Errors in a row.
    #[schemars(extend("x-default" = 0, "format" = null))]
    pub error_count: i64,
    /// The last error; empty when there is none.
    pub error_message: String,
    /// Kind of the last error.
    pub error_type: Option<ErrorType>,
    /// The credentials that last worked.
    #[serde(skip_serializing_if = "is_default")]
    pub good_credentials: CredentialsStatus,
    /// What the agent found.
    pub hardware: Option<HardwareDetails>,
    /// Deprecated; root device hints took its place.
    pub hardware_profile: Option<String>,
    /// The image that was last tried, whether it could be written or not.
    pub last_attempted_image: Option<Image>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// When each operation last started and ended.
    #[serde(skip_serializing_if = "is_default")]
    pub operation_history: OperationHistory,
    /// Whether the host is well.
    pub operational_status: OperationalStatus,
    /// Whether the server is on, as its BMC said last.
    pub powered_on: bool,
    /// How far its provisioning is.
    pub provisioning: ProvisionStatus,
    /// Failed provisionings in a row.
    #[schemars(extend("x-default" = 0, "format" = null))]
    pub provisioning_fail_count: i64,
    /// The credentials that were last tried.
    #[serde(skip_serializing_if = "is_default")]
    pub tried_credentials: CredentialsStatus,
}

/// A Secret and the version of it that was used.
#[api]
pub struct CredentialsStatus {
    /// Which Secret.
    pub credentials: Option<SecretReference>,
    /// Its resourceVersion.
    pub credentials_version: Option<String>,
}

/// When each operation last started and ended.
#[api]
#[serde(default)]
pub struct OperationHistory {
    /// Trying the BMC.
    #[serde(skip_serializing_if = "is_default")]
    pub register: OperationMetric,
    /// Looking at the hardware.
    #[serde(skip_serializing_if = "is_default")]
    pub inspect: OperationMetric,
    /// Writing the image.
    #[serde(skip_serializing_if = "is_default")]
    pub provision: OperationMetric,
    /// Taking the host back.
    #[serde(skip_serializing_if = "is_default")]
    pub deprovision: OperationMetric,
}

/// Start and end of one operation.
#[api]
pub struct OperationMetric {
    /// Start.
    #[schemars(extend("nullable" = true))]
    pub start: Option<Time>,
    /// End; none while it runs.
    #[schemars(extend("nullable" = true))]
    pub end: Option<Time>,
}

/// How far the provisioning of a host is.
#[api]
#[serde(default)]
pub struct ProvisionStatus {
    /// Identity of the host at its provisioner: the host id.
    #[serde(rename = "ID")]
    pub id: String,
    /// The state.
    pub state: ProvisioningState,
    /// Boot mode in use.
    pub boot_mode: Option<BootMode>,
    /// The deployment that took an image's place.
    pub custom_deploy: Option<CustomDeploy>,
    /// The firmware settings in effect.
    pub firmware: Option<FirmwareConfig>,
    /// The image on the disk.
    pub image: Option<Image>,
    /// The RAID volumes in effect.
    pub raid: Option<RaidConfig>,
    /// The hints that were used.
    pub root_device_hints: Option<RootDeviceHints>,
}
