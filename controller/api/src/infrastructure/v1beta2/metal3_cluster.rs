//! Metal3Cluster: the InfraCluster.

use bessemer_api_macros::api;

use super::{InfraInitialization, V1Beta1ClusterFailure};
use crate::cluster::{ApiEndpoint, Deprecated, FailureDomain};
use crate::{Condition, Time};

/// The infrastructure of one cluster: where its control plane is reached.
#[api(optional_spec)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3Cluster",
    plural = "metal3clusters",
    shortname = "m3c",
    shortname = "m3cluster",
    shortname = "m3clusters",
    shortname = "metal3c",
    shortname = "metal3cluster",
    category = "cluster-api",
    namespaced,
    status = "Metal3ClusterStatus"
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[column("Provisioned", string, ".status.initialization.provisioned", "It can be used")]
#[column("Error", string, ".status.deprecated.v1beta1.failureReason", "The last error")]
#[column("Cluster", string, ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name", "Its cluster")]
#[column("Endpoint", string, ".spec.controlPlaneEndpoint", "Where the control plane is reached")]
pub struct Metal3ClusterSpec {
    /// Whether a cloud provider sets the Nodes' provider ids, so that nobody else needs to.
    pub cloud_provider_enabled: Option<bool>,
    /// Where the control plane is reached.
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// Failure domains, for labels and for spreading control planes.
    #[list(map(name), 1..=100)]
    pub failure_domains: Vec<FailureDomain>,
}

/// What is observed of it.
#[api]
pub struct Metal3ClusterStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// What v1beta1 said.
    pub deprecated: Option<Deprecated<V1Beta1ClusterFailure>>,
    /// Failure domains, as the cluster reads them.
    #[list(map(name), 1..=100)]
    pub failure_domains: Vec<FailureDomain>,
    /// Whether it can be used.
    pub initialization: Option<InfraInitialization>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
}
