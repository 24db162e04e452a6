//! KubeadmConfig: what bootstrap data is rendered from.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BootstrapFile, BootstrapUser, ClusterConfiguration, InitConfiguration};
use crate::{Condition, Extra};

/// How one machine becomes a node by means of kubeadm.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "bootstrap.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "KubeadmConfig",
    plural = "kubeadmconfigs",
    category = "cluster-api",
    namespaced,
    status = "KubeadmConfigStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Cluster","type":"string","description":"Cluster","jsonPath":".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"}"#,
    printcolumn = r#"{"name":"Data secret created","type":"string","description":"Boostrap secret is created","jsonPath":".status.initialization.dataSecretCreated"}"#,
    printcolumn = r#"{"name":"Age","type":"date","description":"Time duration since creation of KubeadmConfig","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct KubeadmConfigSpec {
    /// For the whole cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_configuration: Option<ClusterConfiguration>,
    /// For the first control plane node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init_configuration: Option<InitConfiguration>,
    /// Files to write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BootstrapFile>,
    /// Users to make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<BootstrapUser>,
    /// Commands very early in boot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boot_commands: Vec<String>,
    /// Commands before kubeadm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pre_kubeadm_commands: Vec<String>,
    /// Commands after kubeadm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_kubeadm_commands: Vec<String>,
    /// `cloud-config` (the default) or `ignition`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// kubeadm's `--v`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<i32>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is observed of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeadmConfigStatus {
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What was reached once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<KubeadmConfigInitialization>,
    /// Secret with the bootstrap data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_secret_name: Option<String>,
    /// Generation that this status is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What was reached once and is never taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeadmConfigInitialization {
    /// The bootstrap data exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_secret_created: Option<bool>,
}
