//! Group `ipam.metal3.io`: Metal3's own pools of addresses. Cluster API's are in [`crate::ipam`].

mod v1alpha1;

pub use v1alpha1::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, of, provider};

/// Group of these kinds.
pub const GROUP: &str = "ipam.metal3.io";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, provider("ipam-metal3")];
    vec![of::<IpPool>(&labels), of::<IpClaim>(&labels), of::<IpAddress>(&labels)]
}
