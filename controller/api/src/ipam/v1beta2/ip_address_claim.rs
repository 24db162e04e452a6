//! IPAddressClaim: the wish for one address.

use bessemer_api_macros::api;

use crate::cluster::{Deprecated, V1Beta1Conditions};
use crate::{Condition, ContractReference, NameReference};

/// The wish for one address from a pool.
#[api]
#[derive(Eq)]
#[kube(
    group = "ipam.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "IPAddressClaim",
    plural = "ipaddressclaims",
    category = "cluster-api",
    namespaced,
    status = "IPAddressClaimStatus"
)]
#[column("Pool Name", string, ".spec.poolRef.name", "Pool that the address shall be of")]
#[column("Pool Kind", string, ".spec.poolRef.kind", "Kind of that pool")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct IPAddressClaimSpec {
    /// Cluster it is for.
    #[text(1..=63)]
    pub cluster_name: Option<String>,
    /// The pool.
    pub pool_ref: ContractReference,
}

/// What is observed of a claim.
#[api(some)]
pub struct IPAddressClaimStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// The address, once it is found.
    pub address_ref: Option<NameReference>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1Conditions>>,
}
