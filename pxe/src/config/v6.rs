//! The IPv6 side of an interface. Everything in it is off by default.

use std::net::Ipv6Addr;
use std::time::Duration;

/// IPv6 on one interface.
#[derive(Debug, Clone, Default)]
pub struct InterfaceV6 {
    /// The interface's own address that is not link-local: where TFTP and HTTP listen, and what DHCPv6 names. Without
    /// one there is no DHCPv6 on this interface.
    pub address: Option<Ipv6Addr>,
    /// Answer IPv6 router solicitations with "no router here", which saves each iPXE start 14 to 19 seconds where no
    /// router advertises. Configures nothing on anybody, and is silent once another router is heard; still, only for
    /// an interface that is meant for provisioning.
    pub answer_router_solicitations: bool,
    /// The subnets whose addresses are given out here, on the link or behind relay agents.
    pub subnets: Vec<SubnetV6>,
}

/// One IPv6 subnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubnetV6 {
    /// The network's own address, such as `fd77::`.
    pub network: Ipv6Addr,
    /// Length of its prefix.
    pub prefix: u8,
    /// First and last address for machines without a fixed one; none: reservations only.
    pub pool: Option<(Ipv6Addr, Ipv6Addr)>,
    /// Name servers told to the hosts.
    pub dns: Vec<Ipv6Addr>,
    /// How long an address is valid; it is preferred for half of that.
    pub valid: Duration,
}

impl SubnetV6 {
    /// True if `address` lies in it.
    pub fn contains(&self, address: Ipv6Addr) -> bool {
        let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix.min(128))).unwrap_or(0);
        address.to_bits() & mask == self.network.to_bits() & mask
    }
}
