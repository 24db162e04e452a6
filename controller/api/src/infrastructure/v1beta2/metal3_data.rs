//! Metal3Data: the data of one machine.

use bessemer_api_macros::api;
use k8s_openapi::api::core::v1::SecretReference;

use super::ObjectName;

/// Metadata and network data made from a template for one claim. Its index is its own among those of the template.
#[api(optional_spec)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3Data",
    plural = "metal3datas",
    shortname = "m3d",
    shortname = "m3data",
    shortname = "m3datas",
    shortname = "metal3d",
    shortname = "metal3data",
    category = "cluster-api",
    namespaced,
    status = "Metal3DataStatus"
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct Metal3DataSpec {
    /// Metal3DataClaim that it answers.
    pub claim: Option<ObjectName>,
    /// Its number.
    #[number(0..)]
    pub index: Option<i32>,
    /// Secret with the metadata.
    pub meta_data: Option<SecretReference>,
    /// Secret with the network data.
    pub network_data: Option<SecretReference>,
    /// Metal3DataTemplate that it is made from.
    pub template: Option<ObjectName>,
}

/// What is observed of it.
#[api]
#[derive(Eq)]
pub struct Metal3DataStatus {
    /// Why it is not ready.
    #[text(1..=512)]
    pub error_message: Option<String>,
    /// Whether both Secrets are written.
    pub ready: Option<bool>,
}
