//! Metal3ClusterTemplate: what Metal3Clusters are cloned from.

use bessemer_api_macros::api;

use super::Metal3ClusterSpec;
use crate::cluster::TemplateMetadata;

/// The spec of the clusters to come.
#[api]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3ClusterTemplate",
    plural = "metal3clustertemplates",
    shortname = "m3ct",
    category = "cluster-api",
    namespaced
)]
pub struct Metal3ClusterTemplateSpec {
    /// What is cloned.
    pub template: Metal3ClusterTemplateResource,
}

/// What is cloned.
#[api]
pub struct Metal3ClusterTemplateResource {
    /// Labels and annotations of the clones.
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the clones.
    pub spec: Metal3ClusterSpec,
}
