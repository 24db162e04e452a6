//! Group `cluster.x-k8s.io`: Cluster and Machine, v1beta2.

#[expect(clippy::module_inception, reason = "the kind is called as its group is")]
mod cluster;
mod machine;
mod parts;

pub use cluster::{
    Cluster, ClusterControlPlaneStatus, ClusterInitialization, ClusterNetwork, ClusterSpec, ClusterStatus,
    NetworkRanges,
};
pub use machine::{Machine, MachineBootstrap, MachineInitialization, MachineSpec, MachineStatus};
pub use parts::{ApiEndpoint, MachineAddress, TemplateMetadata};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, CONTRACT, of, provider};

/// Group of these kinds.
pub const GROUP: &str = "cluster.x-k8s.io";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, CONTRACT, provider("cluster-api")];
    vec![of::<Cluster>(&labels), of::<Machine>(&labels)]
}
