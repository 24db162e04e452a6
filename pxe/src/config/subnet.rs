//! Interfaces of ours, and the subnets of hosts that are reached through them.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::v6::InterfaceV6;
use crate::pool::Pool;
use crate::prefix::Prefix;

/// One interface of this machine, towards hosts or their relay agents.
#[derive(Debug, Clone)]
pub struct Interface {
    /// Its name, such as `br0`.
    pub name: String,
    /// Its (primary) address: DHCP server id, next server, and where TFTP and HTTP listen.
    pub address: Ipv4Addr,
    /// IPv6 on it.
    pub v6: InterfaceV6,
}

impl Interface {
    /// An interface without IPv6.
    pub fn new(name: impl Into<String>, address: Ipv4Addr) -> Self {
        Self { name: name.into(), address, v6: InterfaceV6::default() }
    }
}

/// Where the machines of a subnet are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// On the link of this interface. Relay agents with an address in the subnet are served as well.
    OnLink(String),
    /// Behind relay agents only (`giaddr` or link selection lies in the subnet), on whichever interface they are heard.
    Relayed,
}

/// What is done for the machines of a subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Addresses and boot files.
    #[default]
    Full,
    /// Boot files only, beside the DHCP server that gives addresses (proxyDHCP, on ports 67 and 4011).
    Proxy,
    /// No DHCP; TFTP and HTTP only.
    Off,
}

/// A route told to hosts (RFC 3442).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// To where.
    pub to: Prefix,
    /// Through which router; `0.0.0.0`: on the link itself.
    pub via: Ipv4Addr,
}

/// One subnet of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subnet {
    /// Its addresses.
    pub prefix: Prefix,
    /// Where its machines are.
    pub reach: Reach,
    /// What is done for them.
    pub mode: Mode,
    /// Addresses for machines without a fixed one. Without a pool only machines with a reservation are served.
    pub pool: Option<Pool>,
    /// Default route.
    pub router: Option<Ipv4Addr>,
    /// Name servers.
    pub dns: Vec<Ipv4Addr>,
    /// Time servers.
    pub ntp: Vec<Ipv4Addr>,
    /// Domain in which names are looked up.
    pub domain: Option<String>,
    /// Further routes. Clients that understand them ignore `router`, so a default route is added from it.
    pub routes: Vec<Route>,
    /// How long a lease lasts.
    pub lease_time: Duration,
    /// No other DHCP server gives out addresses of this subnet: a client that asks for a wrong one is refused at once
    /// (DHCPNAK) instead of being left to time out. Addresses outside the subnet are refused too, since they cannot work
    /// on this link. Ignored unless the mode is [`Mode::Full`].
    pub authoritative: bool,
}

impl Subnet {
    /// How long a lease lasts unless told otherwise.
    pub const LEASE_TIME: Duration = Duration::from_secs(24 * 60 * 60);

    /// A subnet that is fully served and tells hosts their addresses and nothing else.
    pub fn new(prefix: Prefix, reach: Reach) -> Self {
        Self {
            prefix,
            reach,
            mode: Mode::Full,
            pool: None,
            router: None,
            dns: Vec::new(),
            ntp: Vec::new(),
            domain: None,
            routes: Vec::new(),
            lease_time: Self::LEASE_TIME,
            authoritative: false,
        }
    }
}
