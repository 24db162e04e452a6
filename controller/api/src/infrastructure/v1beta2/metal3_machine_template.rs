//! Metal3MachineTemplate: what Metal3Machines are cloned from.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Metal3MachineSpec;
use crate::Extra;
use crate::cluster::TemplateMetadata;

/// The spec of the machines to come.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3MachineTemplate",
    plural = "metal3machinetemplates",
    shortname = "m3mt",
    shortname = "m3machinetemplate",
    shortname = "metal3mt",
    category = "cluster-api",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Age","type":"date","description":"Time duration since creation of Metal3MachineTemplate","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct Metal3MachineTemplateSpec {
    /// What is cloned.
    pub template: Metal3MachineTemplateResource,
    /// Whatever else was written here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is cloned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineTemplateResource {
    /// Labels and annotations of the clones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the clones.
    pub spec: Metal3MachineSpec,
}
