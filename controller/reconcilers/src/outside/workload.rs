//! The clusters that are being built, seen through their own API servers.

use std::fmt;

use async_trait::async_trait;

/// A Cluster object's namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClusterKey {
    /// Namespace of the Cluster and of its kubeconfig Secret.
    pub namespace: String,
    /// Name of the Cluster.
    pub name: String,
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What a Machine copies from its Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeView {
    /// Name of the Node.
    pub name: String,
    /// Its `Ready` condition: status and message.
    pub ready: Option<(bool, String)>,
    /// `status.addresses`.
    pub addresses: Vec<NodeAddressView>,
    /// `status.nodeInfo` as it stands.
    pub info: serde_json::Value,
    /// True conditions among memory, disk and PID pressure: `type: message`.
    pub pressures: Vec<String>,
}

/// One of a Node's addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeAddressView {
    /// `InternalIP`, `Hostname`, …
    pub kind: String,
    /// The address.
    pub address: String,
}

/// Why a workload cluster could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// There is no kubeconfig for it yet.
    #[error("secret {namespace}/{secret} does not exist yet")]
    NoKubeconfig {
        /// Where it should be.
        namespace: String,
        /// Its name.
        secret: String,
    },
    /// The kubeconfig is not one.
    #[error("secret {secret} holds no usable kubeconfig: {why}")]
    BadKubeconfig {
        /// `namespace/name`.
        secret: String,
        /// What is wrong with it.
        why: String,
    },
    /// The API server did not answer within the deadline, or not well.
    #[error("the API server of cluster {cluster} does not answer: {why}")]
    Unreachable {
        /// Whose.
        cluster: ClusterKey,
        /// What was seen.
        why: String,
    },
}

/// All workload clusters. Every call ends within a deadline; an unreachable cluster costs its caller a timer.
#[async_trait]
pub trait WorkloadClusters: Send + Sync {
    /// The Node with exactly this `spec.providerID`.
    ///
    /// # Errors
    /// [`WorkloadError`].
    async fn node(&self, cluster: &ClusterKey, provider_id: &str) -> Result<Option<NodeView>, WorkloadError>;

    /// Whether `kubeadm init` has uploaded its configuration, which it does once the control plane serves.
    ///
    /// # Errors
    /// [`WorkloadError`].
    async fn initialized(&self, cluster: &ClusterKey) -> Result<bool, WorkloadError>;
}
