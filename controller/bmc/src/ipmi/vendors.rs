//! What makers do otherwise than the specification, as rows.

use ipmi_client::command::BootDevice;

/// A maker's way to write "boot from disk, by UEFI".
struct UefiDisk {
    /// IANA enterprise numbers the maker's BMCs give.
    manufacturers: &'static [u32],
    device: BootDevice,
}

/// Where the specification's selector 2 is ignored under UEFI.
///
/// Supermicro (10876, and 47488 on newer boards): its own tool writes `e0 24`, selector 9; found by metal-stack
/// (metal-core#19) and ironic (story 2008241).
const UEFI_DISKS: [UefiDisk; 1] = [UefiDisk { manufacturers: &[10876, 47488], device: BootDevice::Other(9) }];

/// The selector for the disk under UEFI.
pub(super) fn uefi_disk(manufacturer: u32) -> BootDevice {
    let row = UEFI_DISKS.iter().find(|row| row.manufacturers.contains(&manufacturer));
    row.map_or(BootDevice::HardDrive, |row| row.device)
}

/// Whether it is some maker's selector for the disk.
pub(super) fn is_uefi_disk(device: BootDevice) -> bool {
    UEFI_DISKS.iter().any(|row| row.device == device)
}

/// Whether what a BMC reports of an override's lifetime and firmware interface is what it keeps.
///
/// Simulators made with pyghmi, virtualbmc above all, give no manufacturer, mark any flags as valid, and leave both bits
/// clear whatever was written.
pub(super) fn tells_boot_bits(manufacturer: u32) -> bool {
    manufacturer != 0
}

/// Makers by name; others are shown by number.
pub(super) fn maker(manufacturer: u32) -> Option<&'static str> {
    const MAKERS: [(u32, &str); 11] = [
        (11, "HPE"),
        (343, "Intel"),
        (674, "Dell"),
        (5771, "Cisco"),
        (7244, "Quanta"),
        (10368, "Fujitsu"),
        (10876, "Supermicro"),
        (15370, "Gigabyte"),
        (19046, "Lenovo"),
        (47196, "HPE"),
        (47488, "Supermicro"),
    ];
    MAKERS.iter().find(|(number, _)| *number == manufacturer).map(|(_, name)| *name)
}
