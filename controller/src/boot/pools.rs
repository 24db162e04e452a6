//! The boot server's rule of choice, for whoever stores the lease.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bessemer_pxe::{InvalidIdentity, MacAddr, Pool, Subnet, SubnetV6};
use bessemer_reconcilers::outside::{AddressPool, NoAddress};

/// Addresses of one IPv4 subnet.
pub(super) struct PoolV4<'a> {
    pub(super) pool: &'a Pool,
    pub(super) subnet: &'a Subnet,
    /// What the machine asks for.
    pub(super) wanted: Option<Ipv4Addr>,
}

impl AddressPool for PoolV4<'_> {
    fn subnet(&self) -> String {
        self.subnet.prefix.to_string()
    }

    fn contains(&self, address: IpAddr) -> bool {
        matches!(address, IpAddr::V4(address) if self.pool.contains(address))
    }

    fn size(&self) -> u128 {
        self.pool.size().into()
    }

    fn reserve(&self, address: IpAddr) -> Result<(), NoAddress> {
        let Subnet { prefix, router, dns, ntp, .. } = self.subnet;
        match address {
            IpAddr::V4(address) if prefix.is_host(address) => {
                let servers = router.iter().chain(dns).chain(ntp);
                match servers.into_iter().any(|server| *server == address) {
                    true => {
                        Err(NoAddress(format!("the reserved address {address} is a router's or server's of {prefix}")))
                    }
                    false => Ok(()),
                }
            }
            address => Err(outside(address, &self.subnet())),
        }
    }

    fn pick(&self, mac: &str, taken: &dyn Fn(IpAddr) -> bool) -> Result<IpAddr, NoAddress> {
        let taken = |address: Ipv4Addr| taken(address.into());
        if let Some(wanted) = self.wanted.filter(|wanted| self.pool.contains(*wanted) && !taken(*wanted)) {
            return Ok(wanted.into());
        }
        let picked = self.pool.pick(parse(mac)?, taken);
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

    fn size(&self) -> u128 {
        self.subnet.pool.map_or(0, |(first, last)| last.to_bits().saturating_sub(first.to_bits()).saturating_add(1))
    }

    fn reserve(&self, address: IpAddr) -> Result<(), NoAddress> {
        match address {
            IpAddr::V6(address) if self.subnet.contains(address) && address != self.subnet.network => Ok(()),
            address => Err(outside(address, &self.subnet())),
        }
    }

    fn pick(&self, mac: &str, taken: &dyn Fn(IpAddr) -> bool) -> Result<IpAddr, NoAddress> {
        let taken = |address: Ipv6Addr| taken(address.into());
        if let Some(wanted) = self.wanted.filter(|wanted| self.holds(*wanted) && !taken(*wanted)) {
            return Ok(wanted.into());
        }
        match self.subnet.pick(&parse(mac)?.0, taken) {
            Ok(Some(address)) => Ok(address.into()),
            Ok(None) => Err(NoAddress(format!("the subnet {} has no pool of addresses", self.subnet()))),
            Err(error) => Err(NoAddress(error.to_string())),
        }
    }
}

fn outside(address: IpAddr, subnet: &str) -> NoAddress {
    NoAddress(format!("the reserved address {address} lies outside the subnet {subnet}, where the machine asks"))
}

fn parse(mac: &str) -> Result<MacAddr, NoAddress> {
    mac.parse().map_err(|error: InvalidIdentity| NoAddress(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bessemer_pxe::Reach;

    use super::*;

    const MAC: &str = "52:54:00:00:00:01";

    #[test]
    fn a_machine_keeps_the_address_that_it_asks_for_where_it_is_free() {
        let pool = Pool::new([10, 0, 0, 10].into(), [10, 0, 0, 12].into()).unwrap();
        let subnet = Subnet::new("10.0.0.0/24".parse().unwrap(), Reach::Relayed);
        let of = |wanted: [u8; 4], taken: &[[u8; 4]]| {
            let pool = PoolV4 { pool: &pool, subnet: &subnet, wanted: Some(wanted.into()) };
            pool.pick(MAC, &|address| taken.iter().any(|other| IpAddr::from(*other) == address))
        };
        assert_eq!(of([10, 0, 0, 11], &[]), Ok([10, 0, 0, 11].into()));
        assert_eq!(of([10, 0, 0, 11], &[[10, 0, 0, 11], [10, 0, 0, 10]]), Ok([10, 0, 0, 12].into()));
        assert!(of([10, 0, 9, 11], &[]).is_ok_and(|address| address != IpAddr::from([10, 0, 9, 11])));
        assert!(of([10, 0, 0, 11], &[[10, 0, 0, 10], [10, 0, 0, 11], [10, 0, 0, 12]]).is_err());
    }

    #[test]
    fn a_reserved_address_is_one_that_a_machine_of_the_subnet_can_have() {
        let pool = Pool::new([10, 0, 0, 10].into(), [10, 0, 0, 12].into()).unwrap();
        let mut subnet = Subnet::new("10.0.0.0/24".parse().unwrap(), Reach::Relayed);
        (subnet.router, subnet.dns) = (Some([10, 0, 0, 1].into()), vec![[10, 0, 0, 2].into()]);
        let pool = PoolV4 { pool: &pool, subnet: &subnet, wanted: None };
        for (address, why) in [
            ("10.0.0.50", None),
            ("10.0.0.11", None),
            ("10.0.0.1", Some("a router's or server's")),
            ("10.0.0.2", Some("a router's or server's")),
            ("10.0.0.255", Some("outside the subnet 10.0.0.0/24")),
            ("10.0.1.50", Some("outside the subnet 10.0.0.0/24")),
            ("fd77::1", Some("outside the subnet 10.0.0.0/24")),
        ] {
            let error = pool.reserve(address.parse().unwrap()).err().map(|error| error.0);
            match (why, error) {
                (None, None) => {}
                (Some(why), Some(error)) => assert!(error.contains(why), "{error}"),
                (why, error) => panic!("{address}: {why:?}, but {error:?}"),
            }
        }
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
        assert_eq!((pool.subnet().as_str(), pool.size()), ("fd77::/64", 2));
        assert!(pool.contains("fd77::11".parse().unwrap()));
        assert!(!pool.contains("fd77::12".parse().unwrap()) && !pool.contains("10.0.0.1".parse().unwrap()));
        assert!(pool.reserve("fd77::1:1".parse().unwrap()).is_ok());
        assert!(
            pool.reserve("fd78::1".parse().unwrap()).is_err() && pool.reserve("10.0.0.1".parse().unwrap()).is_err()
        );
        let taken = ["10.0.0.1".parse().unwrap(), "fd77::10".parse().unwrap()];
        assert_eq!(pool.pick(MAC, &|address| taken.contains(&address)), Ok("fd77::11".parse().unwrap()));
    }
}
