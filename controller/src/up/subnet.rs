//! Our address on the hosts' network, and the pool that follows from it when none is given.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use bessemer_pxe::Pool;

/// An address of ours with the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subnet {
    pub(crate) address: Ipv4Addr,
    pub(crate) prefix: u8,
}

/// Shortest and longest prefix that a pool can be made from without being told.
const POOL_PREFIXES: std::ops::RangeInclusive<u8> = 16..=29;

impl Subnet {
    /// The upper half of the subnet, or the lower one if our own address lies in the upper. None if the subnet is
    /// very large or very small.
    pub(crate) fn default_pool(self) -> Option<Pool> {
        if !POOL_PREFIXES.contains(&self.prefix) {
            return None;
        }
        let size = 1_u32 << (32 - u32::from(self.prefix));
        let network = self.network().to_bits();
        let middle = network + size / 2;
        let (first, last) =
            if self.address.to_bits() >= middle { (network + 1, middle - 1) } else { (middle, network + size - 2) };
        Pool::new(first.into(), last.into()).ok()
    }

    /// The network's own address.
    pub(crate) fn network(self) -> Ipv4Addr {
        let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
        Ipv4Addr::from_bits(self.address.to_bits() & mask)
    }
}

impl FromStr for Subnet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no address with a prefix length, such as 10.77.0.1/24");
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let address = address.parse().map_err(|_| wrong())?;
        let prefix = prefix.parse().ok().filter(|prefix| (1..=30).contains(prefix)).ok_or_else(wrong)?;
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_pool_leaves_our_own_address_out() {
        for (subnet, pool) in [
            ("10.77.0.1/24", Some("10.77.0.128-10.77.0.254")),
            ("10.77.0.200/24", Some("10.77.0.1-10.77.0.127")),
            ("10.77.0.128/24", Some("10.77.0.1-10.77.0.127")),
            ("192.168.3.9/16", Some("192.168.128.0-192.168.255.254")),
            ("10.0.0.2/29", Some("10.0.0.4-10.0.0.6")),
            ("10.0.0.2/30", None),
            ("10.0.0.2/8", None),
        ] {
            let found = subnet.parse::<Subnet>().unwrap().default_pool();
            let found = found.map(|pool| format!("{}-{}", pool.first(), pool.last()));
            assert_eq!(found.as_deref(), pool, "{subnet}");
        }
    }

    #[test]
    fn what_is_no_subnet_is_refused() {
        for text in ["10.77.0.1", "10.77.0.1/0", "10.77.0.1/31", "10.77.0/24", "fd77::1/64", "/24"] {
            assert!(text.parse::<Subnet>().is_err(), "{text}");
        }
    }
}
