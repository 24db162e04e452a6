//! HostFirmwareComponents: the firmware versions of one host.

use bessemer_api_macros::api;

use crate::{Condition, Time};

/// The firmware of the BareMetalHost of the same name, and what it shall be updated to.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HostFirmwareComponents",
    plural = "hostfirmwarecomponents",
    namespaced,
    status = "HostFirmwareComponentsStatus"
)]
pub struct HostFirmwareComponentsSpec {
    /// Updates that shall be made.
    #[required]
    #[serde(default)]
    pub updates: Vec<FirmwareUpdate>,
}

/// One update.
#[api]
#[derive(Eq)]
pub struct FirmwareUpdate {
    /// `bios`, `bmc` or `nic:<name>`.
    pub component: String,
    /// Where the new firmware is.
    pub url: String,
}

/// What is observed of it.
#[api]
#[serde(default)]
pub struct HostFirmwareComponentsStatus {
    /// Updates as they were last asked for.
    pub updates: Vec<FirmwareUpdate>,
    /// What there is.
    pub components: Vec<FirmwareComponent>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// Conditions: `ChangeDetected` and `Valid`.
    #[list(map(type))]
    pub conditions: Vec<Condition>,
}

/// One piece of firmware.
#[api]
pub struct FirmwareComponent {
    /// `bios`, `bmc` or `nic:<name>`.
    pub component: String,
    /// Version when it was first seen.
    pub initial_version: String,
    /// Version now.
    pub current_version: Option<String>,
    /// Version that was last written.
    pub last_version_flashed: Option<String>,
    /// When that was.
    pub updated_at: Option<Time>,
}
