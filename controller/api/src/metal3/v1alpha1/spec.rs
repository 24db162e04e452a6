//! Parts of a BareMetalHost's spec.

use bessemer_api_macros::api;

/// How to reach a management controller.
#[api]
#[derive(Eq)]
pub struct BmcDetails {
    /// URL of the BMC, such as `ipmi://192.0.2.7`.
    pub address: String,
    /// Secret with the keys `username` and `password`.
    #[serde(default)]
    pub credentials_name: String,
    /// Whether any certificate of the BMC is taken.
    pub disable_certificate_verification: Option<bool>,
}

/// Which disk to write to: every given field must hold of it.
#[api]
#[derive(Eq)]
pub struct RootDeviceHints {
    /// Exact device path.
    pub device_name: Option<String>,
    /// Exact SCSI address.
    pub hctl: Option<String>,
    /// Substring of the model.
    pub model: Option<String>,
    /// Substring of the vendor.
    pub vendor: Option<String>,
    /// Exact serial number.
    pub serial_number: Option<String>,
    /// At least this size, in GiB.
    #[number(0..)]
    #[schemars(extend("format" = null))]
    pub min_size_gigabytes: Option<i64>,
    /// Exact world wide name.
    pub wwn: Option<String>,
    /// Exact world wide name, with what the vendor adds to it.
    pub wwn_with_extension: Option<String>,
    /// Exactly what the vendor adds to the world wide name.
    pub wwn_vendor_extension: Option<String>,
    /// Spinning or not.
    pub rotational: Option<bool>,
}

/// Firmware settings as they were given before HostFirmwareSettings. Still in the schema; admission refuses them.
#[api]
#[derive(Eq)]
pub struct FirmwareConfig {
    /// Virtualisation of processors.
    #[schemars(extend("enum" = [true, false]))]
    pub virtualization_enabled: Option<bool>,
    /// Two threads a core.
    #[schemars(extend("enum" = [true, false]))]
    pub simultaneous_multithreading_enabled: Option<bool>,
    /// Virtual functions of PCI devices.
    #[schemars(extend("enum" = [true, false]))]
    pub sriov_enabled: Option<bool>,
}

/// How a host boots.
#[api]
pub enum BootMode {
    /// UEFI.
    #[serde(rename = "UEFI")]
    Uefi,
    /// UEFI, which runs only what is signed.
    #[serde(rename = "UEFISecureBoot")]
    UefiSecureBoot,
    /// BIOS.
    #[serde(rename = "legacy")]
    Legacy,
}

/// What is erased when a host is prepared and when it is taken back.
#[api]
pub enum CleaningMode {
    /// Partition tables.
    #[serde(rename = "metadata")]
    Metadata,
    /// Nothing.
    #[serde(rename = "disabled")]
    Disabled,
}

/// How a host is looked at.
#[api]
pub enum InspectionMode {
    /// Not at all.
    #[serde(rename = "disabled")]
    Disabled,
    /// By the agent in the ramdisk.
    #[serde(rename = "agent")]
    Agent,
    /// Through its BMC.
    #[serde(rename = "fast")]
    Fast,
}
