//! Metal3Machine: the InfraMachine, which claims a BareMetalHost.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InfraInitialization;
use crate::cluster::MachineAddress;
use crate::{Condition, Extra, Time};

/// One machine of a cluster on one host.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3Machine",
    plural = "metal3machines",
    shortname = "m3m",
    shortname = "m3machine",
    shortname = "metal3m",
    category = "cluster-api",
    namespaced,
    status = "Metal3MachineStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Age","type":"date","description":"Time duration since creation of Metal3Machine","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"ProviderID","type":"string","description":"Provider ID","jsonPath":".spec.providerID"}"#,
    printcolumn = r#"{"name":"Provisioned","type":"string","description":"Metal3Machine is provisioned","jsonPath":".status.initialization.provisioned"}"#,
    printcolumn = r#"{"name":"Cluster","type":"string","description":"Cluster to which this M3Machine belongs","jsonPath":".metadata.labels.cluster\\.x-k8s\\.io/cluster-name"}"#
)]
pub struct Metal3MachineSpec {
    /// What to write to the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<InfraImage>,
    /// Which hosts may be chosen; all of the namespace if empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<HostSelector>,
    /// `metal3://<namespace>/<host>/<metal3machine>`, once the host has left its ramdisk.
    #[serde(rename = "providerID", default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An image, in the words of this group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfraImage {
    /// Where it is.
    pub url: String,
    /// Hexadecimal digest of the bytes at that URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// `sha256`, `sha512` or `md5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum_type: Option<String>,
    /// `raw`, `qcow2`, `vdi`, `vmdk` or `live-iso`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_format: Option<String>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Which hosts may be chosen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSelector {
    /// Labels that the host must carry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is observed of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Metal3MachineStatus {
    /// Addresses of the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
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
