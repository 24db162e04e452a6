//! Whole disks: what they are, by which names they go, and which of them must not be written.

use std::fs;
use std::path::{Path, PathBuf};

use bessemer_protocol::Disk;

use crate::files;

mod ata;
mod names;
#[cfg(test)]
mod tests;

pub(super) use names::is_pci;

/// A disk and what speaks against writing to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ramdisk) struct FoundDisk {
    /// What is reported of it.
    pub(in crate::ramdisk) inventory: Disk,
    /// Why it must not be written; none when it may.
    pub(in crate::ramdisk) objection: Option<Objection>,
    /// Reads as "no" where the kernel knows of no such thing, as for flash behind a RAID controller.
    pub(in crate::ramdisk) can_discard: bool,
}

/// Why a disk must not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::ramdisk) enum Objection {
    #[error("empty: its size is zero")]
    Empty,
    #[error("a floppy drive")]
    Floppy,
    #[error("an optical drive")]
    Optical,
    #[error("removable")]
    Removable,
    #[error("virtual media of the management controller")]
    VirtualMedia,
    #[error("read-only")]
    ReadOnly,
    #[error("another path to {0}")]
    OtherPath(String),
    #[error("mounted or swapped to")]
    Mounted,
    #[error("a member of the multipath device {0}")]
    MultipathMember(String),
    #[error("in use by {0}")]
    Held(String),
}

impl Objection {
    /// Whether it is about what is on the disk now, and so goes away when that is stopped.
    pub(in crate::ramdisk) fn is_of_use(&self) -> bool {
        matches!(self, Self::Mounted | Self::MultipathMember(_) | Self::Held(_))
    }
}

/// Every block device with hardware behind it, in the kernel's order. Loop devices, memory disks and whatever is made of other disks are
/// not among them.
pub(in crate::ramdisk) fn list(sys: &Path) -> Vec<FoundDisk> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    list_with(sys, &(text("/proc/self/mounts") + &text("/proc/swaps")))
}

/// `used` has a line that starts with a device path for each mount and each swap.
fn list_with(sys: &Path, used: &str) -> Vec<FoundDisk> {
    let mut found: Vec<FoundDisk> =
        files::entries(sys.join("block")).iter().filter_map(|folder| describe(folder, used)).collect();
    found.sort_by_key(|disk| kernel_order(&disk.inventory.name));
    mark_other_paths(&mut found);
    found
}

/// Names as the kernel counts them: sda, sdb … sdz, sdaa; nvme2n1 before nvme10n1.
pub(in crate::ramdisk) fn kernel_order(name: &str) -> (String, usize, Vec<u64>, String) {
    let bare = name.rsplit('/').next().unwrap_or(name);
    let family: String = bare.chars().take_while(|c| !c.is_ascii_digit()).collect();
    let numbers = bare.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect();
    // One letter of a SCSI or virtio disk's name is its number.
    let stem: String = if bare.starts_with("nvme") || bare.starts_with("mmc") {
        family.clone()
    } else {
        family.chars().take(2).collect()
    };
    (stem, family.len(), numbers, bare.to_owned())
}

/// The same disk through a second controller has the same name and size. Only its first path is offered.
fn mark_other_paths(found: &mut [FoundDisk]) {
    let mut seen: Vec<(String, String, u64, String)> = Vec::new();
    for disk in found {
        let inventory = &disk.inventory;
        if inventory.wwn.is_empty() || disk.objection.is_some() {
            continue;
        }
        let same = seen.iter().find(|(wwn, serial, size, _)| {
            *wwn == inventory.wwn_with_extension && *serial == inventory.serial_number && *size == inventory.size_bytes
        });
        if let Some((.., first)) = same {
            disk.objection = Some(Objection::OtherPath(first.clone()));
        } else {
            seen.push((
                inventory.wwn_with_extension.clone(),
                inventory.serial_number.clone(),
                inventory.size_bytes,
                inventory.name.clone(),
            ));
        }
    }
}

fn describe(folder: &Path, used: &str) -> Option<FoundDisk> {
    let flag = |path: &str| files::line(folder.join(path)).is_some_and(|value| value != "0");
    let text = |path: &str| files::line(folder.join(path)).unwrap_or_default();
    let sectors: u64 = files::number(folder.join("size"))?;
    // A path of an NVMe disk with several is hidden behind the disk itself.
    if !folder.join("device").exists() || flag("hidden") {
        return None;
    }
    let name = files::name(folder);
    let place = names::Place::of(folder);
    let identify = ata::Identify::read(&folder.join("device/vpd_pg89"));
    let rotational = flag("queue/rotational");
    let kind = match (name.starts_with("nvme"), rotational) {
        (true, _) => "NVME",
        (false, true) => "HDD",
        (false, false) => "SSD",
    };
    let first = |values: [String; 3]| values.into_iter().find(|value| !value.is_empty()).unwrap_or_default();
    let wwid = first([text("wwid"), text("device/wwid"), String::new()]);
    let (wwn, wwn_vendor_extension, wwn_with_extension) = world_wide_names(&wwid);
    let mut inventory = Disk {
        alternate_names: Vec::new(),
        kind: kind.to_owned(),
        // The kernel counts in 512 bytes whatever the disk's own sectors are.
        size_bytes: sectors.saturating_mul(512),
        rotational,
        vendor: text("device/vendor"),
        // SCSI's own field has room for sixteen letters; the disk itself knows more.
        model: identify.as_ref().map(|known| known.model.clone()).unwrap_or_else(|| text("device/model")),
        serial_number: first([
            text("serial"),
            text("device/serial"),
            identify.as_ref().map(|known| known.serial.clone()).unwrap_or_else(|| vpd_serial(&folder.join("device"))),
        ]),
        wwn,
        wwn_vendor_extension,
        wwn_with_extension,
        hctl: place.hctl.clone().unwrap_or_default(),
        transport: place.transport(&name).to_owned(),
        firmware: first([
            identify.map(|known| known.firmware).unwrap_or_default(),
            text("device/firmware_rev"),
            text("device/rev"),
        ]),
        read_only: flag("ro"),
        logical_block_bytes: files::number(folder.join("queue/logical_block_size")).unwrap_or(0),
        physical_block_bytes: files::number(folder.join("queue/physical_block_size")).unwrap_or(0),
        pci_address: place.pci.clone().unwrap_or_default(),
        nvme: None,
        name: format!("/dev/{name}"),
    };
    inventory.alternate_names = place.by_path(folder, &name).into_iter().chain(names::by_id(&inventory)).collect();
    let objection = objection(folder, &inventory, flag("removable"), used);
    let discard: u64 = files::number(folder.join("queue/discard_max_bytes")).unwrap_or(0);
    Some(FoundDisk { inventory, objection, can_discard: discard > 0 })
}

fn objection(folder: &Path, disk: &Disk, removable: bool, used: &str) -> Option<Objection> {
    let name = files::name(folder);
    let is_in_use = used.lines().any(|line| {
        line.strip_prefix(&disk.name)
            .is_some_and(|rest| rest.starts_with([' ', '\t', 'p']) || rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    let holders = holders(folder);
    let multipath = holders
        .iter()
        .find(|holder| files::line(holder.join("dm/uuid")).is_some_and(|uuid| uuid.starts_with("mpath-")));
    let checks = [
        (name.starts_with("sr"), Objection::Optical),
        (is_floppy(&name), Objection::Floppy),
        (is_virtual_media(disk), Objection::VirtualMedia),
        (removable, Objection::Removable),
        (disk.size_bytes == 0, Objection::Empty),
        (disk.read_only, Objection::ReadOnly),
        (is_in_use, Objection::Mounted),
    ];
    if let Some((_, objection)) = checks.into_iter().find(|(holds, _)| *holds) {
        return Some(objection);
    }
    let names = |paths: &[PathBuf]| paths.iter().map(|path| files::name(path)).collect::<Vec<_>>().join(", ");
    match multipath {
        Some(holder) => Some(Objection::MultipathMember(files::name(holder))),
        None => (!holders.is_empty()).then(|| Objection::Held(names(&holders))),
    }
}

fn is_floppy(name: &str) -> bool {
    name.strip_prefix("fd").is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
}

/// What management controllers show their hosts over USB. Some of it claims to be a fixed disk.
fn is_virtual_media(disk: &Disk) -> bool {
    /// Part of the vendor, part of the model, lower case.
    const KNOWN: [(&str, &str); 8] = [
        ("", "virtual"),
        ("idrac", ""),
        ("ilo", ""),
        ("", "lun 00 media"),
        ("", "lcdrive"),
        ("", "oemdrv"),
        ("", "ibm vmedia"),
        ("cisco", "vhdd"),
    ];
    let (vendor, model) = (disk.vendor.to_lowercase(), disk.model.to_lowercase());
    disk.transport == "usb"
        && KNOWN.iter().any(|(of_vendor, of_model)| vendor.contains(of_vendor) && model.contains(of_model))
}

/// Devices made of this one or of a partition of it.
fn holders(folder: &Path) -> Vec<PathBuf> {
    let mut found = files::entries(folder.join("holders"));
    for part in files::entries(folder) {
        found.extend(files::entries(part.join("holders")));
    }
    found
}

/// World wide name, vendor extension and both, as Metal3 writes them, from what the kernel writes: `naa.` and 16 or 32 digits. An
/// NVMe disk's `eui.` or `nvme.` name is taken as it is.
fn world_wide_names(wwid: &str) -> (String, String, String) {
    let Some(digits) = wwid.strip_prefix("naa.") else {
        let named = if wwid.starts_with("eui.") || wwid.starts_with("nvme.") || wwid.starts_with("uuid.") {
            wwid.to_owned()
        } else {
            // `t10.` and the like: a model and a serial number, no world wide name.
            String::new()
        };
        return (named.clone(), String::new(), named);
    };
    match digits.split_at_checked(16) {
        Some((name, extension)) if !extension.is_empty() => {
            (format!("0x{name}"), format!("0x{extension}"), format!("0x{digits}"))
        }
        _ => (format!("0x{digits}"), String::new(), format!("0x{digits}")),
    }
}

/// Unit Serial Number of SCSI (SPC-5, vital product data page 80h): four bytes of header, then the number.
fn vpd_serial(device: &Path) -> String {
    let page = fs::read(device.join("vpd_pg80")).unwrap_or_default();
    ata::printable(page.get(4..).unwrap_or_default())
}
