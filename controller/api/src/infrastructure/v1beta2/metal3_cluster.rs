//! Metal3Cluster: the InfraCluster.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InfraInitialization;
use crate::cluster::ApiEndpoint;
use crate::{Condition, Extra, Time};

/// The infrastructure of one cluster: where its control plane is reached.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3Cluster",
    plural = "metal3clusters",
    shortname = "m3c",
    shortname = "m3cluster",
    shortname = "metal3c",
    category = "cluster-api",
    namespaced,
    status = "Metal3ClusterStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Age","type":"date","description":"Time duration since creation of Metal3Cluster","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Provisioned","type":"string","description":"Metal3Cluster is provisioned","jsonPath":".status.initialization.provisioned"}"#,
    printcolumn = r#"{"name":"Cluster","type":"string","description":"Cluster to which this BMCluster belongs","jsonPath":".metadata.labels.cluster\\.x-k8s\\.io/cluster-name"}"#,
    printcolumn = r#"{"name":"Endpoint","type":"string","description":"Control plane endpoint","jsonPath":".spec.controlPlaneEndpoint"}"#
)]
pub struct Metal3ClusterSpec {
    /// Where the control plane is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is observed of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Metal3ClusterStatus {
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Whether it can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<InfraInitialization>,
    /// When this status last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}
