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

/// Group of these kinds.
pub const GROUP: &str = "cluster.x-k8s.io";
