//! ClusterResourceSetBinding: what was applied to one cluster.

use bessemer_api_macros::api;

use super::ResourceKind;
use crate::Time;

/// What was applied to one cluster, under the cluster's name.
#[api]
#[kube(
    group = "addons.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "ClusterResourceSetBinding",
    plural = "clusterresourcesetbindings",
    category = "cluster-api",
    namespaced
)]
#[column("Cluster", string, ".spec.clusterName", "Its cluster")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct ClusterResourceSetBindingSpec {
    /// The resource sets that match the cluster.
    #[list(atomic, ..=100)]
    pub bindings: Vec<ResourceSetBinding>,
    /// The cluster.
    #[text(1..=63)]
    pub cluster_name: String,
}

/// What one resource set applied.
#[api]
pub struct ResourceSetBinding {
    /// The resource set.
    #[text(1..=253)]
    pub cluster_resource_set_name: String,
    /// Its resources.
    #[list(atomic, ..=100)]
    pub resources: Vec<ResourceBinding>,
}

/// How one resource was applied.
#[api(no_default)]
pub struct ResourceBinding {
    /// Name.
    #[text(1..=253)]
    pub name: String,
    /// Kind.
    pub kind: ResourceKind,
    /// Hash of what was applied.
    #[text(1..=256)]
    pub hash: Option<String>,
    /// When it was last applied.
    pub last_applied_time: Option<Time>,
    /// It was applied without an error.
    pub applied: bool,
}
