//! Group `infrastructure.cluster.x-k8s.io`: Metal3's side of Cluster API.

mod v1beta2;

pub use v1beta2::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, CONTRACT, MOVE, of, provider};

/// Group of these kinds.
pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, CONTRACT, provider("infrastructure-metal3")];
    let moved = [CLUSTERCTL, CONTRACT, MOVE, provider("infrastructure-metal3")];
    vec![
        of::<Metal3Cluster>(&labels),
        of::<Metal3ClusterTemplate>(&labels),
        of::<Metal3Machine>(&labels),
        of::<Metal3MachineTemplate>(&labels),
        of::<Metal3DataTemplate>(&moved),
        of::<Metal3DataClaim>(&labels),
        of::<Metal3Data>(&labels),
        of::<Metal3Remediation>(&labels),
        of::<Metal3RemediationTemplate>(&labels),
    ]
}
