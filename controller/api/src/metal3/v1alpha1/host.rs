//! BareMetalHost, as metal3.io/v1alpha1 has it.

use bessemer_api_macros::api;
use k8s_openapi::api::core::v1::{ObjectReference, SecretReference, Taint};

use super::{
    BareMetalHostStatus, BmcDetails, BootMode, CleaningMode, CustomDeploy, FirmwareConfig, HostNetworkInterface, Image,
    InspectionMode, RaidConfig, RootDeviceHints,
};
use crate::patterns::MAC_WITHIN;

/// One physical server: how to reach its BMC, whether it shall be on, what shall be written to it.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "BareMetalHost",
    plural = "baremetalhosts",
    shortname = "bmh",
    shortname = "bmhost",
    namespaced,
    status = "BareMetalHostStatus"
)]
#[column("Status", string, ".status.operationalStatus", "Whether it is well", 1)]
#[column("State", string, ".status.provisioning.state", "How far its provisioning is")]
#[column("Consumer", string, ".spec.consumerRef.name", "Who uses it")]
#[column("BMC", string, ".spec.bmc.address", "Address of its management controller", 1)]
#[column("Online", string, ".spec.online", "Whether it shall be powered on")]
#[column("Error", string, ".status.errorType", "Kind of the last error")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct BareMetalHostSpec {
    /// Processor architecture; found by inspection unless given.
    pub architecture: Option<String>,
    /// What is erased when it is prepared and when it is taken back.
    #[schemars(extend("x-default" = "metadata"))]
    pub automated_cleaning_mode: Option<CleaningMode>,
    /// How to reach the management controller.
    pub bmc: Option<BmcDetails>,
    /// MAC address of the NIC that boots from the network.
    #[serde(rename = "bootMACAddress")]
    #[schemars(regex(pattern = MAC_WITHIN))]
    pub boot_mac_address: Option<String>,
    /// How it boots; UEFI unless given.
    pub boot_mode: Option<BootMode>,
    /// Who uses this host.
    pub consumer_ref: Option<ObjectReference>,
    /// A deployment in place of an image.
    pub custom_deploy: Option<CustomDeploy>,
    /// For people.
    pub description: Option<String>,
    /// It is rebooted where it would be powered off: its BMC has no power when it is off.
    pub disable_power_off: Option<bool>,
    /// Written by others; nothing but its power is touched.
    pub externally_provisioned: Option<bool>,
    /// Firmware settings; refused at admission.
    pub firmware: Option<FirmwareConfig>,
    /// Deprecated; root device hints took its place.
    pub hardware_profile: Option<String>,
    /// What shall be on its disk.
    pub image: Option<Image>,
    /// How it is looked at.
    pub inspection_mode: Option<InspectionMode>,
    /// Secret or ConfigMap with metadata for cloud-init, key `metaData`.
    pub meta_data: Option<SecretReference>,
    /// Secret with network data for cloud-init, key `networkData`.
    pub network_data: Option<SecretReference>,
    /// Where its interfaces are plugged in.
    pub network_interfaces: Vec<HostNetworkInterface>,
    /// Whether it shall be powered on.
    #[serde(default)]
    pub online: bool,
    /// Secret with network data for the ramdisk.
    pub preprovisioning_network_data_name: Option<String>,
    /// RAID volumes.
    pub raid: Option<RaidConfig>,
    /// Which disk to write to.
    pub root_device_hints: Option<RootDeviceHints>,
    /// Taints of its Node.
    pub taints: Vec<Taint>,
    /// Secret with the bootstrap data, key `value` or `userData`.
    pub user_data: Option<SecretReference>,
}
