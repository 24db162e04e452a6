//! The schemes of BMC addresses, Metal3's, and what each of them means.

use std::fmt;

/// How a BMC is spoken to and how its host boots, as one word of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// IPMI 2.0 over LAN (RMCP+).
    Ipmi,
    /// A virtual machine's BMC, which speaks IPMI.
    Libvirt,
    /// Redfish, booting from the network.
    Redfish,
    /// HPE iLO 5 by Redfish, booting from the network.
    Ilo5Redfish,
    /// Dell iDRAC by Redfish, booting from the network.
    IdracRedfish,
    /// Redfish, booting from virtual media.
    RedfishVirtualMedia,
    /// HPE iLO 5 by Redfish, booting from virtual media.
    Ilo5VirtualMedia,
    /// Dell iDRAC by Redfish, booting from virtual media.
    IdracVirtualMedia,
    /// Redfish, booting by UEFI HTTP.
    RedfishUefiHttp,
}

/// The protocol behind a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// IPMI 2.0 over LAN.
    Ipmi,
    /// Redfish over HTTP.
    Redfish,
}

/// How a host of this scheme gets its boot program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BootVia {
    /// DHCP and PXE, from the network card.
    Network,
    /// An image that the BMC shows as a drive.
    VirtualMedia,
    /// A URL that firmware loads.
    UefiHttp,
}

impl Scheme {
    const ALL: [Self; 9] = [
        Self::Ipmi,
        Self::Libvirt,
        Self::Redfish,
        Self::Ilo5Redfish,
        Self::IdracRedfish,
        Self::RedfishVirtualMedia,
        Self::Ilo5VirtualMedia,
        Self::IdracVirtualMedia,
        Self::RedfishUefiHttp,
    ];

    /// As it is written in an address.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipmi => "ipmi",
            Self::Libvirt => "libvirt",
            Self::Redfish => "redfish",
            Self::Ilo5Redfish => "ilo5-redfish",
            Self::IdracRedfish => "idrac-redfish",
            Self::RedfishVirtualMedia => "redfish-virtualmedia",
            Self::Ilo5VirtualMedia => "ilo5-virtualmedia",
            Self::IdracVirtualMedia => "idrac-virtualmedia",
            Self::RedfishUefiHttp => "redfish-uefihttp",
        }
    }

    /// What it speaks.
    #[must_use]
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Ipmi | Self::Libvirt => Protocol::Ipmi,
            _ => Protocol::Redfish,
        }
    }

    /// How its host boots.
    #[must_use]
    pub const fn boots_via(self) -> BootVia {
        match self {
            Self::RedfishVirtualMedia | Self::Ilo5VirtualMedia | Self::IdracVirtualMedia => BootVia::VirtualMedia,
            Self::RedfishUefiHttp => BootVia::UefiHttp,
            _ => BootVia::Network,
        }
    }

    /// Reads the part before `://`, without a transport. Names that Metal3 has dropped mean what took their place; where
    /// nothing did, the answer says what does.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        if let Some(scheme) = Self::ALL.into_iter().find(|scheme| scheme.name() == name) {
            return Ok(scheme);
        }
        match name {
            // Metal3 until 0.12: iLO's own drivers; iLO 5 and later speak Redfish.
            "ilo5" => Ok(Self::Ilo5Redfish),
            // Its WS-Management driver; every iDRAC that had it speaks Redfish, too.
            "idrac" => Ok(Self::IdracRedfish),
            "ilo4" | "ilo4-virtualmedia" | "irmc" => {
                Err(format!("scheme {name:?} is no longer supported; use ipmi, or redfish where the BMC has it"))
            }
            "ibmc" => Err("scheme \"ibmc\" is no longer supported; use redfish".to_owned()),
            _ => {
                let known = Self::ALL.map(Self::name).join(", ");
                Err(format!("scheme {name:?} is unknown: supported: {known}"))
            }
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
