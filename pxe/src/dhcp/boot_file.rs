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
    let is_arm64 = matches!(arch, Some(ClientArch::UEFI_ARM64 | ClientArch::UEFI_ARM64_HTTP));
    let file = match phase {
        Phase::System | Phase::Unknown => return Ok(None),
        Phase::Ipxe => match target {
            BootTarget::Ramdisk { boot_id } | BootTarget::Discover { boot_id } if is_arm64 => {
                urls.ramdisk_script_arm64(*boot_id).ok_or("no kernel for this architecture")?
            }
            BootTarget::Ramdisk { boot_id } | BootTarget::Discover { boot_id } => urls.ramdisk_script(*boot_id),
            BootTarget::LocalDisk => urls.local_script(),
            BootTarget::LiveIso { url } => fits(urls.live_script(url))?,
            BootTarget::PowerOff | BootTarget::Nothing => urls.hold_script(),
        },
        Phase::HttpFirmware if *target == BootTarget::LocalDisk => urls.absent(),
        Phase::HttpFirmware => match (arch, target) {
            // UEFI boots an ISO by itself, as a disk in memory.
            (_, BootTarget::LiveIso { url }) => fits(url.clone())?,
            (Some(ClientArch::UEFI_X64_HTTP), BootTarget::Ramdisk { boot_id } | BootTarget::Discover { boot_id }) => {
                urls.uki(*boot_id).unwrap_or_else(|| urls.ipxe_efi())
            }
            (Some(ClientArch::UEFI_X64_HTTP), _) => urls.ipxe_efi(),
            (Some(ClientArch::UEFI_ARM64_HTTP), _) => urls.ipxe_arm64().ok_or("no kernel for this architecture")?,
            _ => return Err("no HTTP boot program for this architecture"),
        },
        Phase::PxeFirmware if *target == BootTarget::LocalDisk => names::ABSENT.to_owned(),
        Phase::PxeFirmware => match arch {
            Some(ClientArch::UEFI_X64 | ClientArch::UEFI_X64_EBC) => names::IPXE_EFI.to_owned(),
            Some(ClientArch::BIOS) if ipxe.bios.is_some() => names::UNDIONLY.to_owned(),
            Some(ClientArch::UEFI_ARM64) if urls.ipxe_arm64().is_some() => names::IPXE_ARM64.to_owned(),
            _ => return Err("no PXE boot program for this architecture"),
        },
    };
    Ok(Some(file))
}

/// One option of DHCPv4 holds no longer one, and firmware joins no two.
fn fits(url: String) -> Result<String, &'static str> {
    if url.len() <= 255 { Ok(url) } else { Err("the live system's URL is too long for DHCP") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Media, Ramdisk};
    use crate::identity::BootId;

    const BOOT: BootId = BootId(7);
    const LIVE: &str = "http://10.77.0.9/live.iso";

    fn told(phase: Phase, arch: u16, target: &BootTarget, all: bool) -> Result<Option<String>, &'static str> {
        let mut config = Config::default();
        if all {
            config.ipxe = Ipxe { bios: Some("b".into()), arm64: Some("a".into()), ..Ipxe::default() };
            config.media = Media { uki: Some("u".into()), arm64: Some(Ramdisk::default()), iso: None };
        }
        let urls = Urls::http(std::net::SocketAddrV4::new([10, 77, 0, 1].into(), 80)).offering(&config);
        let file = boot_file(phase, Some(ClientArch(arch)), target, &config.ipxe, &urls)?;
        Ok(file.map(|file| file.trim_start_matches("http://10.77.0.1:80/").to_owned()))
    }

    #[test]
    fn each_machine_is_sent_to_a_program_of_its_own() {
        use Phase::{HttpFirmware, Ipxe, PxeFirmware};
        let ramdisk = BootTarget::Ramdisk { boot_id: BOOT };
        let boot = |file: &str| format!("b/{BOOT}/{file}");
        let none = || String::new();
        // With everything configured, and with iPXE for x64 alone; nothing is silence.
        for (phase, arch, all, least) in [
            (PxeFirmware, 0, "undionly.kpxe".into(), none()),
            (PxeFirmware, 7, "ipxe.efi".into(), "ipxe.efi".into()),
            (PxeFirmware, 9, "ipxe.efi".into(), "ipxe.efi".into()),
            (PxeFirmware, 11, "ipxe-arm64.efi".into(), none()),
            (PxeFirmware, 6, none(), none()),
            (PxeFirmware, 10, none(), none()),
            (Ipxe, 0, boot("boot.ipxe"), boot("boot.ipxe")),
            (Ipxe, 7, boot("boot.ipxe"), boot("boot.ipxe")),
            (Ipxe, 11, boot("boot-arm64.ipxe"), none()),
            (HttpFirmware, 16, boot("boot.efi"), "ipxe.efi".into()),
            (HttpFirmware, 19, "ipxe-arm64.efi".into(), none()),
            (HttpFirmware, 15, none(), none()),
        ] {
            for (configured, expected) in [(true, all), (false, least)] {
                let file = told(phase, arch, &ramdisk, configured).unwrap_or_default().unwrap_or_default();
                assert_eq!(file, expected, "{phase:?} {arch} {configured}");
            }
        }
    }

    #[test]
    fn live_systems_and_hosts_to_be_off() {
        let live = BootTarget::LiveIso { url: LIVE.into() };
        let script = told(Phase::Ipxe, 7, &live, false).unwrap().unwrap();
        assert_eq!(script.split('/').next(), Some("live"));
        assert_eq!(told(Phase::HttpFirmware, 16, &live, true), Ok(Some(LIVE.into())));
        assert_eq!(told(Phase::PxeFirmware, 7, &live, true), Ok(Some("ipxe.efi".into())));
        let long = BootTarget::LiveIso { url: format!("http://x/{}", "a".repeat(250)) };
        assert!(told(Phase::Ipxe, 7, &long, false).is_err() && told(Phase::HttpFirmware, 16, &long, false).is_err());
        // The UKI would start the ramdisk, iPXE holds the host.
        assert_eq!(told(Phase::HttpFirmware, 16, &BootTarget::PowerOff, true), Ok(Some("ipxe.efi".into())));
        assert_eq!(told(Phase::Ipxe, 7, &BootTarget::PowerOff, true), Ok(Some("hold.ipxe".into())));
    }
}
