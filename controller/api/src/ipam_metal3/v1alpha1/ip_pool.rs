//! IPPool: addresses to be given out.

use std::collections::BTreeMap;

use bessemer_api_macros::api;

use crate::Time;
use crate::addresses::{IpText, SubnetText};

/// Ranges of addresses, and what else a host must know to use one.
#[api(optional_spec)]
#[kube(
    group = "ipam.metal3.io",
    version = "v1alpha1",
    kind = "IPPool",
    plural = "ippools",
    shortname = "ipp",
    shortname = "ippool",
    shortname = "m3ipp",
    shortname = "m3ippool",
    shortname = "m3ippools",
    shortname = "metal3ipp",
    shortname = "metal3ippool",
    shortname = "metal3ippools",
    category = "cluster-api",
    namespaced,
    status = "IpPoolStatus",
    root = "IpPool"
)]
#[column("Cluster", string, ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name", "Its cluster")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct IpPoolSpec {
    /// Which address is given next.
    #[schemars(extend("x-default" = "sequential"))]
    pub allocation_strategy: Option<AllocationStrategy>,
    /// Cluster it is for.
    pub cluster_name: Option<String>,
    /// DNS servers, where a range has none of its own.
    pub dns_servers: Vec<IpText>,
    /// Gateway, where a range has none of its own.
    pub gateway: Option<IpText>,
    /// Names of addresses begin with it. Pools must not share one.
    #[text(1..)]
    #[serde(default)]
    pub name_prefix: String,
    /// Ranges, used in this order.
    pub pools: Vec<Pool>,
    /// Addresses kept for claims of these names.
    pub pre_allocations: BTreeMap<String, IpText>,
    /// Length of the prefix, where a range has none of its own.
    #[number(..=128)]
    #[schemars(extend("format" = null))]
    pub prefix: Option<i64>,
}

/// Which address is given next.
#[api]
pub enum AllocationStrategy {
    /// The lowest that is free.
    #[serde(rename = "sequential")]
    Sequential,
    /// Any that is free.
    #[serde(rename = "random")]
    Random,
}

/// One range: between `start` and `end`, or all of `subnet` but its ends.
#[api]
#[derive(Eq)]
pub struct Pool {
    /// DNS servers.
    pub dns_servers: Vec<IpText>,
    /// Last address.
    pub end: Option<IpText>,
    /// Gateway.
    pub gateway: Option<IpText>,
    /// Length of the prefix.
    #[number(..=128)]
    #[schemars(extend("format" = null))]
    pub prefix: Option<i64>,
    /// First address.
    pub start: Option<IpText>,
    /// Network that both are in.
    pub subnet: Option<SubnetText>,
}

/// What is observed of it.
#[api]
#[derive(Eq)]
pub struct IpPoolStatus {
    /// Addresses given out, by claim.
    pub indexes: BTreeMap<String, IpText>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
}
