//! Group `bootstrap.cluster.x-k8s.io`: KubeadmConfig, v1beta2.

mod files;
mod kubeadm;
mod kubeadm_config;

pub use files::{BootstrapFile, BootstrapUser, FileSource, PasswordSource};
pub use kubeadm::{
    Arg, ClusterConfiguration, InitConfiguration, LocalApiEndpoint, NodeRegistration, Patches, Timeouts,
};
pub use kubeadm_config::{KubeadmConfig, KubeadmConfigInitialization, KubeadmConfigSpec, KubeadmConfigStatus};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, CONTRACT, of, provider};

/// Group of these kinds.
pub const GROUP: &str = "bootstrap.cluster.x-k8s.io";

/// The CRDs of this group.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let labels = [CLUSTERCTL, CONTRACT, provider("bootstrap-kubeadm")];
    vec![of::<KubeadmConfig>(&labels)]
}
