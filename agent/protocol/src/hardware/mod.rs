//! What the agent finds in a machine, in the shape of Metal3's `HardwareDetails` so that it can be copied to a status, with typed
//! additions for what that shape has no room for. Every field may be empty: what could not be read is named in
//! [`HardwareDetails::unread`], and a report of an older agent simply lacks the newer fields.

mod disk;
mod nic;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

pub use disk::{Disk, NvmeCapabilities};
pub use nic::{LldpNeighbour, Nic};

/// The inventory of one machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HardwareDetails {
    /// SMBIOS type 1.
    pub system_vendor: SystemVendor,
    /// SMBIOS types 2 and 3: the main board and the case.
    pub enclosure: Enclosure,
    /// SMBIOS type 0 and how the machine booted.
    pub firmware: Firmware,
    /// Memory in MiB: what is plugged in when SMBIOS tells, else what the kernel can use.
    pub ram_mebibytes: u64,
    /// Each memory module that is plugged in.
    pub dimms: Vec<Dimm>,
    /// Sockets for memory modules, empty ones included.
    pub dimm_slots: u32,
    /// Processors, as one summary.
    pub cpu: Cpu,
    /// Network interfaces.
    pub nics: Vec<Nic>,
    /// Whole disks that could hold an operating system; never partitions, never removable media.
    pub storage: Vec<Disk>,
    /// What sits on PCI, bridges left out.
    pub pci: Vec<PciDevice>,
    /// The trusted platform module.
    pub tpm: Option<Tpm>,
    /// The management controller as seen from inside. Data, not trust: nobody sends a credential there because of this.
    pub bmc: Option<InBandBmc>,
    /// Host name the machine booted with.
    pub hostname: String,
    /// What should be above and is not, and why.
    pub unread: Vec<Unread>,
}

/// A source that gave nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Unread {
    /// Such as `smbios` or `eth0: lldp`.
    pub source: String,
    /// In words.
    pub why: String,
}

/// SMBIOS type 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemVendor {
    /// Manufacturer.
    pub manufacturer: String,
    /// Product name.
    pub product_name: String,
    /// Serial number.
    pub serial_number: String,
    /// Product family.
    pub family: String,
    /// Stock keeping unit.
    pub sku: String,
    /// UUID as `dmidecode` prints it: the first three fields little-endian from SMBIOS 2.6 on. Lower case.
    pub uuid: String,
    /// The same sixteen bytes in the order in which they are stored, as network boot sends them. Lower case.
    pub uuid_as_stored: String,
    /// Whether the UUID is one that many machines share (all zeros, all ones, known placeholders) and so identifies nothing.
    pub uuid_is_junk: bool,
    /// The same of the serial number.
    pub serial_number_is_junk: bool,
}

/// SMBIOS types 2 and 3.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Enclosure {
    /// Maker of the main board.
    pub board_manufacturer: String,
    /// Product name of the main board.
    pub board_product: String,
    /// Serial number of the main board.
    pub board_serial_number: String,
    /// Maker of the case.
    pub chassis_manufacturer: String,
    /// What kind of case, by SMBIOS's number (DSP0134 table 17): 17 is a main server chassis, 23 a rack mount, 28 a blade.
    pub chassis_type: u8,
    /// Serial number of the case.
    pub chassis_serial_number: String,
    /// Asset tag of the case.
    pub asset_tag: String,
}

/// SMBIOS type 0 and the boot mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Firmware {
    /// BIOS vendor.
    pub vendor: String,
    /// BIOS version.
    pub version: String,
    /// BIOS date.
    pub date: String,
    /// `UEFI` or `legacy`, Metal3's `bootMode` words.
    pub boot_mode: String,
    /// Whether the firmware runs only what is signed; not known under legacy boot or without its variables.
    pub secure_boot: Option<bool>,
}

/// All processors together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
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
    /// Packages with a processor in them; 0 when unknown.
    pub sockets: u32,
    /// Cores of all packages together; 0 when unknown.
    pub cores: u32,
}

/// One memory module, SMBIOS type 17.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Dimm {
    /// Where it is plugged in.
    pub locator: String,
    /// Which bank that is.
    pub bank: String,
    /// Size in MiB.
    pub size_mebibytes: u64,
    /// Such as `DDR4`; a number in words when SMBIOS has a newer kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// Highest speed in MT/s; 0 when unknown.
    pub speed_megatransfers: u32,
    /// Speed it runs at in MT/s; 0 when unknown.
    pub configured_megatransfers: u32,
    /// Maker.
    pub manufacturer: String,
    /// Serial number.
    pub serial_number: String,
    /// Part number.
    pub part_number: String,
}

/// One function of one device on PCI.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PciDevice {
    /// `domain:bus:device.function`.
    pub address: String,
    /// Vendor id, four hexadecimal digits.
    pub vendor: String,
    /// Device id, four hexadecimal digits.
    pub device: String,
    /// Vendor and device id of the card, eight hexadecimal digits with a colon between.
    pub subsystem: String,
    /// Class, subclass and interface, six hexadecimal digits.
    pub class: String,
    /// The kernel's driver; empty when none has taken it.
    pub driver: String,
}

impl PciDevice {
    /// Whether this computes or draws: display controllers (class 03) and processing accelerators (class 12).
    #[must_use]
    pub fn is_gpu(&self) -> bool {
        self.class.starts_with("03") || self.class.starts_with("12")
    }
}

/// A trusted platform module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tpm {
    /// `1.2` or `2.0`.
    pub version: String,
    /// Four letters of the maker, when SMBIOS tells.
    pub vendor: String,
    /// Firmware version, when SMBIOS tells.
    pub firmware: String,
    /// Whether the kernel talks to it; otherwise only SMBIOS says that it is there.
    pub usable: bool,
}

/// The management controller as its own host sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InBandBmc {
    /// How the host talks to it, such as `KCS`, `SSIF` or `redfish host interface`.
    pub interface: String,
    /// Its addresses, unset ones left out.
    pub addresses: Vec<IpAddr>,
    /// MAC of its network interface.
    pub mac: String,
    /// VLAN of its traffic.
    pub vlan: Option<u16>,
    /// `static`, `dhcp`, `bios` or `other`; empty when unknown.
    pub address_source: String,
    /// Firmware revision.
    pub firmware: String,
    /// IPMI version.
    pub ipmi_version: String,
}
