//! Machine: one node to be.

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::MachineAddress;
use crate::{Condition, ContractReference, Extra, NameReference, Time};

/// One machine of a cluster: where it runs and how it becomes a node.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Machine",
    plural = "machines",
    shortname = "ma",
    category = "cluster-api",
    namespaced,
    status = "MachineStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Cluster","type":"string","description":"Cluster","jsonPath":".spec.clusterName"}"#,
    printcolumn = r#"{"name":"Node Name","type":"string","description":"Node name associated with this machine","jsonPath":".status.nodeRef.name"}"#,
    printcolumn = r#"{"name":"Provider ID","type":"string","description":"Provider ID","jsonPath":".spec.providerID","priority":10}"#,
    printcolumn = r#"{"name":"Ready","type":"string","description":"Machine pass all readiness checks","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Available","type":"string","description":"Machine is Ready for at least MinReadySeconds","jsonPath":".status.conditions[?(@.type==\"Available\")].status"}"#,
    printcolumn = r#"{"name":"Up-to-date","type":"string","description":"Machine spec matches the spec of the Machine's owner resource, e.g. MachineDeployment","jsonPath":".status.conditions[?(@.type==\"UpToDate\")].status"}"#,
    printcolumn = r#"{"name":"Internal-IP","type":"string","description":"Internal IP of the machine","jsonPath":".status.addresses[?(@.type==\"InternalIP\")].address","priority":10}"#,
    printcolumn = r#"{"name":"OS-Image","type":"string","description":"OS Image reported by the node","jsonPath":".status.nodeInfo.osImage","priority":10}"#,
    printcolumn = r#"{"name":"Phase","type":"string","description":"Machine status such as Terminating/Pending/Running/Failed etc","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Age","type":"date","description":"Time duration since creation of Machine","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Version","type":"string","description":"Kubernetes version associated with this Machine","jsonPath":".spec.version"}"#
)]
pub struct MachineSpec {
    /// Cluster it is of.
    pub cluster_name: String,
    /// How it becomes a node.
    pub bootstrap: MachineBootstrap,
    /// What it runs on.
    pub infrastructure_ref: ContractReference,
    /// Kubernetes version, with a `v`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its Node's `spec.providerID`.
    #[serde(rename = "providerID", default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a machine becomes a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineBootstrap {
    /// Who makes the bootstrap data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_ref: Option<ContractReference>,
    /// Secret with the bootstrap data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_secret_name: Option<String>,
}

/// What is observed of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineStatus {
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What was reached once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<MachineInitialization>,
    /// Its Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_ref: Option<NameReference>,
    /// What the Node says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub node_info: Option<Value>,
    /// When the phase last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    /// Addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// `Pending`, `Provisioning`, `Provisioned`, `Running`, `Deleting`, …
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
pub struct MachineInitialization {
    /// The infrastructure is provisioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
    /// The bootstrap data exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_data_secret_created: Option<bool>,
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "nullable": true, "x-kubernetes-preserve-unknown-fields": true })
}
