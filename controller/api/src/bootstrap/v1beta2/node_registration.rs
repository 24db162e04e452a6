//! How a node registers itself, and what init and join have in common.

use bessemer_api_macros::api;

use super::Arg;
use crate::Time;

/// One node.
#[api(some)]
pub struct NodeRegistration {
    /// Its name; the host name unless given.
    #[text(1..=253)]
    pub name: Option<String>,
    /// Container runtime's socket.
    #[text(1..=512)]
    pub cri_socket: Option<String>,
    /// Its taints. Unless given, a control plane node has its usual one; an empty list means none.
    #[list(plain, 0..=100)]
    pub taints: Option<Vec<NodeTaint>>,
    /// Flags of the kubelet.
    #[list(map(name, value), 1..=100)]
    #[rule("self.all(x, self.exists_one(y, x.name == y.name))", "kubeletExtraArgs name must be unique")]
    pub kubelet_extra_args: Vec<Arg>,
    /// Preflight errors to pass over.
    #[list(atomic, 1..=50, each(1..=512))]
    pub ignore_preflight_errors: Vec<String>,
    /// When images are pulled; `IfNotPresent` unless given.
    pub image_pull_policy: Option<ImagePullPolicy>,
    /// Images are pulled one after the other; yes unless given.
    pub image_pull_serial: Option<bool>,
}

/// A taint as core Kubernetes has it.
#[api]
pub struct NodeTaint {
    /// Key.
    pub key: String,
    /// Value.
    pub value: Option<String>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
    /// Since when.
    pub time_added: Option<Time>,
}

/// When images are pulled.
#[api]
pub enum ImagePullPolicy {
    /// Every time.
    Always,
    /// If they are missing.
    IfNotPresent,
    /// They must be there.
    Never,
}

/// Where an API server listens.
#[api(some)]
#[derive(Eq)]
pub struct LocalApiEndpoint {
    /// Address; kubeadm finds one unless given.
    #[text(1..=39)]
    pub advertise_address: Option<String>,
    /// Port; 6443 unless given.
    #[number(1..)]
    pub bind_port: Option<i32>,
}

/// Patches of static pods.
#[api(some)]
#[derive(Eq)]
pub struct Patches {
    /// Directory with them.
    #[text(1..=512)]
    pub directory: Option<String>,
}

/// How long kubeadm waits, in seconds.
#[api(some)]
#[derive(Eq)]
pub struct Timeouts {
    /// For control plane components to be healthy.
    #[number(0..)]
    pub control_plane_component_health_check_seconds: Option<i32>,
    /// For the kubelet to be healthy.
    #[number(0..)]
    pub kubelet_health_check_seconds: Option<i32>,
    /// For calls of the Kubernetes API.
    #[serde(rename = "kubernetesAPICallSeconds")]
    #[number(0..)]
    pub kubernetes_api_call_seconds: Option<i32>,
    /// For calls of etcd.
    #[serde(rename = "etcdAPICallSeconds")]
    #[number(0..)]
    pub etcd_api_call_seconds: Option<i32>,
    /// For the kubelet's TLS bootstrap.
    #[serde(rename = "tlsBootstrapSeconds")]
    #[number(0..)]
    pub tls_bootstrap_seconds: Option<i32>,
    /// For discovery.
    #[number(0..)]
    pub discovery_seconds: Option<i32>,
}
