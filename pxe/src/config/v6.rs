//! The IPv6 side of an interface. Everything in it is off by default.

use std::net::Ipv6Addr;
use std::time::Duration;

/// IPv6 on one interface.
#[derive(Debug, Clone, Default)]
pub struct InterfaceV6 {
    /// The interface's own address that is not link-local: where TFTP and HTTP listen, and what DHCPv6 names. Without
    /// one there is no DHCPv6 on this interface.
    pub address: Option<Ipv6Addr>,
    /// Advertise on this link what hosts need besides DHCPv6, and answer their solicitations: addresses come by DHCPv6
    /// (flags M and O), and the subnet is on the link. Without a subnet on the link it says only "no router here", which
    /// saves each iPXE start 14 to 19 seconds where no router advertises. It makes nobody take an address by itself, and
    /// is silent once another router is heard; still, only for an interface that is meant for provisioning.
    pub answer_router_solicitations: bool,
    /// How long hosts may use this machine as their default router; zero unless it does route.
    pub router_lifetime: Duration,
    /// The subnets whose addresses are given out here, on the link or behind relay agents. The one that `address` lies in
    /// is the link's.
    pub subnets: Vec<SubnetV6>,
}

impl InterfaceV6 {
    /// The subnet of the interface's own link.
    pub fn on_link(&self) -> Option<&SubnetV6> {
        let address = self.address?;
        self.subnets.iter().find(|subnet| subnet.contains(address))
    }
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

/// All addresses of an IPv6 pool that were looked at are taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no free address in the pool {first}-{last}: widen the pool or delete leases of machines that are gone")]
pub struct PoolV6Exhausted {
    /// The pool's first address.
    pub first: Ipv6Addr,
    /// The pool's last address.
    pub last: Ipv6Addr,
}

impl SubnetV6 {
    /// Addresses looked at before a pool counts as exhausted: it may hold 2^64 of them.
    const MOST_PROBES: u128 = 65_536;

    /// True if `address` lies in it.
    pub fn contains(&self, address: Ipv6Addr) -> bool {
        let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix.min(128))).unwrap_or(0);
        address.to_bits() & mask == self.network.to_bits() & mask
    }

    /// A free address of the pool for `key` (best a MAC, else the DUID, and the association's number): where a hash of it
    /// points, or the next free one after it. Thus the same machine gets the same address again on an emptied pool, and
    /// two that arrive at once, at one server or at two, rarely want the same one. `None` without a pool.
    ///
    /// # Errors
    /// [`PoolV6Exhausted`] if every address is taken.
    pub fn pick(&self, key: &[u8], taken: impl Fn(Ipv6Addr) -> bool) -> Result<Option<Ipv6Addr>, PoolV6Exhausted> {
        let Some((first, last)) = self.pool else { return Ok(None) };
        // FNV-1a: stable across releases and machines.
        let hash = key
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(0x100_0000_01b3));
        let size = last.to_bits().saturating_sub(first.to_bits()).saturating_add(1);
        (0..size.min(Self::MOST_PROBES))
            .map(|step| Ipv6Addr::from_bits(first.to_bits() + (u128::from(hash) + step) % size))
            .find(|address| !taken(*address))
            .map(Some)
            .ok_or(PoolV6Exhausted { first, last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet(first: &str, last: &str) -> SubnetV6 {
        SubnetV6 {
            network: "fd77::".parse().unwrap(),
            prefix: 64,
            pool: Some((first.parse().unwrap(), last.parse().unwrap())),
            dns: Vec::new(),
            valid: Duration::from_secs(600),
        }
    }

    #[test]
    fn picks_are_stable_distinct_and_end() {
        let subnet = subnet("fd77::1:0", "fd77::1:4");
        assert_eq!(subnet.pick(b"one", |_| false), subnet.pick(b"one", |_| false));
        let mut taken = std::collections::BTreeSet::new();
        for key in 0..5_u8 {
            let address = subnet.pick(&[key], |address| taken.contains(&address)).unwrap().unwrap();
            assert!(subnet.contains(address) && taken.insert(address), "{address}");
        }
        assert!(subnet.pick(b"another", |address| taken.contains(&address)).is_err());
        let free = "fd77::1:3".parse().unwrap();
        taken.remove(&free);
        assert_eq!(subnet.pick(b"another", |address| taken.contains(&address)), Ok(Some(free)));
        let none = SubnetV6 { pool: None, ..subnet };
        assert_eq!(none.pick(b"one", |_| false), Ok(None));
    }

    #[test]
    fn a_pool_of_a_whole_subnet_is_no_trouble() {
        let subnet = subnet("fd77::", "fd77::ffff:ffff:ffff:ffff");
        let address = subnet.pick(b"one", |_| false).unwrap().unwrap();
        assert!(subnet.contains(address));
        assert!(subnet.contains("fd77::9".parse().unwrap()) && !subnet.contains("fd77:0:0:1::9".parse().unwrap()));
    }
}
