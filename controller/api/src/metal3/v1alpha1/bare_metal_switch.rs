//! BareMetalSwitch: a switch whose ports can be moved between networks.

use bessemer_api_macros::api;
use k8s_openapi::api::core::v1::SecretReference;

use crate::Condition;
use crate::patterns::MAC;

/// How to reach the management of one switch.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "BareMetalSwitch",
    plural = "baremetalswitches",
    shortname = "bms",
    namespaced,
    status = "BareMetalSwitchStatus"
)]
#[column("Driver", string, ".spec.driver", "What speaks to it")]
#[column("Device Type", string, ".spec.deviceType", "What it is")]
#[column("Address", string, ".spec.address", "Where it is")]
#[column("Valid", string, ".status.conditions[?(@.type==\"Valid\")].status", "It can be used")]
#[serde(default)]
pub struct BareMetalSwitchSpec {
    /// Host name or address of its management.
    pub address: String,
    /// Secret with the keys `username` and `password`.
    pub credentials: Option<SecretReference>,
    /// Its operating system, in the driver's words.
    pub device_type: String,
    /// Whether any certificate of it is taken.
    pub disable_certificate_verification: Option<bool>,
    /// What speaks to it.
    #[schemars(extend("x-default" = "generic-switch"))]
    pub driver: Option<SwitchDriver>,
    /// MAC address by which hosts' `switchPort.switchID` names it.
    #[schemars(regex(pattern = MAC))]
    pub mac_address: String,
    /// Port of its management.
    #[number(1..=65535)]
    pub port: Option<i32>,
}

/// What speaks to a switch.
#[api]
pub enum SwitchDriver {
    /// Its command line.
    #[serde(rename = "generic-switch")]
    GenericSwitch,
}

/// What is observed of it.
#[api]
pub struct BareMetalSwitchStatus {
    /// Conditions: `Valid`.
    #[list(map(type))]
    pub conditions: Vec<Condition>,
}
