//! Group `bootstrap.cluster.x-k8s.io`: KubeadmConfig, v1beta2.

mod files;
mod kubeadm;
mod kubeadm_config;

pub use files::{BootstrapFile, BootstrapUser, FileSource, PasswordSource};
pub use kubeadm::{
    Arg, ClusterConfiguration, InitConfiguration, LocalApiEndpoint, NodeRegistration, Patches, Timeouts,
};
pub use kubeadm_config::{KubeadmConfig, KubeadmConfigInitialization, KubeadmConfigSpec, KubeadmConfigStatus};

/// Group of these kinds.
pub const GROUP: &str = "bootstrap.cluster.x-k8s.io";
