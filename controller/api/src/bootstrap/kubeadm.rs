//! kubeadm's configuration, in Cluster API's v1beta2 words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Extra;

/// For the whole cluster. Names, addresses and the version come from Cluster and Machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterConfiguration {
    /// `host:port`, if it shall be another than the Cluster's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<String>,
    /// Where certificates lie; `/etc/kubernetes/pki` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates_dir: Option<String>,
    /// Validity of certificates in days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_validity_period_days: Option<i32>,
    /// Validity of CAs in days.
    #[serde(rename = "caCertificateValidityPeriodDays", skip_serializing_if = "Option::is_none")]
    pub ca_certificate_validity_period_days: Option<i32>,
    /// Whatever else was written here: as kubeadm has it.
    #[serde(flatten)]
    pub extra: Extra,
}

/// For the first control plane node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InitConfiguration {
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_registration: Option<NodeRegistration>,
    /// Where its API server listens.
    #[serde(rename = "localAPIEndpoint", skip_serializing_if = "Option::is_none")]
    pub local_api_endpoint: Option<LocalApiEndpoint>,
    /// kubeadm phases to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skip_phases: Vec<String>,
    /// Patches of static pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patches: Option<Patches>,
    /// How long to wait for what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeRegistration {
    /// Its name; the host name unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Container runtime's socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cri_socket: Option<String>,
    /// Flags of the kubelet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kubelet_extra_args: Vec<Arg>,
    /// Preflight errors to pass over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore_preflight_errors: Vec<String>,
    /// Whatever else was written here, `taints` among it: as kubeadm has it.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One flag; order counts, and a name may come twice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Arg {
    /// Without dashes.
    pub name: String,
    /// Value.
    pub value: String,
}

/// Where an API server listens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalApiEndpoint {
    /// Address; kubeadm finds one unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertise_address: Option<String>,
    /// Port; 6443 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_port: Option<i32>,
}

/// Patches of static pods.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Patches {
    /// Directory with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// How long kubeadm waits, in seconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Timeouts {
    /// For control plane components to be healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_component_health_check_seconds: Option<i32>,
    /// For the kubelet to be healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet_health_check_seconds: Option<i32>,
    /// For calls of the Kubernetes API.
    #[serde(rename = "kubernetesAPICallSeconds", skip_serializing_if = "Option::is_none")]
    pub kubernetes_api_call_seconds: Option<i32>,
    /// For calls of etcd.
    #[serde(rename = "etcdAPICallSeconds", skip_serializing_if = "Option::is_none")]
    pub etcd_api_call_seconds: Option<i32>,
    /// For the kubelet's TLS bootstrap.
    #[serde(rename = "tlsBootstrapSeconds", skip_serializing_if = "Option::is_none")]
    pub tls_bootstrap_seconds: Option<i32>,
    /// For discovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery_seconds: Option<i32>,
}
