//! Who is asking: the signs by which firmware, iPXE and operating systems are told apart.

use super::options::code;
use super::packet::Packet;
use crate::directory::ClientIdentity;
use crate::identity::{ClientArch, MacAddr};

/// The program that speaks DHCP on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// iPXE, in ROM or loaded by us.
    Ipxe,
    /// Firmware that boots over TFTP (RFC 4578, vendor class `PXEClient`).
    PxeFirmware,
    /// UEFI firmware that boots over HTTP (vendor class `HTTPClient`).
    HttpFirmware,
    /// Anything else, usually an operating system.
    System,
}

impl Program {
    /// iPXE sends `PXEClient` too, so its own signs come first.
    pub(crate) fn of(request: &Packet) -> Self {
        let options = &request.options;
        // RFC 3004 puts a length octet before each class; iPXE sends the bare word.
        let user_class = options.get(code::USER_CLASS).unwrap_or_default();
        let vendor_class = options.get(code::VENDOR_CLASS).unwrap_or_default();
        if options.has(code::IPXE) || user_class.as_ref() == b"iPXE" || user_class.as_ref() == b"\x04iPXE" {
            Self::Ipxe
        } else if vendor_class.starts_with(b"HTTPClient") {
            Self::HttpFirmware
        } else if vendor_class.starts_with(b"PXEClient") {
            Self::PxeFirmware
        } else {
            Self::System
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ipxe => "ipxe",
            Self::PxeFirmware => "pxe-firmware",
            Self::HttpFirmware => "http-firmware",
            Self::System => "system",
        }
    }
}

/// The machine as the directory gets to know it.
pub(crate) fn identify(request: &Packet, mac: MacAddr, interface: &str) -> ClientIdentity {
    let listed = request.options.u16_list(code::CLIENT_ARCH).and_then(|list| list.first().copied());
    let arch = listed.or_else(|| arch_of_vendor_class(request)).map(ClientArch);
    ClientIdentity { mac, smbios_uuid: request.options.client_uuid(), arch, interface: interface.to_owned() }
}

/// `PXEClient:Arch:00007:UNDI:003001`: the same number again, for firmware without option 93.
fn arch_of_vendor_class(request: &Packet) -> Option<u16> {
    let class = request.options.get(code::VENDOR_CLASS)?;
    let mut words = std::str::from_utf8(&class).ok()?.split(':').skip_while(|word| *word != "Arch");
    words.nth(1)?.parse().ok()
}
