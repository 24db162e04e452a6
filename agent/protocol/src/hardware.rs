//! What the agent finds in a machine, in the shape of Metal3's `HardwareDetails` so that it can be copied to a status.

use serde::{Deserialize, Serialize};

/// The inventory of one machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HardwareDetails {
    /// SMBIOS type 1.
    pub system_vendor: SystemVendor,
    /// SMBIOS type 0 and how the machine booted.
    pub firmware: Firmware,
    /// Memory in MiB.
    pub ram_mebibytes: u64,
    /// Processors, as one summary.
    pub cpu: Cpu,
    /// Network interfaces.
    pub nics: Vec<Nic>,
    /// Whole disks that could hold an operating system; never partitions, never removable media.
    pub storage: Vec<Disk>,
    /// Host name the machine booted with.
    pub hostname: String,
}

/// SMBIOS type 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemVendor {
    /// Manufacturer.
    pub manufacturer: String,
    /// Product name.
    pub product_name: String,
    /// Serial number.
    pub serial_number: String,
}

/// SMBIOS type 0 and the boot mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Firmware {
    /// BIOS vendor.
    pub vendor: String,
    /// BIOS version.
    pub version: String,
    /// BIOS date.
    pub date: String,
    /// `UEFI` or `legacy`, Metal3's `bootMode` words.
    pub boot_mode: String,
}

/// All processors together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cpu {
    /// As `uname -m` says.
    pub arch: String,
    /// Model name.
    pub model: String,
    /// Highest clock in MHz; 0 when unknown.
    pub clock_megahertz: f64,
    /// Instruction set flags.
    pub flags: Vec<String>,
    /// Logical processors.
    pub count: u32,
}

/// One network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// Name in the ramdisk, such as `eth0`.
    pub name: String,
    /// `vendor:device` in hexadecimal when on PCI.
    pub model: String,
    /// Permanent address.
    pub mac: String,
    /// First address, text form.
    pub ip: String,
    /// 0 when unknown.
    pub speed_gbps: u32,
    /// The interface this boot came through.
    pub pxe: bool,
}

/// One whole disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// Device path, such as `/dev/vda`; by-path where the kernel gives one.
    pub name: String,
    /// Other paths of the same disk.
    pub alternate_names: Vec<String>,
    /// `HDD`, `SSD` or `NVME`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Capacity in bytes.
    pub size_bytes: u64,
    /// Spinning or not.
    pub rotational: bool,
    /// Vendor string.
    pub vendor: String,
    /// Model string.
    pub model: String,
    /// Serial number; empty when the disk has none.
    pub serial_number: String,
    /// World wide name; empty when the disk has none.
    pub wwn: String,
    /// SCSI host:channel:target:lun; empty when not SCSI.
    pub hctl: String,
}
