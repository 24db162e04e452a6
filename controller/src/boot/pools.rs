//! The boot server's rule of choice, for whoever stores the lease.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bessemer_pxe::{InvalidIdentity, MacAddr, Pool, PoolExhausted, PoolV6Exhausted, SubnetV6};
use bessemer_reconcilers::outside::{AddressPool, NoAddress};

/// Addresses of one IPv4 subnet.
pub(super) struct PoolV4<'a> {
    pub(super) pool: &'a Pool,
    /// In CIDR form.
    pub(super) subnet: String,
    /// What the machine asks for.
    pub(super) wanted: Option<Ipv4Addr>,
}

impl PoolV4<'_> {
    /// In the boot server's words, for its counters.
    pub(super) fn exhausted(&self, mac: Option<MacAddr>) -> PoolExhausted {
        let mac = mac.unwrap_or(MacAddr([0; 6]));
        PoolExhausted { mac, first: self.pool.first(), last: self.pool.last() }
    }
}

impl AddressPool for PoolV4<'_> {
    fn subnet(&self) -> String {
        self.subnet.clone()
    }

    fn contains(&self, address: IpAddr) -> bool {
        matches!(address, IpAddr::V4(address) if self.pool.contains(address))
    }

    fn pick(&self, mac: &str, taken: &BTreeSet<IpAddr>) -> Result<IpAddr, NoAddress> {
        let free = |address: &Ipv4Addr| self.pool.contains(*address) && !taken.contains(&IpAddr::V4(*address));
        if let Some(wanted) = self.wanted.filter(free) {
            return Ok(wanted.into());
        }
        let taken = taken.iter().filter_map(|address| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        });
        let picked = self.pool.pick(parse(mac)?, &taken.collect());
        picked.map(IpAddr::V4).map_err(|error| NoAddress(error.to_string()))
    }
}

/// Addresses of one IPv6 subnet.
pub(super) struct PoolV6<'a> {
    pub(super) subnet: &'a SubnetV6,
    /// What the machine asks for.
    pub(super) wanted: Option<Ipv6Addr>,
}

impl PoolV6<'_> {
    /// In the boot server's words, for its counters.
    pub(super) fn exhausted(&self) -> Option<PoolV6Exhausted> {
        self.subnet.pool.map(|(first, last)| PoolV6Exhausted { first, last })
    }

    fn holds(&self, address: Ipv6Addr) -> bool {
        self.subnet.pool.is_some_and(|(first, last)| (first..=last).contains(&address))
    }
}

impl AddressPool for PoolV6<'_> {
    fn subnet(&self) -> String {
        format!("{}/{}", self.subnet.network, self.subnet.prefix)
    }

    fn contains(&self, address: IpAddr) -> bool {
        matches!(address, IpAddr::V6(address) if self.holds(address))
    }

    fn pick(&self, mac: &str, taken: &BTreeSet<IpAddr>) -> Result<IpAddr, NoAddress> {
        if let Some(wanted) = self.wanted.filter(|wanted| self.holds(*wanted) && !taken.contains(&IpAddr::V6(*wanted)))
        {
            return Ok(wanted.into());
        }
        let taken = taken.iter().filter_map(|address| match address {
            IpAddr::V6(address) => Some(*address),
            IpAddr::V4(_) => None,
        });
        match self.subnet.pick(&parse(mac)?.0, &taken.collect()) {
            Ok(Some(address)) => Ok(address.into()),
            Ok(None) => Err(NoAddress(format!("the subnet {} has no pool of addresses", self.subnet()))),
            Err(error) => Err(NoAddress(error.to_string())),
        }
    }
}

fn parse(mac: &str) -> Result<MacAddr, NoAddress> {
    mac.parse().map_err(|error: InvalidIdentity| NoAddress(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MAC: &str = "52:54:00:00:00:01";

    #[test]
    fn a_machine_keeps_the_address_that_it_asks_for_where_it_is_free() {
        let pool = Pool::new([10, 0, 0, 10].into(), [10, 0, 0, 12].into()).unwrap();
        let of = |wanted: [u8; 4], taken: &[[u8; 4]]| {
            let pool = PoolV4 { pool: &pool, subnet: "10.0.0.0/24".to_owned(), wanted: Some(wanted.into()) };
            pool.pick(MAC, &taken.iter().map(|address| IpAddr::from(*address)).collect())
        };
        assert_eq!(of([10, 0, 0, 11], &[]), Ok([10, 0, 0, 11].into()));
        assert_eq!(of([10, 0, 0, 11], &[[10, 0, 0, 11], [10, 0, 0, 10]]), Ok([10, 0, 0, 12].into()));
        assert!(of([10, 0, 9, 11], &[]).is_ok_and(|address| address != IpAddr::from([10, 0, 9, 11])));
        assert!(of([10, 0, 0, 11], &[[10, 0, 0, 10], [10, 0, 0, 11], [10, 0, 0, 12]]).is_err());
    }

    #[test]
    fn addresses_of_the_other_family_are_no_part_of_a_pool() {
        let address = |text: &str| text.parse::<Ipv6Addr>().unwrap();
        let subnet = SubnetV6 {
            network: address("fd77::"),
            prefix: 64,
            pool: Some((address("fd77::10"), address("fd77::11"))),
            dns: vec![],
            valid: Duration::from_secs(600),
        };
        let pool = PoolV6 { subnet: &subnet, wanted: None };
        assert_eq!(pool.subnet(), "fd77::/64");
        assert!(pool.contains("fd77::11".parse().unwrap()));
        assert!(!pool.contains("fd77::12".parse().unwrap()) && !pool.contains("10.0.0.1".parse().unwrap()));
        let taken = BTreeSet::from(["10.0.0.1".parse().unwrap(), "fd77::10".parse().unwrap()]);
        assert_eq!(pool.pick(MAC, &taken), Ok("fd77::11".parse().unwrap()));
    }
}
