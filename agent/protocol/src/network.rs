//! Network configuration of the ramdisk for hosts that cannot just ask a DHCP server.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// What to set up before enrolment. Without one the ramdisk asks by DHCP on the NIC that it booted through, or else on all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkConfig {
    /// In the order in which they are made: a VLAN comes after what it is on, a bond after its members.
    pub links: Vec<Link>,
    /// Name servers, before those that DHCP tells.
    pub resolvers: Vec<IpAddr>,
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// What others in this configuration call it. A bond or VLAN gets this name; a NIC keeps the kernel's.
    pub id: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: LinkKind,
    /// Largest packet in bytes; the driver's choice when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Where its addresses come from; an empty list for what only carries other links.
    #[serde(default)]
    pub addresses: Vec<AddressSource>,
    /// Routes through it.
    #[serde(default)]
    pub routes: Vec<Route>,
}

/// What an interface is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum LinkKind {
    /// A NIC.
    Physical {
        /// Its permanent address.
        mac: String,
    },
    /// A VLAN.
    Vlan {
        /// Id of the link it is on.
        on: String,
        /// 1 to 4094.
        vlan: u16,
    },
    /// Several NICs as one.
    Bond {
        /// Ids of its members.
        members: Vec<String>,
        /// How they share the traffic.
        mode: BondMode,
        /// Address of the bond; that of the first member when not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mac: Option<String>,
    },
}

/// The kernel's bonding modes, by the kernel's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BondMode {
    /// 0: in turn.
    #[serde(rename = "balance-rr")]
    BalanceRr,
    /// 1: one at a time.
    #[serde(rename = "active-backup")]
    ActiveBackup,
    /// 2: by a hash.
    #[serde(rename = "balance-xor")]
    BalanceXor,
    /// 3: on all.
    #[serde(rename = "broadcast")]
    Broadcast,
    /// 4: LACP.
    #[serde(rename = "802.3ad")]
    Lacp,
    /// 5: adaptive when sending.
    #[serde(rename = "balance-tlb")]
    BalanceTlb,
    /// 6: adaptive both ways.
    #[serde(rename = "balance-alb")]
    BalanceAlb,
}

/// Where an address comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "from")]
pub enum AddressSource {
    /// DHCPv4.
    Dhcp4,
    /// DHCPv6, stateful. Prefix length and routes come by router advertisements.
    Dhcp6,
    /// Given here.
    Static {
        /// The address.
        address: IpAddr,
        /// Length of its network's prefix in bits.
        prefix: u8,
    },
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// Network it leads to.
    pub destination: IpAddr,
    /// Length of that network's prefix in bits; 0 is the default route.
    pub prefix: u8,
    /// Next hop; none when the network is on the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    /// Lower is preferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_reads_as_people_write_it() {
        let text = r#"{"links": [
            {"id": "a", "type": "physical", "mac": "52:54:00:00:00:01"},
            {"id": "bond0", "type": "bond", "members": ["a"], "mode": "802.3ad", "mtu": 9000},
            {"id": "bond0.7", "type": "vlan", "on": "bond0", "vlan": 7,
             "addresses": [{"from": "static", "address": "192.0.2.7", "prefix": 24}, {"from": "dhcp6"}],
             "routes": [{"destination": "0.0.0.0", "prefix": 0, "gateway": "192.0.2.1"}]}],
            "resolvers": ["192.0.2.53"]}"#;
        let read: NetworkConfig = serde_json::from_str(text).unwrap();
        let bond = LinkKind::Bond { members: vec!["a".into()], mode: BondMode::Lacp, mac: None };
        assert_eq!((&read.links[1].kind, read.links[1].mtu), (&bond, Some(9000)));
        assert_eq!(read.links[2].addresses[1], AddressSource::Dhcp6);
        let again: NetworkConfig = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);
    }
}
