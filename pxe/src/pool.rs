//! The dynamic addresses of one subnet, and the pure rule that picks one for a MAC. Remembering what was picked is the
//! directory's business.

use std::net::Ipv4Addr;

use crate::identity::MacAddr;
use crate::prefix::Prefix;

/// Why a pool cannot be what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPool {
    /// The last address comes before the first.
    #[error("the pool {first}-{last} is empty: its last address comes before its first")]
    Reversed {
        /// First address.
        first: Ipv4Addr,
        /// Last address.
        last: Ipv4Addr,
    },
    /// More addresses than one Ethernet segment holds.
    #[error("the pool {first}-{last} holds more than 65536 addresses")]
    TooLarge {
        /// First address.
        first: Ipv4Addr,
        /// Last address.
        last: Ipv4Addr,
    },
    /// An address that somebody has could be leased.
    #[error("the pool {first}-{last} holds {taken}, which is this server's or a router's")]
    Holds {
        /// First address.
        first: Ipv4Addr,
        /// Last address.
        last: Ipv4Addr,
        /// The address that is not free.
        taken: Ipv4Addr,
    },
    /// The pool does not lie within the subnet that it is served on.
    #[error("the pool {first}-{last} lies outside the subnet {subnet}")]
    OutsideSubnet {
        /// First address.
        first: Ipv4Addr,
        /// Last address.
        last: Ipv4Addr,
        /// The subnet.
        subnet: Prefix,
    },
}

/// All addresses of the pool are taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no free address for {mac} in the pool {first}-{last}: widen the pool or delete leases of machines that are gone"
)]
pub struct PoolExhausted {
    /// Who asked.
    pub mac: MacAddr,
    /// The pool's first address.
    pub first: Ipv4Addr,
    /// The pool's last address.
    pub last: Ipv4Addr,
}

/// An inclusive range of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    first: u32,
    last: u32,
}

impl Pool {
    /// The addresses from `first` to `last`, both included.
    ///
    /// # Errors
    /// [`InvalidPool`] if the range is reversed or larger than 65536 addresses.
    pub fn new(first: Ipv4Addr, last: Ipv4Addr) -> Result<Self, InvalidPool> {
        let (low, high) = (first.to_bits(), last.to_bits());
        match high.checked_sub(low) {
            None => Err(InvalidPool::Reversed { first, last }),
            Some(span) if span > 0xffff => Err(InvalidPool::TooLarge { first, last }),
            Some(_) => Ok(Self { first: low, last: high }),
        }
    }

    /// The pool's first address.
    pub fn first(&self) -> Ipv4Addr {
        self.first.into()
    }

    /// The pool's last address.
    pub fn last(&self) -> Ipv4Addr {
        self.last.into()
    }

    /// How many addresses it has.
    pub fn size(&self) -> u32 {
        self.last - self.first + 1
    }

    /// True if `address` is one of the pool's.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        (self.first..=self.last).contains(&address.to_bits())
    }

    /// A free address for `mac`: where a hash of the MAC points, or the next free one after it. Thus the same MAC gets
    /// the same address again on an emptied pool, and two MACs that arrive at once rarely want the same one.
    ///
    /// `taken` tells the addresses of others: leases, and fixed addresses that lie inside the pool.
    ///
    /// # Errors
    /// [`PoolExhausted`] if every address is taken.
    pub fn pick(&self, mac: MacAddr, taken: impl Fn(Ipv4Addr) -> bool) -> Result<Ipv4Addr, PoolExhausted> {
        let size = u64::from(self.size());
        let start = mac.hash() % size;
        (0..size)
            .filter_map(|step| u32::try_from((start + step) % size).ok())
            .map(|offset| Ipv4Addr::from_bits(self.first + offset))
            .find(|address| !taken(*address))
            .ok_or(PoolExhausted { mac, first: self.first(), last: self.last() })
    }

    /// Neither the network's own address nor its broadcast address can be leased.
    pub(crate) fn check_subnet(&self, subnet: Prefix) -> Result<(), InvalidPool> {
        if subnet.is_host(self.first()) && subnet.is_host(self.last()) {
            return Ok(());
        }
        Err(InvalidPool::OutsideSubnet { first: self.first(), last: self.last(), subnet })
    }

    pub(crate) fn check_without(&self, taken: Ipv4Addr) -> Result<(), InvalidPool> {
        if !self.contains(taken) {
            return Ok(());
        }
        Err(InvalidPool::Holds { first: self.first(), last: self.last(), taken })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(first: &str, last: &str) -> Pool {
        Pool::new(first.parse().unwrap(), last.parse().unwrap()).unwrap()
    }

    fn mac(n: u8) -> MacAddr {
        MacAddr([0x52, 0x54, 0, 0, 0, n])
    }

    #[test]
    fn bad_ranges_are_refused() {
        for (first, last, subnet, prefix, good) in [
            ("10.0.0.10", "10.0.0.20", "10.0.0.1", 24, true),
            ("10.0.0.10", "10.0.0.10", "10.0.0.1", 24, true),
            ("10.0.0.20", "10.0.0.10", "10.0.0.1", 24, false),
            ("10.0.0.10", "10.0.0.20", "10.0.0.15", 24, false),
            ("10.0.0.0", "10.0.0.10", "10.0.0.1", 24, false),
            ("10.0.0.10", "10.0.0.255", "10.0.0.1", 24, false),
            ("10.0.1.10", "10.0.1.20", "10.0.0.1", 24, false),
            ("10.0.0.10", "10.0.1.20", "10.0.0.1", 24, false),
            ("10.0.0.10", "10.0.1.20", "10.0.0.1", 16, true),
            ("10.0.0.0", "10.255.255.255", "10.0.0.1", 8, false),
        ] {
            let server = subnet.parse().unwrap();
            let made = Pool::new(first.parse().unwrap(), last.parse().unwrap()).and_then(|pool| {
                pool.check_subnet(Prefix::of(server, prefix).unwrap())?;
                pool.check_without(server)
            });
            assert_eq!(made.is_ok(), good, "{first}-{last} in {subnet}/{prefix}: {made:?}");
        }
    }

    #[test]
    fn picks_are_stable_distinct_and_end() {
        let pool = pool("10.0.0.10", "10.0.0.14");
        assert_eq!(pool.pick(mac(1), |_| false), pool.pick(mac(1), |_| false));
        let mut taken = std::collections::BTreeSet::new();
        for n in 0..5 {
            let address = pool.pick(mac(n), |address| taken.contains(&address)).unwrap();
            assert!(pool.contains(address));
            assert!(taken.insert(address), "{address} twice");
        }
        assert_eq!(pool.pick(mac(9), |address| taken.contains(&address)).unwrap_err().mac, mac(9));
        taken.remove(&Ipv4Addr::new(10, 0, 0, 13));
        assert_eq!(pool.pick(mac(9), |address| taken.contains(&address)), Ok(Ipv4Addr::new(10, 0, 0, 13)));
    }
}
