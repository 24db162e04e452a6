//! A BareMetalHost's status.

use k8s_openapi::api::core::v1::SecretReference;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ErrorType, HardwareDetails, Image, OperationalStatus, ProvisioningState, RootDeviceHints};
use crate::{Condition, Extra, Time};

/// What is observed of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BareMetalHostStatus {
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Errors in a row.
    pub error_count: i32,
    /// The last error; empty when there is none.
    pub error_message: String,
    /// Kind of the last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
    /// The credentials that last worked.
    pub good_credentials: CredentialsStatus,
    /// What the agent found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareDetails>,
    /// When this status last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    /// When each operation last started and ended.
    pub operation_history: OperationHistory,
    /// Whether the host is well.
    pub operational_status: OperationalStatus,
    /// Whether the server is on, as its BMC said last.
    pub powered_on: bool,
    /// How far its provisioning is.
    pub provisioning: ProvisionStatus,
    /// Failed provisionings in a row.
    pub provisioning_fail_count: i32,
    /// The credentials that were last tried.
    pub tried_credentials: CredentialsStatus,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A Secret and the version of it that was used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CredentialsStatus {
    /// Which Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<SecretReference>,
    /// Its resourceVersion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_version: Option<String>,
}

/// When each operation last started and ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OperationHistory {
    /// Trying the BMC.
    pub register: OperationMetric,
    /// Looking at the hardware.
    pub inspect: OperationMetric,
    /// Writing the image.
    pub provision: OperationMetric,
    /// Taking the host back.
    pub deprovision: OperationMetric,
}

/// Start and end of one operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OperationMetric {
    /// Start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Time>,
    /// End; none while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Time>,
}

/// How far the provisioning of a host is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisionStatus {
    /// Identity of the host at its provisioner: the host id.
    #[serde(rename = "ID")]
    pub id: String,
    /// The state.
    pub state: ProvisioningState,
    /// Boot mode found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<String>,
    /// The image on the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// The hints that were used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}
