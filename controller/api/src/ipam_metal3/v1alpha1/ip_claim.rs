//! IPClaim: a wish for an address.

use bessemer_api_macros::api;
use k8s_openapi::api::core::v1::ObjectReference;

/// A wish for an address of a pool.
#[api(optional_spec)]
#[kube(
    group = "ipam.metal3.io",
    version = "v1alpha1",
    kind = "IPClaim",
    plural = "ipclaims",
    shortname = "ipc",
    shortname = "ipclaim",
    shortname = "m3ipc",
    shortname = "m3ipclaim",
    shortname = "m3ipclaims",
    shortname = "metal3ipc",
    shortname = "metal3ipclaim",
    shortname = "metal3ipclaims",
    category = "cluster-api",
    namespaced,
    status = "IpClaimStatus",
    root = "IpClaim"
)]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct IpClaimSpec {
    /// IPPool.
    #[serde(default)]
    pub pool: ObjectReference,
}

/// What is observed of it.
#[api]
pub struct IpClaimStatus {
    /// IPAddress that was given.
    pub address: Option<ObjectReference>,
    /// Why none was given.
    pub error_message: Option<String>,
}
