//! What can be wrong with the IPv6 side of an interface, in words.

use std::net::Ipv6Addr;
use std::time::Duration;

use super::v6::{InterfaceV6, SubnetV6};

/// Shorter ones make hosts do little else than renew.
const SHORTEST_LEASE: Duration = Duration::from_secs(60);
/// RFC 4861, section 6.2.1.
const LONGEST_ROUTER_LIFETIME: Duration = Duration::from_secs(9000);
/// More would not fit the messages that firmware can hold.
const MOST_NAME_SERVERS: usize = 16;

/// Why IPv6 on an interface cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidV6 {
    /// Not an address that hosts can reach.
    #[error("{0} is no address that hosts can reach: name one that is not link-local, such as fd77::1")]
    Address(Ipv6Addr),
    /// Subnets, and no address that could be named to their hosts.
    #[error("IPv6 subnets without an address of our own: set one of the interface's")]
    NoAddress,
    /// Not a network.
    #[error(
        "{0}/{1} is no IPv6 network with room for hosts: bits behind the prefix are set, or it has not 1 to 127 bits"
    )]
    Network(Ipv6Addr, u8),
    /// Two subnets that share addresses.
    #[error("the subnets {0} and {1} overlap")]
    Overlap(Ipv6Addr, Ipv6Addr),
    /// The pool does not fit.
    #[error("the pool {first}-{last} is empty, lies outside the subnet {network}/{prefix}, or holds our own address")]
    Pool {
        /// First address.
        first: Ipv6Addr,
        /// Last address.
        last: Ipv6Addr,
        /// The subnet.
        network: Ipv6Addr,
        /// The subnet's length.
        prefix: u8,
    },
    /// A time that cannot be told or kept.
    #[error("the lifetime {0:?} of addresses is out of range: one minute to 136 years")]
    Lifetime(Duration),
    /// Longer than the RFC allows.
    #[error("the router lifetime {0:?} is out of range: at most 9000 seconds")]
    RouterLifetime(Duration),
    /// More than firmware can hold.
    #[error("the subnet {0} names too many name servers: at most {MOST_NAME_SERVERS}")]
    NameServers(Ipv6Addr),
}

impl InterfaceV6 {
    /// # Errors
    /// The first thing found wrong.
    pub(super) fn check(&self) -> Result<(), InvalidV6> {
        let unusable =
            |address: &Ipv6Addr| address.is_unspecified() || address.is_multicast() || address.is_unicast_link_local();
        match self.address {
            Some(address) if unusable(&address) => return Err(InvalidV6::Address(address)),
            None if !self.subnets.is_empty() => return Err(InvalidV6::NoAddress),
            _ => {}
        }
        if self.router_lifetime > LONGEST_ROUTER_LIFETIME {
            return Err(InvalidV6::RouterLifetime(self.router_lifetime));
        }
        for (index, subnet) in self.subnets.iter().enumerate() {
            self.check_subnet(subnet)?;
            let others = self.subnets.iter().skip(index + 1);
            let overlaps = |other: &&SubnetV6| subnet.contains(other.network) || other.contains(subnet.network);
            if let Some(other) = others.clone().find(overlaps) {
                return Err(InvalidV6::Overlap(subnet.network, other.network));
            }
        }
        Ok(())
    }

    fn check_subnet(&self, subnet: &SubnetV6) -> Result<(), InvalidV6> {
        let SubnetV6 { network, prefix, .. } = *subnet;
        let host_bits = u128::MAX.checked_shr(prefix.into()).unwrap_or(0);
        if !(1..=127).contains(&prefix) || network.to_bits() & host_bits != 0 || network.is_multicast() {
            return Err(InvalidV6::Network(network, prefix));
        }
        if let Some((first, last)) = subnet.pool {
            let holds = |address: Ipv6Addr| first <= address && address <= last;
            let fits = first <= last && subnet.contains(first) && subnet.contains(last);
            // The network's own address is that of any router on it (RFC 4291, section 2.6.1).
            if !fits || holds(network) || self.address.is_some_and(holds) {
                return Err(InvalidV6::Pool { first, last, network, prefix });
            }
        }
        if subnet.valid < SHORTEST_LEASE || u32::try_from(subnet.valid.as_secs()).is_err() {
            return Err(InvalidV6::Lifetime(subnet.valid));
        }
        if subnet.dns.len() > MOST_NAME_SERVERS {
            return Err(InvalidV6::NameServers(network));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> InterfaceV6 {
        InterfaceV6 {
            address: Some("fd77::1".parse().unwrap()),
            answer_router_solicitations: true,
            router_lifetime: Duration::ZERO,
            subnets: vec![SubnetV6 {
                network: "fd77::".parse().unwrap(),
                prefix: 64,
                pool: Some(("fd77::1:0".parse().unwrap(), "fd77::1:ffff".parse().unwrap())),
                dns: vec!["fd77::1".parse().unwrap()],
                valid: Duration::from_secs(600),
            }],
        }
    }

    #[test]
    fn what_cannot_work_is_said() {
        type Change = fn(&mut InterfaceV6);
        let address = |text: &str| text.parse::<Ipv6Addr>().unwrap();
        let pool = |first, last| InvalidV6::Pool {
            first: address(first),
            last: address(last),
            network: address("fd77::"),
            prefix: 64,
        };
        let cases: [(Change, Option<InvalidV6>); 12] = [
            (|_| (), None),
            (|v6| *v6 = InterfaceV6::default(), None),
            (|v6| v6.subnets[0].pool = None, None),
            (|v6| v6.address = None, Some(InvalidV6::NoAddress)),
            (|v6| v6.address = Some("fe80::1".parse().unwrap()), Some(InvalidV6::Address(address("fe80::1")))),
            (|v6| v6.subnets[0].network = "fd77::1".parse().unwrap(), Some(InvalidV6::Network(address("fd77::1"), 64))),
            (|v6| v6.subnets[0].prefix = 128, Some(InvalidV6::Network(address("fd77::"), 128))),
            (
                |v6| v6.subnets[0].pool = Some(("fd78::1".parse().unwrap(), "fd78::2".parse().unwrap())),
                Some(pool("fd78::1", "fd78::2")),
            ),
            (
                |v6| v6.subnets[0].pool = Some(("fd77::9".parse().unwrap(), "fd77::8".parse().unwrap())),
                Some(pool("fd77::9", "fd77::8")),
            ),
            (
                |v6| v6.subnets[0].pool = Some(("fd77::1".parse().unwrap(), "fd77::8".parse().unwrap())),
                Some(pool("fd77::1", "fd77::8")),
            ),
            (|v6| v6.subnets[0].valid = Duration::from_secs(5), Some(InvalidV6::Lifetime(Duration::from_secs(5)))),
            (
                |v6| v6.router_lifetime = Duration::from_secs(9001),
                Some(InvalidV6::RouterLifetime(Duration::from_secs(9001))),
            ),
        ];
        for (index, (change, expected)) in cases.into_iter().enumerate() {
            let mut v6 = good();
            change(&mut v6);
            assert_eq!(v6.check().err(), expected, "case {index}");
        }
        let mut v6 = good();
        v6.subnets.push(SubnetV6 { network: address("fd77::"), prefix: 32, pool: None, ..v6.subnets[0].clone() });
        assert_eq!(v6.check(), Err(InvalidV6::Overlap(address("fd77::"), address("fd77::"))));
    }
}
