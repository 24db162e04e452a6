//! KubeadmConfigTemplate: what KubeadmConfigs are made from.

use bessemer_api_macros::api;

use super::KubeadmConfigSpec;
use crate::cluster::TemplateMetadata;

/// What KubeadmConfigs are made from.
#[api(optional_spec)]
#[kube(
    group = "bootstrap.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "KubeadmConfigTemplate",
    plural = "kubeadmconfigtemplates",
    category = "cluster-api",
    namespaced
)]
#[column(
    "ClusterClass",
    string,
    ".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name",
    "Class that it belongs to"
)]
#[column("Cluster", string, ".metadata.ownerReferences[?(@.kind==\"Cluster\")].name", "Cluster that it belongs to")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct KubeadmConfigTemplateSpec {
    /// The template.
    pub template: KubeadmConfigTemplateResource,
}

/// One KubeadmConfig to be.
#[api(some)]
pub struct KubeadmConfigTemplateResource {
    /// Labels and annotations.
    pub metadata: Option<TemplateMetadata>,
    /// Its spec.
    pub spec: Option<KubeadmConfigSpec>,
}
