//! Where a host's interfaces are plugged in, and which network they shall be in.

use bessemer_api_macros::api;

use crate::patterns::MAC;

/// One interface of a host, by its name or its MAC address.
#[api]
#[derive(Eq)]
pub struct HostNetworkInterface {
    /// Name.
    #[schemars(regex(pattern = r"^[a-zA-Z0-9._-]+$"))]
    pub name: Option<String>,
    /// MAC address.
    #[schemars(regex(pattern = MAC))]
    pub mac_address: Option<String>,
    /// The port at the other end of its cable.
    pub switch_port: Option<SwitchPort>,
    /// The network it shall be in.
    pub host_network_attachment: Option<HostNetworkAttachmentReference>,
}

/// A port of a switch.
#[api]
#[derive(Eq)]
pub struct SwitchPort {
    /// MAC address of the switch.
    #[serde(rename = "switchID")]
    #[schemars(regex(pattern = MAC))]
    pub switch_id: String,
    /// Name of the port.
    #[serde(rename = "portID")]
    pub port_id: String,
}

/// Which HostNetworkAttachment.
#[api]
#[derive(Eq)]
pub struct HostNetworkAttachmentReference {
    /// Name.
    #[text(..=253)]
    pub name: Option<String>,
    /// Namespace; the host's unless given.
    #[text(..=63)]
    pub namespace: Option<String>,
}
