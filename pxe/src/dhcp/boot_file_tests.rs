use super::*;
use crate::config::{FirmwareTls, Ipxe, Media, Ramdisk};
use crate::identity::BootId;

const BOOT: BootId = BootId(7);
const LIVE: &str = "http://10.77.0.9/live.iso";

fn told(phase: Phase, arch: u16, target: &BootTarget, all: bool) -> Result<Option<String>, &'static str> {
    let mut config = Config::default();
    if all {
        config.ipxe = Ipxe { bios: Some("b".into()), arm64: Some("a".into()), ..Ipxe::default() };
        config.media = Media { uki: Some("u".into()), arm64: Some(Ramdisk::default()), iso: None };
    }
    let programs = Programs::new(&config, ([10, 77, 0, 1], 80));
    let file = programs.boot_file(phase, Some(ClientArch(arch)), target)?;
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
        (Ipxe, 6, none(), none()),
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
    let boot_id = BootId(7);
    let live = BootTarget::LiveIso { boot_id, url: LIVE.into() };
    let script = Ok(Some(format!("b/{boot_id}/boot.ipxe")));
    assert_eq!(told(Phase::Ipxe, 7, &live, false), script);
    assert_eq!(told(Phase::HttpFirmware, 16, &live, true), Ok(Some(LIVE.into())));
    assert_eq!(told(Phase::PxeFirmware, 7, &live, true), Ok(Some("ipxe.efi".into())));
    // Silence would be the disk.
    let long = BootTarget::LiveIso { boot_id, url: format!("http://x/{}", "a".repeat(250)) };
    assert_eq!(told(Phase::Ipxe, 7, &long, false), script);
    assert_eq!(told(Phase::HttpFirmware, 16, &long, false), Ok(Some("ipxe.efi".into())));
    // The UKI would start the ramdisk, iPXE holds the host.
    assert_eq!(told(Phase::HttpFirmware, 16, &BootTarget::PowerOff, true), Ok(Some("ipxe.efi".into())));
    assert_eq!(told(Phase::Ipxe, 7, &BootTarget::PowerOff, true), Ok(Some("hold.ipxe".into())));
}

#[test]
fn firmware_that_cannot_be_served_still_goes_on_to_its_disk() {
    for (phase, arch, absent) in [
        (Phase::PxeFirmware, 6, "boot-from-disk"),
        (Phase::PxeFirmware, 11, "boot-from-disk"),
        (Phase::HttpFirmware, 15, "boot-from-disk.efi"),
        (Phase::HttpFirmware, 18, "boot-from-disk.efi"),
        (Phase::Ipxe, 6, "local.ipxe"),
    ] {
        assert!(told(phase, arch, &BootTarget::Ramdisk { boot_id: BOOT }, false).is_err(), "{phase:?} {arch}");
        assert_eq!(told(phase, arch, &BootTarget::LocalDisk, false), Ok(Some(absent.into())), "{phase:?} {arch}");
    }
}

/// Only the firmware's own HTTP client has the authority's certificate; iPXE gets plain URLs, unless it has it too.
#[test]
fn firmware_is_sent_to_tls_where_it_is_served() {
    let tls = FirmwareTls { port: 8443, certificate: String::new(), key: String::new(), ipxe: false };
    let mut config = Config::default();
    for (ipxe, script) in [(false, "http://10.77.0.1:8080/local.ipxe"), (true, "https://10.77.0.1:8443/local.ipxe")] {
        config.http.tls = Some(FirmwareTls { ipxe, ..tls.clone() });
        let programs = Programs::new(&config, ([10, 77, 0, 1], 8080));
        let file = |phase, arch| programs.boot_file(phase, Some(arch), &BootTarget::LocalDisk).unwrap().unwrap();
        assert_eq!(file(Phase::HttpFirmware, ClientArch::UEFI_X64_HTTP), "https://10.77.0.1:8443/boot-from-disk.efi");
        assert_eq!(file(Phase::Ipxe, ClientArch::UEFI_X64), script);
    }
}
