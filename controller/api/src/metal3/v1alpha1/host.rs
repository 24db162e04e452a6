//! BareMetalHost, as metal3.io/v1alpha1 has it.

use k8s_openapi::api::core::v1::{ObjectReference, SecretReference};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::BareMetalHostStatus;
use super::{BmcDetails, Image, RootDeviceHints};
use crate::Extra;

/// One physical server: how to reach its BMC, whether it shall be on, what shall be written to it.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "BareMetalHost",
    plural = "baremetalhosts",
    shortname = "bmh",
    shortname = "bmhost",
    namespaced,
    status = "BareMetalHostStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Status","type":"string","description":"Operational status","jsonPath":".status.operationalStatus","priority":1}"#,
    printcolumn = r#"{"name":"State","type":"string","description":"Provisioning status","jsonPath":".status.provisioning.state"}"#,
    printcolumn = r#"{"name":"Consumer","type":"string","description":"Consumer using this host","jsonPath":".spec.consumerRef.name"}"#,
    printcolumn = r#"{"name":"BMC","type":"string","description":"Address of management controller","jsonPath":".spec.bmc.address","priority":1}"#,
    printcolumn = r#"{"name":"Online","type":"string","description":"Whether the host is online or not","jsonPath":".spec.online"}"#,
    printcolumn = r#"{"name":"Error","type":"string","description":"Type of the most recent error","jsonPath":".status.errorType"}"#,
    printcolumn = r#"{"name":"Age","type":"date","description":"Time duration since creation of BaremetalHost","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct BareMetalHostSpec {
    /// How to reach the management controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcDetails>,
    /// MAC address of the NIC that boots from the network.
    #[serde(rename = "bootMACAddress", default, skip_serializing_if = "Option::is_none")]
    pub boot_mac_address: Option<String>,
    /// `UEFI`, `UEFISecureBoot` or `legacy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<String>,
    /// Who uses this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ObjectReference>,
    /// Written by others; nothing but its power is touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub externally_provisioned: Option<bool>,
    /// What shall be on its disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Whether it shall be powered on.
    pub online: bool,
    /// Which disk to write to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// Secret with the bootstrap data, key `value` or `userData`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<SecretReference>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}
