//! Who is asking, as far as the question itself tells: nothing here is verified.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use uuid::Uuid;

use crate::identity::{ClientArch, MacAddr};

/// What a machine told about itself in one DHCP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    /// Its hardware addresses. DHCPv4 tells exactly one; DHCPv6 may tell none.
    pub macs: Vec<MacAddr>,
    /// DHCPv6: the DUID, as on the wire (RFC 8415, section 11).
    pub duid: Option<Vec<u8>>,
    /// DHCPv4: option 61, as on the wire. Firmware, iPXE and the installed system of one machine send different ones, so
    /// it never identifies a machine whose MAC is known.
    pub client_id: Option<Vec<u8>>,
    /// The SMBIOS UUID of option 97 (or of a DUID-UUID), the octets in the order they arrived. Firmware sends the first
    /// three fields little-endian, iPXE may not: compare in both byte orders.
    pub smbios_uuid: Option<Uuid>,
    /// The architecture. Boot clients have one, whether or not they tell it; operating systems have none, so a stranger
    /// without one is somebody's phone or laptop.
    pub arch: Option<ClientArch>,
    /// The relay agent that passed the request on; `None` for a machine on our own link.
    pub relay: Option<Relay>,
    /// The interface of ours that heard it.
    pub interface: Arc<str>,
}

impl ClientIdentity {
    /// The (first) hardware address.
    pub fn mac(&self) -> Option<MacAddr> {
        self.macs.first().copied()
    }
}

/// A relay agent, and what it told about where the machine is plugged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relay {
    /// `giaddr`, or the link address of DHCPv6.
    pub address: IpAddr,
    /// Sub-option 1 of option 82 (RFC 3046), or the interface id of DHCPv6, as on the wire.
    pub circuit_id: Option<Vec<u8>>,
    /// Sub-option 2 of option 82, or DHCPv6's remote id, as on the wire.
    pub remote_id: Option<Vec<u8>>,
    /// The subnet to choose an address from, where that is not `address`'s (RFC 3527).
    pub link_selection: Option<Ipv4Addr>,
}
