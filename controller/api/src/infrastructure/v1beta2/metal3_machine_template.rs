//! Metal3MachineTemplate: what Metal3Machines are cloned from.

use bessemer_api_macros::api;

use super::Metal3MachineSpec;
use crate::cluster::TemplateMetadata;

/// The spec of the machines to come.
#[api]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3MachineTemplate",
    plural = "metal3machinetemplates",
    shortname = "m3mt",
    shortname = "m3machinetemplate",
    shortname = "m3machinetemplates",
    shortname = "metal3mt",
    shortname = "metal3machinetemplate",
    category = "cluster-api",
    namespaced
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct Metal3MachineTemplateSpec {
    /// Whether a replaced machine's host is kept for its successor, not erased in between.
    #[schemars(extend("x-default" = false))]
    pub node_reuse: Option<bool>,
    /// What is cloned.
    pub template: Metal3MachineTemplateResource,
}

/// What is cloned.
#[api]
pub struct Metal3MachineTemplateResource {
    /// Labels and annotations of the clones.
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the clones.
    pub spec: Metal3MachineSpec,
}
