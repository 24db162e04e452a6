//! HostFirmwareSettings: the BIOS settings of one host.

use std::collections::BTreeMap;

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::NamespacedName;
use crate::{Condition, Time};

/// The BIOS settings of the BareMetalHost of the same name. Made with it, empty until somebody wants a setting.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HostFirmwareSettings",
    plural = "hostfirmwaresettings",
    shortname = "hfs",
    namespaced,
    status = "HostFirmwareSettingsStatus"
)]
pub struct HostFirmwareSettingsSpec {
    /// Settings that shall have these values.
    #[required]
    #[serde(default)]
    pub settings: BTreeMap<String, IntOrString>,
}

/// What is observed of them.
#[api]
#[serde(default)]
pub struct HostFirmwareSettingsStatus {
    /// Conditions: `ChangeDetected` and `Valid`.
    #[list(map(type))]
    pub conditions: Vec<Condition>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// The FirmwareSchema that tells which values a setting takes.
    pub schema: Option<NamespacedName>,
    /// All settings as they are.
    #[required]
    pub settings: BTreeMap<String, String>,
}
