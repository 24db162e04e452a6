//! The hardware of a server as its BMC knows it.

use serde::Serialize;

use crate::{Health, MacAddress};

/// The hardware of a server. What the BMC does not tell is left out; lists are in a stable order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// Processors, accelerators apart.
    pub processors: Vec<Processor>,
    /// GPUs, FPGAs and the like, where the BMC lists them as processors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accelerators: Vec<Processor>,
    /// Memory of the server in MiB: the sum of its modules or, without them, what the BMC says in one number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Memory modules; empty places are left out.
    pub memory: Vec<MemoryModule>,
    /// Network interfaces of the server, one for each port.
    pub nics: Vec<Nic>,
    /// Drives; empty bays are left out.
    pub drives: Vec<Drive>,
    /// Power supplies; empty bays are left out.
    pub power_supplies: Vec<PowerSupply>,
    /// Versions of everything that has firmware.
    pub firmware: Vec<Firmware>,
    /// Parts that could not be read, and why; the rest is complete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
}

/// A processor in its socket.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Processor {
    /// Socket, as `CPU.Socket.1`.
    pub name: String,
    /// Manufacturer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Instruction set as `x86_64` or `aarch64`; else as the BMC writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// Cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u64>,
    /// Hardware threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// The highest clock in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_speed_mhz: Option<u64>,
    /// How well it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

/// A memory module.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryModule {
    /// Place, as `DIMM A1`.
    pub name: String,
    /// Capacity in MiB.
    pub capacity_mib: u64,
    /// Technology, as `DDR4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Clock it runs at, in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mhz: Option<u64>,
    /// Manufacturer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Part number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// How well it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

/// A port of a network card, or a function of it that has an address of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// What the BMC calls it. Names of ports collide between cards: a NIC is known by its address.
    pub name: String,
    /// Permanent address where told, else the one in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacAddress>,
    /// Card it is on, as `NIC.Integrated.1` and its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// Speed in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<u64>,
    /// Whether the BMC sees a link. Many see none where there is one: not fit to choose by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<bool>,
    /// How well it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

/// A drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drive {
    /// What the BMC calls it.
    pub name: String,
    /// Capacity in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// `HDD`, `SSD`, or as the BMC writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How it is connected: `SATA`, `SAS`, `NVMe`, or as the BMC writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Manufacturer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// World-wide name or NVMe EUI, as the BMC writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// Controller or bay group it hangs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// How well it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

/// A power supply.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PowerSupply {
    /// What the BMC calls it.
    pub name: String,
    /// What it can give, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_watts: Option<f64>,
    /// Manufacturer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Version of its firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// How well it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

/// Something that has firmware, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Firmware {
    /// What the BMC calls it; for Redfish the path, which is what an update names as its target.
    pub id: String,
    /// What it is for people.
    pub name: String,
    /// Version; none where the BMC leaves it empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// When it was released, as the BMC writes it: it need not be a date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released: Option<String>,
    /// Whether an update can name it; none when the BMC does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updateable: Option<bool>,
}
