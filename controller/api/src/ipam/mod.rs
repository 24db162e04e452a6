//! Group `ipam.cluster.x-k8s.io`: addresses, claims of addresses, and the pools of the in-cluster provider.

mod v1alpha2;
mod v1beta2;

pub use v1alpha2::*;
pub use v1beta2::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, CONTRACT, of, provider};

/// Group of these kinds.
pub const GROUP: &str = "ipam.cluster.x-k8s.io";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, CONTRACT, provider("cluster-api")];
    let pools = [CLUSTERCTL, provider("ipam-in-cluster")];
    vec![
        of::<IPAddress>(&labels),
        of::<IPAddressClaim>(&labels),
        of::<InClusterIPPool>(&pools),
        of::<GlobalInClusterIPPool>(&pools),
    ]
}
