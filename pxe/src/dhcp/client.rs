//! Who is asking: the signs by which firmware, iPXE and operating systems are told apart.

use std::borrow::Cow;
use std::sync::Arc;

use super::options::code;
use super::packet::Packet;
use crate::client::{ClientIdentity, Relay};
use crate::identity::{ClientArch, MacAddr};
use crate::trace::Phase;

/// Which program of the machine asks. iPXE sends `PXEClient` too, so its own signs come first.
pub(super) fn phase(request: &Packet) -> Phase {
    let options = &request.options;
    // RFC 3004 puts a length octet before each class; iPXE sends the bare word.
    let user_class = options.get(code::USER_CLASS).unwrap_or_default();
    let vendor_class = options.get(code::VENDOR_CLASS).unwrap_or_default();
    if options.has(code::IPXE) || user_class.as_ref() == b"iPXE" || user_class.as_ref() == b"\x04iPXE" {
        Phase::Ipxe
    } else if vendor_class.starts_with(b"HTTPClient") {
        Phase::HttpFirmware
    } else if vendor_class.starts_with(b"PXEClient") {
        Phase::PxeFirmware
    } else {
        Phase::System
    }
}

/// The machine as the directory gets to know it.
pub(super) fn identify(
    request: &Packet,
    mac: MacAddr,
    phase: Phase,
    relay: Option<Relay>,
    interface: Arc<str>,
) -> ClientIdentity {
    ClientIdentity {
        macs: vec![mac],
        duid: None,
        client_id: request.options.get(code::CLIENT_ID).map(Cow::into_owned),
        smbios_uuid: request.options.client_uuid(),
        arch: arch(request, phase),
        relay,
        interface,
    }
}

/// The first one of option 93 that we have a program for, else the first; firmware with several lists what it can run.
/// An operating system has none, even if it sends the option.
fn arch(request: &Packet, phase: Phase) -> Option<ClientArch> {
    if matches!(phase, Phase::System | Phase::Unknown) {
        return None;
    }
    let listed = request.options.u16_list(code::CLIENT_ARCH).unwrap_or_default();
    let served = listed.iter().copied().map(ClientArch).find(|arch| arch.is_x86_64() || arch.is_arm64());
    let other = || listed.first().copied().or_else(|| arch_of_vendor_class(request)).map(ClientArch);
    // RFC 4578: firmware without option 93 is old BIOS firmware.
    served.or_else(other).or((phase != Phase::HttpFirmware).then_some(ClientArch::BIOS))
}

/// `PXEClient:Arch:00007:UNDI:003001`: the same number again, for firmware without option 93.
fn arch_of_vendor_class(request: &Packet) -> Option<u16> {
    let class = request.options.get(code::VENDOR_CLASS)?;
    let mut words = std::str::from_utf8(&class).ok()?.split(':').skip_while(|word| *word != "Arch");
    words.nth(1)?.parse().ok()
}
