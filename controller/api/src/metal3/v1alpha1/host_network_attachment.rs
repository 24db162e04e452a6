//! HostNetworkAttachment: what a switch port does for a host's interface.

use bessemer_api_macros::api;

/// VLANs of a switch port.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HostNetworkAttachment",
    plural = "hostnetworkattachments",
    namespaced
)]
#[column("Mode", string, ".spec.mode", "How frames are tagged")]
#[column("Native VLAN", integer, ".spec.nativeVLAN", "VLAN of untagged frames")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
#[serde(default)]
pub struct HostNetworkAttachmentSpec {
    /// How frames are tagged.
    #[schemars(extend("x-default" = "access"))]
    pub mode: PortMode,
    /// VLAN of untagged frames.
    #[serde(rename = "nativeVLAN")]
    #[number(1..=4094)]
    #[schemars(extend("format" = null))]
    pub native_vlan: i64,
    /// VLANs of tagged frames: numbers, and ranges such as `100-200`.
    #[serde(rename = "allowedVLANs")]
    #[schemars(inner(regex(pattern = r"^\d+(-\d+)?$")))]
    pub allowed_vlans: Vec<String>,
    /// Largest frame.
    #[number(68..=9216)]
    #[schemars(extend("format" = null))]
    pub mtu: Option<i64>,
}

/// How a port tags frames.
#[api]
pub enum PortMode {
    /// Not at all.
    #[default]
    #[serde(rename = "access")]
    Access,
    /// All but those of the native VLAN.
    #[serde(rename = "trunk")]
    Trunk,
    /// Either.
    #[serde(rename = "hybrid")]
    Hybrid,
}
