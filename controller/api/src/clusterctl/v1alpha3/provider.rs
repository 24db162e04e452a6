//! Provider: one entry of clusterctl's inventory.

use bessemer_api_macros::api;

/// A provider that is installed. Its fields stand at the root of the object.
#[api]
#[derive(Eq)]
#[kube(
    group = "clusterctl.cluster.x-k8s.io",
    version = "v1alpha3",
    kind = "Provider",
    plural = "providers",
    category = "cluster-api",
    namespaced,
    no_spec
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[column("Type", string, ".type")]
#[column("Provider", string, ".providerName")]
#[column("Version", string, ".version")]
pub struct ProviderFields {
    /// Its name, such as `cluster-api` or `metal3`.
    pub provider_name: Option<String>,
    /// What it provides: `CoreProvider`, `BootstrapProvider`, …
    #[serde(rename = "type")]
    pub provider_type: Option<String>,
    /// Its version, with a `v`.
    pub version: Option<String>,
    /// Namespace that it is confined to.
    pub watched_namespace: Option<String>,
}
