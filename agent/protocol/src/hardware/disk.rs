//! Disks.

use serde::{Deserialize, Serialize};

/// One whole disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Disk {
    /// Device path, such as `/dev/vda`.
    pub name: String,
    /// Other paths of the same disk, by-path and by-id.
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
    /// The second half of a sixteen-byte world wide name, with `0x`; empty when there is none.
    pub wwn_vendor_extension: String,
    /// Both halves together, with one `0x`; the same as `wwn` when there is no second half.
    pub wwn_with_extension: String,
    /// SCSI host:channel:target:lun; empty when not SCSI.
    pub hctl: String,
    /// `nvme`, `sata`, `sas`, `usb`, `virtio`, `scsi` and so on; empty when unknown.
    pub transport: String,
    /// Firmware revision.
    pub firmware: String,
    /// Takes no writes.
    pub read_only: bool,
    /// Logical sector size in bytes; 0 when unknown.
    pub logical_block_bytes: u32,
    /// Physical sector size in bytes; 0 when unknown.
    pub physical_block_bytes: u32,
    /// `domain:bus:device.function` of its controller when on PCI.
    pub pci_address: String,
    /// What its controller can do, of an NVMe disk that answered.
    pub nvme: Option<NvmeCapabilities>,
}

/// Capability bits of an NVMe controller (NVM Express base specification, Identify Controller).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent bits of the specification")]
pub struct NvmeCapabilities {
    /// SANICAP bit 0.
    pub sanitize_crypto: bool,
    /// SANICAP bit 1.
    pub sanitize_block: bool,
    /// SANICAP bit 2.
    pub sanitize_overwrite: bool,
    /// OACS bit 1.
    pub format: bool,
    /// FNA bit 2.
    pub format_crypto: bool,
    /// FNA bit 1: an erase by format takes all namespaces of the controller, not one.
    pub format_erases_all: bool,
    /// NN: namespaces that the controller can have.
    pub namespaces: u32,
}
