//! InClusterIPPool and GlobalInClusterIPPool: addresses to take, for one namespace or for all.

use bessemer_api_macros::api;

/// Addresses that claims of its namespace take.
#[api(optional_spec)]
#[derive(Eq)]
#[kube(
    group = "ipam.cluster.x-k8s.io",
    version = "v1alpha2",
    kind = "InClusterIPPool",
    plural = "inclusterippools",
    category = "cluster-api",
    namespaced,
    status = "IPPoolStatus"
)]
#[column("Addresses", string, ".spec.addresses", "Addresses to take")]
#[column("Total", integer, ".status.ipAddresses.total", "How many there are")]
#[column("Free", integer, ".status.ipAddresses.free", "How many are free")]
#[column("Used", integer, ".status.ipAddresses.used", "How many are taken")]
pub struct InClusterIPPoolSpec {
    /// Addresses to take: single ones, ranges `a-b` and CIDR blocks, of one family.
    #[required]
    pub addresses: Vec<String>,
    /// Length of the network's prefix.
    #[number(0..=128)]
    #[schemars(extend("format" = null))]
    pub prefix: i64,
    /// The network's gateway; never taken.
    pub gateway: Option<String>,
    /// The network's first and last address, or IPv6's anycast address, may be taken too.
    #[serde(rename = "allocateReservedIPAddresses")]
    pub allocate_reserved_ip_addresses: Option<bool>,
    /// Addresses that are not taken, written as above.
    pub excluded_addresses: Vec<String>,
    /// How long an address rests after its claim is gone, in seconds.
    #[number(0..)]
    pub address_reuse_grace_period_seconds: Option<i32>,
}

/// Addresses that claims of every namespace take.
#[api(optional_spec)]
#[derive(Eq)]
#[kube(
    group = "ipam.cluster.x-k8s.io",
    version = "v1alpha2",
    kind = "GlobalInClusterIPPool",
    plural = "globalinclusterippools",
    category = "cluster-api",
    status = "IPPoolStatus"
)]
#[column("Addresses", string, ".spec.addresses", "Addresses to take")]
#[column("Total", integer, ".status.ipAddresses.total", "How many there are")]
#[column("Free", integer, ".status.ipAddresses.free", "How many are free")]
#[column("Used", integer, ".status.ipAddresses.used", "How many are taken")]
pub struct GlobalInClusterIPPoolSpec {
    /// As in a pool for one namespace.
    #[serde(flatten)]
    pub pool: InClusterIPPoolSpec,
}

/// What is observed of a pool.
#[api]
#[derive(Eq)]
pub struct IPPoolStatus {
    /// How many addresses.
    pub ip_addresses: Option<IPPoolCounts>,
}

/// How many addresses a pool has.
#[api]
#[derive(Eq)]
pub struct IPPoolCounts {
    /// All.
    #[schemars(extend("format" = null))]
    pub total: i64,
    /// To take.
    #[schemars(extend("format" = null))]
    pub free: i64,
    /// Taken.
    #[schemars(extend("format" = null))]
    pub used: i64,
    /// Taken, and no longer among the pool's.
    #[schemars(extend("format" = null))]
    pub out_of_range: i64,
}
