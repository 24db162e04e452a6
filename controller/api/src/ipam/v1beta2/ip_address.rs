//! IPAddress: one address that is taken.

use bessemer_api_macros::api;

use crate::{ContractReference, NameReference};

/// One address, taken from a pool for a claim of the same name.
#[api]
#[derive(Eq)]
#[kube(
    group = "ipam.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "IPAddress",
    plural = "ipaddresses",
    category = "cluster-api",
    namespaced
)]
#[column("Address", string, ".spec.address", "The address")]
#[column("Pool Name", string, ".spec.poolRef.name", "Pool that it is of")]
#[column("Pool Kind", string, ".spec.poolRef.kind", "Kind of that pool")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct IPAddressSpec {
    /// The claim.
    pub claim_ref: NameReference,
    /// The pool.
    pub pool_ref: ContractReference,
    /// The address.
    #[text(1..=39)]
    pub address: String,
    /// Length of its network's prefix.
    #[number(0..=128)]
    pub prefix: i32,
    /// The network's gateway.
    #[text(1..=39)]
    pub gateway: Option<String>,
}
