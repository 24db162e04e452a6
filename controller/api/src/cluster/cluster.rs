//! Cluster: the root object.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ApiEndpoint;
use crate::{Condition, ContractReference, Extra};

/// One Kubernetes cluster.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Cluster",
    plural = "clusters",
    shortname = "cl",
    category = "cluster-api",
    namespaced,
    status = "ClusterStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"ClusterClass","type":"string","description":"ClusterClass of this Cluster, empty if the Cluster is not using a ClusterClass","jsonPath":".spec.topology.classRef.name"}"#,
    printcolumn = r#"{"name":"Available","type":"string","description":"Cluster pass all availability checks","jsonPath":".status.conditions[?(@.type==\"Available\")].status"}"#,
    printcolumn = r#"{"name":"CP Desired","type":"integer","description":"The desired number of control plane machines","jsonPath":".status.controlPlane.desiredReplicas"}"#,
    printcolumn = r#"{"name":"CP Available","type":"integer","description":"The number of control plane machines with Available condition true","jsonPath":".status.controlPlane.availableReplicas"}"#,
    printcolumn = r#"{"name":"CP Up-to-date","type":"integer","description":"The number of control plane machines with UpToDate condition true","jsonPath":".status.controlPlane.upToDateReplicas"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","description":"Cluster status such as Pending/Provisioning/Provisioned/Deleting/Failed","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Age","type":"date","description":"Time duration since creation of Cluster","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct ClusterSpec {
    /// Reconciliation of everything in it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Addresses inside the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_network: Option<ClusterNetwork>,
    /// Where its API server is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// Its control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_ref: Option<ContractReference>,
    /// Its infrastructure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_ref: Option<ContractReference>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Addresses inside a cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterNetwork {
    /// Port of API servers; 6443 unless given.
    #[serde(rename = "apiServerPort", skip_serializing_if = "Option::is_none")]
    pub api_server_port: Option<i32>,
    /// Services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<NetworkRanges>,
    /// Pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<NetworkRanges>,
    /// DNS domain of services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_domain: Option<String>,
}

/// Ranges of addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkRanges {
    /// In CIDR form.
    #[serde(rename = "cidrBlocks")]
    pub cidr_blocks: Vec<String>,
}

/// What is observed of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What was reached once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<ClusterInitialization>,
    /// Counts of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ClusterControlPlaneStatus>,
    /// `Pending`, `Provisioning`, `Provisioned` or `Deleting`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
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
pub struct ClusterInitialization {
    /// The infrastructure can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
    /// The first control plane node serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
}

/// Counts of a control plane's machines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterControlPlaneStatus {
    /// Wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<i32>,
    /// There.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// As the spec says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    /// Ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
}
