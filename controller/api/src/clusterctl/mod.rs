//! Group `clusterctl.cluster.x-k8s.io`: what clusterctl remembers of what it installed.

mod v1alpha3;

pub use v1alpha3::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, of};

/// Group of these kinds.
pub const GROUP: &str = "clusterctl.cluster.x-k8s.io";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, ("clusterctl.cluster.x-k8s.io/core", "inventory")];
    vec![of::<Provider>(&labels)]
}
