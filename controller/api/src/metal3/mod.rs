//! Group `metal3.io`: physical hosts, their firmware and what attaches to them.

mod v1alpha1;

pub use v1alpha1::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, MOVE_HIERARCHY, of, provider};

/// Group of these kinds.
pub const GROUP: &str = "metal3.io";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let provider = provider("infrastructure-metal3");
    vec![of::<BareMetalHost>(&[CLUSTERCTL, MOVE_HIERARCHY, provider])]
}
