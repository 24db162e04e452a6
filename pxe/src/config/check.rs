//! What can be wrong with a configuration, in words.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::check_v6::InvalidV6;
use super::{Config, Interface, Mode, Reach, Subnet};
use crate::pool::InvalidPool;
use crate::prefix::Prefix;
use crate::programs::InvalidProgram;
use crate::script::{InvalidValue, KernelLine};

/// Shorter ones make hosts do little else than renew.
const SHORTEST_LEASE: Duration = Duration::from_secs(60);
/// `IFNAMSIZ` less the zero at its end.
const LONGEST_NAME: usize = 15;
/// What fits into one option (RFC 2132: a length octet), in addresses.
const MOST_ADDRESSES: usize = 63;

/// Why a configuration cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidConfig {
    /// Nothing to listen on.
    #[error("no interface is named: a boot server needs one towards the hosts or their relay agents")]
    NoInterface,
    /// Not a name that an interface can have.
    #[error("`{0}` is no name of an interface (1 to 15 characters, no space and no slash)")]
    InterfaceName(String),
    /// The same interface or address twice.
    #[error("{0} is configured twice: name each interface and each of our addresses once")]
    Twice(String),
    /// An interface without a usable address.
    #[error("{address} of {interface} is no address that hosts can reach")]
    InterfaceAddress {
        /// Which interface.
        interface: String,
        /// Its address.
        address: Ipv4Addr,
    },
    /// A subnet on an interface that is not configured.
    #[error("the subnet {subnet} is said to be on {interface}, which is not one of the interfaces")]
    UnknownInterface {
        /// Which subnet.
        subnet: Prefix,
        /// The unknown interface.
        interface: String,
    },
    /// The interface's address is of another subnet.
    #[error("the subnet {subnet} is said to be on {interface}, whose address {address} lies outside it")]
    NotOnLink {
        /// Which subnet.
        subnet: Prefix,
        /// Which interface.
        interface: String,
        /// Its address.
        address: Ipv4Addr,
    },
    /// Two subnets on one link: whose address would a broadcast get?
    #[error("the subnets {0} and {1} are both on {2}: one interface has one subnet; serve the other through a relay")]
    SharedLink(Prefix, Prefix, String),
    /// Two subnets that share addresses.
    #[error("the subnets {0} and {1} overlap")]
    Overlap(Prefix, Prefix),
    /// A subnet without room for hosts.
    #[error("the subnet {0} is too small or too large: its prefix has 1 to 30 bits")]
    Size(Prefix),
    /// The pool does not fit.
    #[error(transparent)]
    Pool(#[from] InvalidPool),
    /// A router that the subnet's hosts cannot reach.
    #[error("the router {router} lies outside the subnet {subnet}")]
    Router {
        /// Which subnet.
        subnet: Prefix,
        /// The router.
        router: Ipv4Addr,
    },
    /// More than an option holds.
    #[error("the subnet {subnet} names too many {what}: at most {most}")]
    TooMany {
        /// Which subnet.
        subnet: Prefix,
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
    /// Not a domain name.
    #[error("`{domain}` of the subnet {subnet} is no domain name")]
    Domain {
        /// Which subnet.
        subnet: Prefix,
        /// The name.
        domain: String,
    },
    /// A lease time that cannot be told or kept.
    #[error("the lease time {lease_time:?} of the subnet {subnet} is out of range: one minute to 136 years")]
    LeaseTime {
        /// Which subnet.
        subnet: Prefix,
        /// The time.
        lease_time: Duration,
    },
    /// The kernel's command line cannot stand in a boot script.
    #[error(transparent)]
    KernelArgs(#[from] InvalidValue),
    /// An iPXE program that firmware could not run.
    #[error(transparent)]
    Program(#[from] InvalidProgram),
    /// TLS for firmware was not compiled in.
    #[error("TLS for firmware is not part of this program: build it with the feature `firmware-tls`")]
    NoTls,
    /// The IPv6 side of an interface.
    #[error("{interface}: {error}")]
    V6 {
        /// Which interface.
        interface: String,
        /// What is wrong.
        error: InvalidV6,
    },
}

impl Config {
    /// # Errors
    /// The first thing found wrong.
    pub fn check(&self) -> Result<(), InvalidConfig> {
        for ramdisk in [&self.ramdisk].into_iter().chain(&self.media.arm64) {
            KernelLine::parse(&ramdisk.kernel_args)?;
        }
        check_interfaces(&self.interfaces)?;
        for subnet in &self.subnets {
            check_subnet(subnet, &self.interfaces)?;
        }
        for (index, one) in self.subnets.iter().enumerate() {
            for other in self.subnets.iter().skip(index + 1) {
                if let (Reach::OnLink(link), true) = (&one.reach, one.reach == other.reach) {
                    return Err(InvalidConfig::SharedLink(one.prefix, other.prefix, link.clone()));
                }
                if one.prefix.overlaps(other.prefix) {
                    return Err(InvalidConfig::Overlap(one.prefix, other.prefix));
                }
            }
        }
        Ok(())
    }
}

fn check_interfaces(interfaces: &[Interface]) -> Result<(), InvalidConfig> {
    if interfaces.is_empty() {
        return Err(InvalidConfig::NoInterface);
    }
    let (mut names, mut addresses) = (BTreeSet::new(), BTreeSet::new());
    for Interface { name, address, v6 } in interfaces {
        let odd = |c: char| c == '/' || c.is_whitespace() || c.is_control();
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains(odd) {
            return Err(InvalidConfig::InterfaceName(name.escape_debug().take(64).collect()));
        }
        if address.is_unspecified() || address.is_multicast() || address.is_broadcast() {
            return Err(InvalidConfig::InterfaceAddress { interface: name.clone(), address: *address });
        }
        if !names.insert(name) {
            return Err(InvalidConfig::Twice(name.clone()));
        }
        if !addresses.insert(address) {
            return Err(InvalidConfig::Twice(address.to_string()));
        }
        v6.check().map_err(|error| InvalidConfig::V6 { interface: name.clone(), error })?;
    }
    Ok(())
}

fn check_subnet(subnet: &Subnet, interfaces: &[Interface]) -> Result<(), InvalidConfig> {
    let prefix = subnet.prefix;
    if !(1..=30).contains(&prefix.len()) {
        return Err(InvalidConfig::Size(prefix));
    }
    if let Reach::OnLink(name) = &subnet.reach {
        let interface = interfaces.iter().find(|interface| interface.name == *name);
        let Some(Interface { address, .. }) = interface else {
            return Err(InvalidConfig::UnknownInterface { subnet: prefix, interface: name.clone() });
        };
        if !prefix.is_host(*address) {
            return Err(InvalidConfig::NotOnLink { subnet: prefix, interface: name.clone(), address: *address });
        }
    }
    if subnet.mode != Mode::Full {
        return Ok(());
    }
    if let Some(pool) = &subnet.pool {
        pool.check_subnet(prefix)?;
        // Only what would be given away twice: the router is somebody's, and each of our addresses is ours.
        for taken in interfaces.iter().map(|interface| interface.address).chain(subnet.router) {
            pool.check_without(taken)?;
        }
    }
    if let Some(router) = subnet.router.filter(|router| !prefix.is_host(*router)) {
        return Err(InvalidConfig::Router { subnet: prefix, router });
    }
    let too_many = |what, most| Err(InvalidConfig::TooMany { subnet: prefix, what, most });
    if subnet.dns.len() > MOST_ADDRESSES {
        return too_many("name servers", MOST_ADDRESSES);
    }
    if subnet.ntp.len() > MOST_ADDRESSES {
        return too_many("time servers", MOST_ADDRESSES);
    }
    // Nine octets each at most; the default route from `router` is one more.
    if subnet.routes.len() > 27 {
        return too_many("routes", 27);
    }
    if let Some(domain) = subnet.domain.as_ref().filter(|domain| !is_domain(domain)) {
        let domain = domain.escape_debug().take(64).collect();
        return Err(InvalidConfig::Domain { subnet: prefix, domain });
    }
    if subnet.lease_time < SHORTEST_LEASE || u32::try_from(subnet.lease_time.as_secs()).is_err() {
        return Err(InvalidConfig::LeaseTime { subnet: prefix, lease_time: subnet.lease_time });
    }
    Ok(())
}

/// RFC 1123: it ends up in configuration files of hosts, so nothing else may.
fn is_domain(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
