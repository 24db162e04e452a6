//! Which file a boot client is sent to.

use crate::config::Ipxe;
use crate::directory::BootTarget;
use crate::identity::ClientArch;
use crate::script::Urls;
use crate::tftp::names;
use crate::trace::Phase;

/// The file's name or URL. An error is the reason for silence; `None` means an address without a boot file.
///
/// A host that boots from its disk is let go at once. Firmware goes on to its next boot entry seconds after "no such
/// file", and stalls for a minute without an offer. Not by way of iPXE: Debian's `ipxe.efi` hangs OVMF when it exits.
pub(crate) fn boot_file(
    phase: Phase,
    arch: Option<ClientArch>,
    target: &BootTarget,
    ipxe: &Ipxe,
    urls: &Urls,
) -> Result<Option<String>, &'static str> {
    if *target == BootTarget::Nothing {
        return Err("nothing to boot");
    }
    let file = match phase {
        Phase::System | Phase::Unknown => return Ok(None),
        Phase::Ipxe => match target {
            BootTarget::Ramdisk { boot_id } | BootTarget::Discover { boot_id } => urls.ramdisk_script(*boot_id),
            BootTarget::LocalDisk => urls.local_script(),
            _ => urls.hold_script(),
        },
        Phase::HttpFirmware if *target == BootTarget::LocalDisk => urls.absent(),
        Phase::HttpFirmware => match arch {
            Some(ClientArch::UEFI_X64_HTTP) => urls.ipxe_efi(),
            _ => return Err("no HTTP boot program for this architecture"),
        },
        Phase::PxeFirmware if *target == BootTarget::LocalDisk => names::ABSENT.to_owned(),
        Phase::PxeFirmware => match arch {
            Some(ClientArch::UEFI_X64 | ClientArch::UEFI_X64_EBC) => names::IPXE_EFI.to_owned(),
            Some(ClientArch::BIOS) if ipxe.bios.is_some() => names::UNDIONLY.to_owned(),
            _ => return Err("no PXE boot program for this architecture"),
        },
    };
    Ok(Some(file))
}
