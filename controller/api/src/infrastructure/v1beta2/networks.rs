//! The networks of network data, their routes and the services in them.

use bessemer_api_macros::api;

use super::{FromAnnotation, NetworkLinks, PoolReference};
use crate::addresses::{IpText, Ipv4Text, Ipv6Text};

/// The recipe for network data.
#[api]
pub struct NetworkData {
    /// Links.
    pub links: Option<NetworkLinks>,
    /// Networks on them.
    pub networks: Option<Networks>,
    /// DNS for all of them.
    pub services: Option<NetworkServices<IpText>>,
}

/// Networks, by how their addresses come.
#[api]
pub struct Networks {
    /// IPv4 from a pool.
    #[list(map(id), 1..=512)]
    pub ipv4: Vec<PoolNetwork<Ipv4Route>>,
    /// IPv6 from a pool.
    #[list(map(id), 1..=512)]
    pub ipv6: Vec<PoolNetwork<Ipv6Route>>,
    /// IPv4 by DHCP.
    #[list(map(id), 1..=512)]
    #[serde(rename = "ipv4DHCP")]
    pub ipv4_dhcp: Vec<DynamicNetwork<Ipv4Route>>,
    /// IPv6 by DHCP.
    #[list(map(id), 1..=512)]
    #[serde(rename = "ipv6DHCP")]
    pub ipv6_dhcp: Vec<DynamicNetwork<Ipv6Route>>,
    /// IPv6 by router advertisements.
    #[list(map(id), 1..=512)]
    #[serde(rename = "ipv6SLAAC")]
    pub ipv6_slaac: Vec<DynamicNetwork<Ipv6Route>>,
}

/// A network whose address comes from a pool: named in one of three ways.
#[api]
pub struct PoolNetwork<Route> {
    /// By which others refer to it.
    #[text(1..=512)]
    pub id: String,
    /// Id of its link.
    #[text(1..=512)]
    pub link: String,
    /// IPPool of `ipam.metal3.io`.
    #[serde(rename = "ipAddressFromIPPool")]
    #[text(1..=512)]
    pub ip_address_from_ip_pool: Option<String>,
    /// Any pool.
    pub from_pool_ref: Option<PoolReference>,
    /// A pool that an annotation names.
    pub from_pool_annotation: Option<FromAnnotation>,
    /// Routes.
    #[list(map(network), 1..=512)]
    pub routes: Vec<Route>,
}

/// A network whose address comes by itself.
#[api]
pub struct DynamicNetwork<Route> {
    /// By which others refer to it.
    #[text(1..=512)]
    pub id: String,
    /// Id of its link.
    #[text(1..=512)]
    pub link: String,
    /// Routes.
    #[list(map(network), 1..=512)]
    pub routes: Vec<Route>,
}

/// A route of IPv4.
#[api]
pub struct Ipv4Route {
    /// Network.
    pub network: Ipv4Text,
    /// Length of its prefix.
    #[number(0..=32)]
    pub prefix: Option<i32>,
    /// Where it goes.
    pub gateway: Gateway<Ipv4Text>,
    /// DNS servers beyond it.
    pub services: Option<NetworkServices<Ipv4Text>>,
}

/// A route of IPv6.
#[api]
pub struct Ipv6Route {
    /// Network.
    pub network: Ipv6Text,
    /// Length of its prefix.
    #[number(0..=128)]
    pub prefix: Option<i32>,
    /// Where it goes.
    pub gateway: Gateway<Ipv6Text>,
    /// DNS servers beyond it.
    pub services: Option<NetworkServices<Ipv6Text>>,
}

/// Where a gateway's address comes from: one of these.
#[api]
pub struct Gateway<Address> {
    /// The address itself.
    pub string: Option<Address>,
    /// IPPool of `ipam.metal3.io`.
    #[serde(rename = "fromIPPool")]
    #[text(1..=512)]
    pub from_ip_pool: Option<String>,
    /// Any pool.
    pub from_pool_ref: Option<PoolReference>,
    /// A pool that an annotation names.
    pub from_pool_annotation: Option<FromAnnotation>,
}

/// Services in a network.
#[api]
pub struct NetworkServices<Address> {
    /// DNS servers.
    #[list(set, 1..=512)]
    pub dns: Vec<Address>,
    /// IPPool of `ipam.metal3.io` whose DNS servers are taken.
    #[serde(rename = "dnsFromIPPool")]
    #[text(1..=512)]
    pub dns_from_ip_pool: Option<String>,
}
