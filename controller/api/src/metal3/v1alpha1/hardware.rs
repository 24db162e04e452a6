//! What is known of a host's hardware, as `status.hardware` has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Extra;

/// The inventory of one host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HardwareDetails {
    /// Maker, product and serial number.
    pub system_vendor: SystemVendor,
    /// Firmware.
    pub firmware: Firmware,
    /// Memory in MiB.
    pub ram_mebibytes: i64,
    /// Network interfaces.
    pub nics: Vec<Nic>,
    /// Disks.
    pub storage: Vec<Storage>,
    /// Processors, as one summary.
    pub cpu: Cpu,
    /// Host name at inspection.
    pub hostname: String,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Maker, product and serial number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemVendor {
    /// Maker.
    pub manufacturer: String,
    /// Product.
    pub product_name: String,
    /// Serial number.
    pub serial_number: String,
}

/// Firmware.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Firmware {
    /// The BIOS.
    pub bios: Bios,
}

/// A BIOS.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Bios {
    /// Date.
    pub date: String,
    /// Vendor.
    pub vendor: String,
    /// Version.
    pub version: String,
}

/// All processors together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Cpu {
    /// As `uname -m` says.
    pub arch: String,
    /// Model.
    pub model: String,
    /// Highest clock in MHz.
    pub clock_megahertz: f64,
    /// Instruction set flags.
    pub flags: Vec<String>,
    /// Logical processors.
    pub count: i32,
}

/// One network interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Nic {
    /// Name.
    pub name: String,
    /// Vendor and product ids.
    pub model: String,
    /// MAC address.
    pub mac: String,
    /// IP address.
    pub ip: String,
    /// Speed in Gbit/s.
    pub speed_gbps: i32,
    /// Whether it booted from the network.
    pub pxe: bool,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Storage {
    /// Device path.
    pub name: String,
    /// Other paths.
    pub alternate_names: Vec<String>,
    /// `HDD`, `SSD` or `NVME`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Capacity in bytes.
    pub size_bytes: i64,
    /// Spinning or not.
    pub rotational: bool,
    /// Vendor.
    pub vendor: String,
    /// Model.
    pub model: String,
    /// Serial number.
    pub serial_number: String,
    /// World wide name.
    pub wwn: String,
    /// SCSI address.
    pub hctl: String,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}
