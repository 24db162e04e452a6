//! KubeadmConfig: what bootstrap data is rendered from.

use bessemer_api_macros::api;

use super::{
    BootstrapFile, BootstrapUser, ClusterConfiguration, DiskSetup, Ignition, InitConfiguration, JoinConfiguration, Ntp,
};
use crate::Condition;
use crate::cluster::{Deprecated, V1Beta1Condition};

/// How one machine becomes a node by means of kubeadm.
#[api(some, optional_spec)]
#[kube(
    group = "bootstrap.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "KubeadmConfig",
    plural = "kubeadmconfigs",
    category = "cluster-api",
    namespaced,
    status = "KubeadmConfigStatus"
)]
#[column("Cluster", string, ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']", "Its cluster")]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column("Data secret created", string, ".status.initialization.dataSecretCreated", "The bootstrap data exists")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct KubeadmConfigSpec {
    /// For the whole cluster.
    pub cluster_configuration: Option<ClusterConfiguration>,
    /// For the first control plane node.
    pub init_configuration: Option<InitConfiguration>,
    /// For every other node.
    pub join_configuration: Option<JoinConfiguration>,
    /// Files to write.
    #[list(atomic, 1..=200)]
    pub files: Vec<BootstrapFile>,
    /// Partitions and file systems to make.
    pub disk_setup: Option<DiskSetup>,
    /// Mounts, each as the fields of a line of fstab.
    #[list(atomic, 1..=100)]
    #[schemars(inner(length(min = 1, max = 100), inner(length(min = 1, max = 512))))]
    pub mounts: Vec<Vec<String>>,
    /// Commands very early in boot.
    #[list(atomic, 1..=1000, each(1..=10240))]
    pub boot_commands: Vec<String>,
    /// Commands before kubeadm.
    #[list(atomic, 1..=1000, each(1..=10240))]
    pub pre_kubeadm_commands: Vec<String>,
    /// Commands after kubeadm.
    #[list(atomic, 1..=1000, each(1..=10240))]
    pub post_kubeadm_commands: Vec<String>,
    /// Users to make.
    #[list(atomic, 1..=100)]
    pub users: Vec<BootstrapUser>,
    /// Where the time comes from.
    pub ntp: Option<Ntp>,
    /// What the data is written in; `cloud-config` unless given.
    pub format: Option<BootstrapFormat>,
    /// kubeadm's `--v`.
    pub verbosity: Option<i32>,
    /// What only Ignition knows.
    pub ignition: Option<Ignition>,
}

/// What bootstrap data is written in.
#[api]
pub enum BootstrapFormat {
    /// cloud-init's.
    #[serde(rename = "cloud-config")]
    #[default]
    CloudConfig,
    /// Ignition's.
    #[serde(rename = "ignition")]
    Ignition,
}

/// What is observed of it.
#[api(some)]
pub struct KubeadmConfigStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// What was reached once.
    pub initialization: Option<KubeadmConfigInitialization>,
    /// Secret with the bootstrap data.
    #[text(1..=253)]
    pub data_secret_name: Option<String>,
    /// Generation that this status is of.
    #[number(1..)]
    pub observed_generation: Option<i64>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1KubeadmConfig>>,
}

/// What was reached once and is never taken back.
#[api(some)]
#[derive(Eq)]
pub struct KubeadmConfigInitialization {
    /// The bootstrap data exists.
    pub data_secret_created: Option<bool>,
}

/// What v1beta1 said of it.
#[api]
pub struct V1Beta1KubeadmConfig {
    /// Conditions.
    pub conditions: Vec<V1Beta1Condition>,
    /// The failure, for programs.
    #[text(1..=256)]
    pub failure_reason: Option<String>,
    /// The failure, for people.
    #[text(1..=10240)]
    pub failure_message: Option<String>,
}
