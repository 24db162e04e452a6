//! Network interfaces.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// One network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Nic {
    /// Name in the ramdisk, such as `eth0`.
    pub name: String,
    /// `vendor:device` in hexadecimal when on PCI.
    pub model: String,
    /// Permanent address.
    pub mac: String,
    /// First address, text form.
    pub ip: String,
    /// Every address that is not link-local.
    pub addresses: Vec<IpAddr>,
    /// 0 when unknown.
    pub speed_gbps: u32,
    /// Speed in Mbit/s; 0 when unknown.
    pub speed_mbps: u32,
    /// The interface this boot came through.
    pub pxe: bool,
    /// Whether the link is up; unknown while the interface is down.
    pub carrier: Option<bool>,
    /// The kernel's driver.
    pub driver: String,
    /// `domain:bus:device.function` when on PCI.
    pub pci_address: String,
    /// Whether it hangs on USB, as a management controller's own interface to its host does.
    pub usb: bool,
    /// What the switch at the other end said of itself.
    pub lldp: Option<LldpNeighbour>,
}

/// The neighbour of an interface, IEEE 802.1AB.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LldpNeighbour {
    /// Chassis id, as text by its subtype.
    pub chassis_id: String,
    /// Port id, as text by its subtype.
    pub port_id: String,
    /// Port description.
    pub port_description: String,
    /// System name.
    pub system_name: String,
    /// System description.
    pub system_description: String,
    /// Addresses at which the neighbour is managed.
    pub management_addresses: Vec<IpAddr>,
    /// VLAN of untagged frames (802.1).
    pub native_vlan: Option<u16>,
    /// Number and name of each VLAN that the port announces (802.1).
    pub vlans: Vec<(u16, String)>,
    /// Largest frame (802.3).
    pub max_frame: Option<u16>,
    /// Id of the link aggregation that the port is part of.
    pub aggregation: Option<u32>,
    /// Parts that could not be read, as hexadecimal, each with its type before it.
    pub unreadable: Vec<String>,
}
