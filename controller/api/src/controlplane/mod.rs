//! Group `controlplane.cluster.x-k8s.io`: control planes made by means of kubeadm.

mod v1beta2;

pub use v1beta2::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, CONTRACT, of, provider};

/// Group of these kinds.
pub const GROUP: &str = "controlplane.cluster.x-k8s.io";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, CONTRACT, provider("control-plane-kubeadm")];
    vec![of::<KubeadmControlPlane>(&labels), of::<KubeadmControlPlaneTemplate>(&labels)]
}
