//! What a Node says of itself, as core Kubernetes has it.

use bessemer_api_macros::api;

/// What a Node says of itself.
#[api]
#[derive(Eq)]
#[serde(default)]
pub struct NodeInfo {
    /// Its machine id.
    #[serde(rename = "machineID")]
    pub machine_id: String,
    /// Its system UUID, from the firmware.
    #[serde(rename = "systemUUID")]
    pub system_uuid: String,
    /// Its boot id: another one after every start.
    #[serde(rename = "bootID")]
    pub boot_id: String,
    /// Its kernel.
    pub kernel_version: String,
    /// Its operating system, as `/etc/os-release` names it.
    pub os_image: String,
    /// Its container runtime.
    pub container_runtime_version: String,
    /// Its kubelet.
    pub kubelet_version: String,
    /// Its kube-proxy; no longer reported.
    pub kube_proxy_version: String,
    /// Its operating system: `linux` or `windows`.
    pub operating_system: String,
    /// Its architecture.
    pub architecture: String,
    /// Its swap.
    pub swap: Option<NodeSwap>,
}

/// A Node's swap.
#[api]
#[derive(Eq)]
pub struct NodeSwap {
    /// Size in bytes.
    pub capacity: Option<i64>,
}
