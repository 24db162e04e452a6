//! Whether this machine may start another kernel without its firmware.
//!
//! Some devices are left by their drivers in a state that the next driver cannot take over: those need the reset that firmware gives.

use std::fs;
use std::path::Path;

use crate::files;

/// Drivers whose devices do not survive, and why.
const ROWS: &[(&str, &str)] = &[
    ("nvidia", "GPU"),
    ("nouveau", "GPU"),
    ("amdgpu", "GPU"),
    ("radeon", "GPU"),
    ("i915", "GPU"),
    ("xe", "GPU"),
    ("megaraid_sas", "RAID controller"),
    ("mpt3sas", "SAS controller"),
    ("smartpqi", "RAID controller"),
    ("hpsa", "RAID controller"),
    ("aacraid", "RAID controller"),
    ("arcmsr", "RAID controller"),
];

/// Machines that come up badly without their firmware, by the start of SMBIOS' words for vendor and product. Only what somebody has seen and told.
const MACHINES: &[(&str, &str, &str)] =
    &[("HP", "HP Z2 Mini G4", "its network stays down after a kexec (siderolabs/talos#8751)")];

/// What an operating system has asked of the firmware for its next start (UEFI 2.10, 8.5.4): to stop in its setup, to take a capsule from a file, to start
/// a recovery. With another start of the kernel it would not happen.
const OS_INDICATIONS: &str = "firmware/efi/efivars/OsIndications-8be4df61-93ca-11d2-aa0d-00e098032b8c";
const ASKED_OF_FIRMWARE: &[(u8, &str)] = &[
    (0x01, "is to stop in its setup"),
    (0x04, "is to take an update from a file"),
    (0x20, "is to start a recovery"),
    (0x40, "is to start a recovery"),
];

/// `SecureBoot` under the GUID of global variables.
const SECURE_BOOT: &str = "firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// The reason against it, if there is one.
pub(super) fn check(sys: &Path, proc: &Path) -> Result<(), String> {
    // Four bytes of attributes, then the value.
    if fs::read(sys.join(SECURE_BOOT)).is_ok_and(|bytes| bytes.get(4) == Some(&1)) {
        return Err("secure boot is on".to_owned());
    }
    if let Some(mode) = files::line(sys.join("kernel/security/lockdown"))
        && !mode.contains("[none]")
    {
        return Err(format!("the kernel is locked down ({mode})"));
    }
    if files::line(proc.join("sys/kernel/kexec_load_disabled")).is_some_and(|value| value == "1") {
        return Err("the kernel has kexec switched off".to_owned());
    }
    if let Some(asked) = fs::read(sys.join(OS_INDICATIONS)).ok().and_then(|bytes| bytes.get(4).copied())
        && let Some((_, what)) = ASKED_OF_FIRMWARE.iter().find(|(bit, _)| asked & bit != 0)
    {
        return Err(format!("the firmware {what} at the next start (OsIndications)"));
    }
    let dmi = |name: &str| files::line(sys.join("class/dmi/id").join(name)).unwrap_or_default();
    let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
    let row = MACHINES.iter().find(|(of, kind, _)| vendor.starts_with(of) && product.starts_with(kind));
    if let Some((_, _, why)) = row {
        return Err(format!("of {vendor} {product} it is known that {why}"));
    }
    for (driver, what) in ROWS {
        let bound = |path: &std::path::PathBuf| files::name(path).contains(':');
        if files::entries(sys.join("bus/pci/drivers").join(driver)).iter().any(bound) {
            return Err(format!("this host has a {what} ({driver}) that needs the reset that firmware gives"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_against_it_is_said() {
        let put = |root: &Path, path: &str, content: &[u8]| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        let table: [(&str, &[u8], Option<&str>); 10] = [
            (
                "sys/firmware/efi/efivars/OsIndications-8be4df61-93ca-11d2-aa0d-00e098032b8c",
                &[7, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0],
                Some("update from a file at the next start"),
            ),
            (
                "sys/firmware/efi/efivars/OsIndications-8be4df61-93ca-11d2-aa0d-00e098032b8c",
                &[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                None,
            ),
            // Without its vendor, it is another's.
            ("sys/class/dmi/id/product_name", b"HP Z2 Mini G4 Workstation\n", None),
            (
                "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
                &[6, 0, 0, 0, 1],
                Some("secure boot"),
            ),
            ("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", &[6, 0, 0, 0, 0], None),
            ("sys/kernel/security/lockdown", b"none [integrity] confidentiality\n", Some("locked down")),
            ("sys/kernel/security/lockdown", b"[none] integrity confidentiality\n", None),
            ("proc/sys/kernel/kexec_load_disabled", b"1\n", Some("switched off")),
            ("sys/bus/pci/drivers/megaraid_sas/0000:01:00.0/x", b"", Some("RAID controller (megaraid_sas)")),
            ("sys/bus/pci/drivers/megaraid_sas/module/x", b"", None),
        ];
        for (path, content, expected) in table {
            let folder = tempfile::tempdir().unwrap();
            put(folder.path(), path, content);
            let found = check(&folder.path().join("sys"), &folder.path().join("proc"));
            assert_eq!(found.is_err(), expected.is_some(), "{path}: {found:?}");
            assert!(expected.is_none_or(|part| found.unwrap_err().contains(part)), "{path}");
        }
    }

    #[test]
    fn a_machine_of_which_it_is_known_is_left_to_its_firmware() {
        let folder = tempfile::tempdir().unwrap();
        let dmi = folder.path().join("class/dmi/id");
        fs::create_dir_all(&dmi).unwrap();
        fs::write(dmi.join("sys_vendor"), "HP\n").unwrap();
        for (product, known) in [("HP Z2 Mini G4 Workstation\n", true), ("HP Z2 Tower G9\n", false)] {
            fs::write(dmi.join("product_name"), product).unwrap();
            let found = check(folder.path(), folder.path());
            assert_eq!(found.is_err_and(|why| why.contains("network stays down")), known, "{product}");
        }
    }
}
