//! What is known of a host's hardware: in a BareMetalHost's status, and as HardwareData.

use bessemer_api_macros::api;

use crate::patterns::MAC_WITHIN;

/// The inventory of one host.
#[api]
pub struct HardwareDetails {
    /// Maker, product and serial number.
    pub system_vendor: Option<SystemVendor>,
    /// Firmware.
    pub firmware: Option<Firmware>,
    /// Memory in MiB.
    #[schemars(extend("format" = null))]
    pub ram_mebibytes: Option<i64>,
    /// Network interfaces.
    pub nics: Vec<Nic>,
    /// Disks.
    pub storage: Vec<Storage>,
    /// Processors, as one summary.
    pub cpu: Option<Cpu>,
    /// Host name at inspection.
    pub hostname: Option<String>,
}

impl HardwareDetails {
    /// The machine's serial number; empty while it is not known.
    #[must_use]
    pub fn serial_number(&self) -> &str {
        self.system_vendor.as_ref().and_then(|vendor| vendor.serial_number.as_deref()).unwrap_or_default()
    }
}

/// Maker, product and serial number.
#[api]
#[derive(Eq)]
pub struct SystemVendor {
    /// Maker.
    pub manufacturer: Option<String>,
    /// Product.
    pub product_name: Option<String>,
    /// Serial number.
    pub serial_number: Option<String>,
}

/// Firmware.
#[api]
#[derive(Eq)]
pub struct Firmware {
    /// The BIOS.
    pub bios: Option<Bios>,
}

/// A BIOS.
#[api]
#[derive(Eq)]
pub struct Bios {
    /// Date.
    pub date: Option<String>,
    /// Vendor.
    pub vendor: Option<String>,
    /// Version.
    pub version: Option<String>,
}

/// All processors together.
#[api]
pub struct Cpu {
    /// As `uname -m` says.
    pub arch: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Highest clock in MHz.
    pub clock_megahertz: Option<f64>,
    /// Instruction set flags.
    pub flags: Vec<String>,
    /// Logical processors.
    #[schemars(extend("format" = null))]
    pub count: Option<i64>,
}

/// One network interface.
#[api]
#[derive(Eq)]
pub struct Nic {
    /// Name.
    pub name: Option<String>,
    /// Vendor and product ids.
    pub model: Option<String>,
    /// MAC address.
    #[schemars(regex(pattern = MAC_WITHIN))]
    pub mac: Option<String>,
    /// IP address.
    pub ip: Option<String>,
    /// Speed in Gbit/s.
    #[schemars(extend("format" = null))]
    pub speed_gbps: Option<i64>,
    /// VLANs that can be used through it.
    pub vlans: Vec<Vlan>,
    /// VLAN of untagged frames.
    #[number(0..=4094)]
    pub vlan_id: Option<i32>,
    /// Whether it booted from the network.
    pub pxe: Option<bool>,
    /// What the switch at the other end says of itself.
    pub lldp: Option<Lldp>,
    /// Where it sits on the PCI bus.
    pub pci_address: Option<String>,
}

/// One VLAN.
#[api]
#[derive(Eq)]
pub struct Vlan {
    /// Number.
    #[number(0..=4094)]
    pub id: Option<i32>,
    /// Name.
    pub name: Option<String>,
}

/// The neighbour of an interface, by LLDP.
#[api]
#[derive(Eq)]
pub struct Lldp {
    /// Chassis id of the switch.
    #[serde(rename = "switchID")]
    pub switch_id: Option<String>,
    /// Port id.
    #[serde(rename = "portID")]
    pub port_id: Option<String>,
    /// The switch's name.
    pub switch_system_name: Option<String>,
}

/// One disk.
#[api]
#[derive(Eq)]
pub struct Storage {
    /// Device path.
    pub name: Option<String>,
    /// Other paths.
    pub alternate_names: Vec<String>,
    /// What it is made of.
    #[serde(rename = "type")]
    pub kind: Option<DiskType>,
    /// Capacity in bytes.
    pub size_bytes: Option<i64>,
    /// Spinning or not.
    pub rotational: Option<bool>,
    /// Vendor.
    pub vendor: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial_number: Option<String>,
    /// World wide name.
    pub wwn: Option<String>,
    /// What a vendor adds to that.
    pub wwn_vendor_extension: Option<String>,
    /// Both together.
    pub wwn_with_extension: Option<String>,
    /// SCSI address.
    pub hctl: Option<String>,
}

/// What a disk is made of.
#[api]
pub enum DiskType {
    /// Spinning.
    #[serde(rename = "HDD")]
    Hdd,
    /// Flash, behind SATA or SAS.
    #[serde(rename = "SSD")]
    Ssd,
    /// Flash, behind PCI express.
    #[serde(rename = "NVME")]
    Nvme,
}
