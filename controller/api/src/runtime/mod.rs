//! Group `runtime.cluster.x-k8s.io`: servers that extend the life of clusters by hooks.

mod v1beta2;

pub use v1beta2::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, CONTRACT, of, provider};

/// Group of these kinds.
pub const GROUP: &str = "runtime.cluster.x-k8s.io";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, CONTRACT, provider("cluster-api")];
    vec![of::<ExtensionConfig>(&labels)]
}
