//! `metal3.io/v1alpha1`.

mod bare_metal_switch;
mod bmc_event_subscription;
mod data_image;
mod firmware_schema;
mod hardware;
mod hardware_data;
mod host;
mod host_claim;
mod host_deploy_policy;
mod host_firmware_components;
mod host_firmware_settings;
mod host_network_attachment;
mod host_update_policy;
mod image;
mod names;
mod network_interface;
mod preprovisioning_image;
mod raid;
mod spec;
mod state;
mod status;

pub use bare_metal_switch::{BareMetalSwitch, BareMetalSwitchSpec, BareMetalSwitchStatus, SwitchDriver};
pub use bmc_event_subscription::{BmcEventSubscription, BmcEventSubscriptionSpec, BmcEventSubscriptionStatus};
pub use data_image::{AttachedImage, DataImage, DataImageError, DataImageSpec, DataImageStatus};
pub use firmware_schema::{FirmwareSchema, FirmwareSchemaSpec, SettingSchema, SettingType};
pub use hardware::{Bios, Cpu, DiskType, Firmware, HardwareDetails, Lldp, Nic, Storage, SystemVendor, Vlan};
pub use hardware_data::{HardwareData, HardwareDataSpec};
pub use host::{BareMetalHost, BareMetalHostSpec};
pub use host_claim::{ClaimRequirement, ClaimSelector, HostClaim, HostClaimSpec, HostClaimStatus};
pub use host_deploy_policy::{
    ClaimNamespaces, HostDeployPolicy, HostDeployPolicySpec, HostDeployPolicyStatus, NameValue,
};
pub use host_firmware_components::{
    FirmwareComponent, FirmwareUpdate, HostFirmwareComponents, HostFirmwareComponentsSpec, HostFirmwareComponentsStatus,
};
pub use host_firmware_settings::{HostFirmwareSettings, HostFirmwareSettingsSpec, HostFirmwareSettingsStatus};
pub use host_network_attachment::{HostNetworkAttachment, HostNetworkAttachmentSpec, PortMode};
pub use host_update_policy::{HostUpdatePolicy, HostUpdatePolicySpec, HostUpdatePolicyStatus, UpdatePolicy};
pub use image::{ChecksumType, CustomDeploy, DiskFormat, Image};
pub use names::NamespacedName;
pub use network_interface::{HostNetworkAttachmentReference, HostNetworkInterface, SwitchPort};
pub use preprovisioning_image::{
    PreprovisioningImage, PreprovisioningImageSpec, PreprovisioningImageStatus, RamdiskFormat, SecretVersion,
};
pub use raid::{HardwareRaidLevel, HardwareRaidVolume, RaidConfig, SoftwareRaidLevel, SoftwareRaidVolume};
pub use spec::{BmcDetails, BootMode, CleaningMode, FirmwareConfig, InspectionMode, RootDeviceHints};
pub use state::{ErrorType, OperationalStatus, ProvisioningState};
pub use status::{BareMetalHostStatus, CredentialsStatus, OperationHistory, OperationMetric, ProvisionStatus};
