//! Group `cluster.x-k8s.io`: clusters, their machines and the classes that both are made from.

mod v1beta2;

pub use v1beta2::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, CONTRACT, of, provider, with_required_metadata};

/// Group of these kinds.
pub const GROUP: &str = "cluster.x-k8s.io";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, CONTRACT, provider("cluster-api")];
    vec![
        of::<Cluster>(&labels),
        of::<ClusterClass>(&labels),
        of::<Machine>(&labels),
        of::<MachineDeployment>(&labels),
        with_required_metadata(of::<MachineDrainRule>(&labels)),
        of::<MachineHealthCheck>(&labels),
        of::<MachinePool>(&labels),
        of::<MachineSet>(&labels),
    ]
}
