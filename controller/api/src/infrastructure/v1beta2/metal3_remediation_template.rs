//! Metal3RemediationTemplate: what Metal3Remediations are cloned from.

use bessemer_api_macros::api;

use super::{Metal3RemediationSpec, Metal3RemediationStatus};

/// The spec of the remediations to come.
#[api(optional_spec)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3RemediationTemplate",
    plural = "metal3remediationtemplates",
    shortname = "m3rt",
    shortname = "m3remediationtemplate",
    shortname = "m3remediationtemplates",
    shortname = "metal3rt",
    shortname = "metal3remediationtemplate",
    category = "cluster-api",
    namespaced,
    status = "Metal3RemediationTemplateStatus"
)]
pub struct Metal3RemediationTemplateSpec {
    /// What is cloned.
    #[serde(default)]
    pub template: Metal3RemediationTemplateResource,
}

/// What is cloned.
#[api]
pub struct Metal3RemediationTemplateResource {
    /// Spec of the clones.
    pub spec: Metal3RemediationSpec,
}

/// What is observed of it; upstream nests it once more.
#[api]
#[derive(Eq)]
pub struct Metal3RemediationTemplateStatus {
    /// Of the last remediation.
    pub status: Option<Metal3RemediationStatus>,
}
