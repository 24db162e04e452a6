//! ClusterResourceSet: manifests for clusters that match.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::Condition;
use crate::cluster::{Deprecated, V1Beta1Conditions};

/// Manifests in ConfigMaps and Secrets that are applied to every cluster that matches.
#[api]
#[kube(
    group = "addons.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "ClusterResourceSet",
    plural = "clusterresourcesets",
    category = "cluster-api",
    namespaced,
    status = "ClusterResourceSetStatus"
)]
#[column("Applied", string, ".status.conditions[?(@.type==\"ResourcesApplied\")].status", "All manifests are applied")]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct ClusterResourceSetSpec {
    /// Which clusters; none, if empty.
    pub cluster_selector: LabelSelector,
    /// Where the manifests are.
    #[required]
    #[list(atomic, 1..=100)]
    pub resources: Vec<ResourceReference>,
    /// How often they are applied; `ApplyOnce` unless given.
    pub strategy: Option<ResourceSetStrategy>,
}

/// A ConfigMap or Secret with manifests.
#[api(no_default)]
#[derive(Eq)]
pub struct ResourceReference {
    /// Name.
    #[text(1..=253)]
    pub name: String,
    /// Kind.
    pub kind: ResourceKind,
}

/// Kind of what holds manifests.
#[api]
pub enum ResourceKind {
    /// A Secret of type `addons.cluster.x-k8s.io/resource-set`.
    Secret,
    /// A ConfigMap.
    ConfigMap,
}

/// How often manifests are applied.
#[api]
pub enum ResourceSetStrategy {
    /// Once; what is there already stays as it is.
    ApplyOnce,
    /// Whenever they change.
    Reconcile,
}

/// What is observed of a resource set.
#[api(some)]
pub struct ClusterResourceSetStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// Generation that this status is of.
    #[number(1..)]
    pub observed_generation: Option<i64>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1Conditions>>,
}
