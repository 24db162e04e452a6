//! Metal3DataClaim: a machine's wish for its data.

use bessemer_api_macros::api;

use super::ObjectName;

/// A wish for metadata and network data made from a template; owned by the machine, and of its name.
#[api(optional_spec)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3DataClaim",
    plural = "metal3dataclaims",
    shortname = "m3dc",
    shortname = "m3dataclaim",
    shortname = "m3dataclaims",
    shortname = "metal3dc",
    shortname = "metal3dataclaim",
    category = "cluster-api",
    namespaced,
    status = "Metal3DataClaimStatus"
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct Metal3DataClaimSpec {
    /// Metal3DataTemplate.
    pub template: Option<ObjectName>,
}

/// What is observed of it.
#[api]
#[derive(Eq)]
pub struct Metal3DataClaimStatus {
    /// Why there is no data yet.
    #[text(1..=512)]
    pub error_message: Option<String>,
    /// Metal3Data that was made.
    pub rendered_data: Option<ObjectName>,
}
