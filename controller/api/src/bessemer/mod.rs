//! Group `bessemer.dev`: what the controller must remember beyond the upstream kinds. Written by the controller alone;
//! deleting these objects by hand does no harm to a provisioned host.

mod v1alpha1;

pub use v1alpha1::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, MOVE, of, provider};

/// Group of these kinds.
pub const GROUP: &str = "bessemer.dev";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, MOVE, provider("infrastructure-metal3")];
    // Traces stay where they were heard: no move takes them along.
    vec![of::<HostRecord>(&labels), of::<BootLease>(&labels), of::<BootTrace>(&[provider("infrastructure-metal3")])]
}
