//! How a host gets from the ramdisk to its disk: the firmware's boot entries and the end of the ramdisk.

use serde::{Deserialize, Serialize};

use crate::{DiskIdentity, RootDeviceHints};

/// Payload of [`crate::Work::SetBootEntry`]: the firmware shall boot the system that is on the root disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetBootEntry {
    /// Which disk; Metal3's semantics.
    pub root: RootDeviceHints,
    /// As [`crate::Deploy::disk`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskIdentity>,
    /// Also for the very next start, whatever the order is (`BootNext`).
    pub next: bool,
}

/// What the firmware will do, as read back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BootReport {
    /// Whether the ramdisk was started by UEFI. Under BIOS the rest stays empty: the disk's first sector is all there is.
    pub uefi: bool,
    /// Our entry, such as `Boot0003`.
    pub entry: Option<String>,
    /// The loader that it starts, such as `\EFI\debian\shimx64.efi`.
    pub loader: Option<String>,
    /// Whether the disk has `\EFI\BOOT\BOOTX64.EFI`, which firmware starts that has lost its entries.
    pub fallback_loader: bool,
    /// Entries that were taken out of the way: duplicates of ours, and those of other disks.
    pub neutralised: Vec<String>,
    /// What could not be done, in words.
    pub notes: Vec<String>,
    /// Whether firmware has started this disk since it was written. Nothing in the ramdisk can know that, so it says false.
    pub firmware_boot_proven: bool,
}

/// How the ramdisk ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeaveHow {
    /// Restart through the firmware.
    Reboot,
    /// Start the kernel of the root disk at once, without the firmware; where that is not safe, as `Reboot`.
    Kexec,
    /// Switch the machine off.
    PowerOff,
}

/// What is about to happen, said before it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaveReport {
    /// In which way; not always the one that was asked for.
    pub how: LeaveHow,
    /// Why it is another one, or which kernel is started.
    pub detail: Option<String>,
}
