//! The links of network data: interfaces, bonds, VLANs.

use bessemer_api_macros::api;
use serde_json::Value;

use super::FromAnnotation;

/// A name that the kernel takes for an interface.
const INTERFACE_NAME: &str = "^[a-zA-Z][a-zA-Z0-9._-]*$";

/// Links, by kind.
#[api]
pub struct NetworkLinks {
    /// Interfaces.
    #[list(map(id), 1..=32)]
    pub ethernets: Vec<EthernetLink>,
    /// Bonds.
    #[list(map(id), 1..=512)]
    pub bonds: Vec<BondLink>,
    /// VLANs.
    #[list(map(vlanID), 1..=512)]
    pub vlans: Vec<VlanLink>,
}

/// An interface.
#[api(no_default)]
#[derive(Eq)]
pub struct EthernetLink {
    /// By which others refer to it.
    #[text(1..=512)]
    pub id: String,
    /// Name in the system.
    #[text(1..=15, INTERFACE_NAME)]
    pub name: Option<String>,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: EthernetType,
    /// Largest frame.
    #[number(1280..=9000)]
    #[schemars(extend("x-default" = 1500))]
    pub mtu: Option<i32>,
    /// MAC address.
    pub mac_address: LinkMac,
}

/// What an interface is; `phy` is a physical one.
#[api]
pub enum EthernetType {
    /// Linux bridge.
    #[serde(rename = "bridge")]
    Bridge,
    /// Distributed virtual switch.
    #[serde(rename = "dvs")]
    Dvs,
    /// Bridge in the hardware.
    #[serde(rename = "hw_veb")]
    HwVeb,
    /// Hyper-V.
    #[serde(rename = "hyperv")]
    Hyperv,
    /// Open vSwitch.
    #[serde(rename = "ovs")]
    Ovs,
    /// TAP device.
    #[serde(rename = "tap")]
    Tap,
    /// vhost-user.
    #[serde(rename = "vhostuser")]
    Vhostuser,
    /// Virtual interface.
    #[serde(rename = "vif")]
    Vif,
    /// Physical.
    #[serde(rename = "phy")]
    Phy,
}

/// A bond.
#[api(no_default)]
pub struct BondLink {
    /// By which others refer to it.
    #[text(1..=512)]
    pub id: String,
    /// Name in the system.
    #[text(1..=15, INTERFACE_NAME)]
    pub name: Option<String>,
    /// How its links share the work.
    pub bond_mode: BondMode,
    /// What tells the link for a frame.
    pub bond_xmit_hash_policy: Option<BondHashPolicy>,
    /// Largest frame.
    #[number(1280..=9000)]
    #[schemars(extend("x-default" = 1500))]
    pub mtu: Option<i32>,
    /// MAC address.
    pub mac_address: LinkMac,
    /// Further parameters of the kernel's driver.
    #[required]
    #[list(map(name), 1..=512)]
    pub parameters: Vec<BondParameter>,
    /// Ids of its links.
    #[list(set, ..=512, each(1..=512))]
    pub bond_links: Vec<String>,
}

/// A parameter of a bond.
#[api]
pub struct BondParameter {
    /// Name.
    #[text(1..=512)]
    pub name: String,
    /// Value.
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub value: Option<Value>,
}

/// How the links of a bond share the work.
#[api]
pub enum BondMode {
    /// In turn.
    #[serde(rename = "balance-rr")]
    BalanceRr,
    /// One works, the others wait.
    #[serde(rename = "active-backup")]
    ActiveBackup,
    /// By a hash of the frame.
    #[serde(rename = "balance-xor")]
    BalanceXor,
    /// All send all.
    #[serde(rename = "broadcast")]
    Broadcast,
    /// By load when sending.
    #[serde(rename = "balance-tlb")]
    BalanceTlb,
    /// By load both ways.
    #[serde(rename = "balance-alb")]
    BalanceAlb,
    /// LACP.
    #[serde(rename = "802.3ad")]
    Lacp,
}

/// What tells the link for a frame.
#[api]
pub enum BondHashPolicy {
    /// MAC addresses.
    #[serde(rename = "layer2")]
    Layer2,
    /// IP addresses and ports.
    #[serde(rename = "layer3+4")]
    Layer34,
    /// MAC and IP addresses.
    #[serde(rename = "layer2+3")]
    Layer23,
}

/// A VLAN.
#[api]
#[derive(Eq)]
pub struct VlanLink {
    /// By which others refer to it.
    #[text(1..=512)]
    pub id: String,
    /// Name in the system.
    #[text(1..=15, INTERFACE_NAME)]
    pub name: Option<String>,
    /// Number.
    #[serde(rename = "vlanID")]
    #[number(0..=4096)]
    pub vlan_id: i32,
    /// Id of the link that it is on.
    #[text(1..=512)]
    pub vlan_link: String,
    /// Largest frame.
    #[number(1280..=9000)]
    #[schemars(extend("x-default" = 1500))]
    pub mtu: Option<i32>,
    /// MAC address.
    pub mac_address: LinkMac,
}

/// Where a link's MAC address comes from: one of these.
#[api]
#[derive(Eq)]
pub struct LinkMac {
    /// The address itself.
    #[text(1..=512)]
    pub string: Option<String>,
    /// Name of an interface of the host.
    #[text(1..=512)]
    pub from_host_interface: Option<String>,
    /// An annotation.
    pub from_annotation: Option<FromAnnotation>,
}
