//! Whole disks with hardware behind them.

use std::fs;
use std::path::{Path, PathBuf};

use bessemer_protocol::Disk;

use crate::files;

/// A disk and what decides whether it may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ramdisk) struct FoundDisk {
    /// What is reported of it.
    pub(in crate::ramdisk) inventory: Disk,
    /// The device takes no writes.
    pub(in crate::ramdisk) read_only: bool,
    /// Something is stacked on it or on a partition of it (RAID, LVM, LUKS), or it is mounted.
    pub(in crate::ramdisk) in_use: bool,
}

/// Every disk that could hold an operating system, by name. Removable media, loop devices, memory disks and whatever is made of other
/// disks are not among them.
pub(in crate::ramdisk) fn list(sys: &Path) -> Vec<FoundDisk> {
    list_with(sys, &fs::read_to_string("/proc/self/mounts").unwrap_or_default())
}

fn list_with(sys: &Path, mounts: &str) -> Vec<FoundDisk> {
    files::entries(sys.join("block")).iter().filter_map(|folder| describe(folder, mounts)).collect()
}

fn describe(folder: &Path, mounts: &str) -> Option<FoundDisk> {
    let flag = |path: &str| files::line(folder.join(path)).is_some_and(|value| value != "0");
    let text = |path: &str| files::line(folder.join(path));
    let sectors: u64 = files::number(folder.join("size"))?;
    if !folder.join("device").exists() || flag("removable") || sectors == 0 {
        return None;
    }
    let name = files::name(folder);
    let device = format!("/dev/{name}");
    let rotational = flag("queue/rotational");
    let kind = match (name.starts_with("nvme"), rotational) {
        (true, _) => "NVME",
        (false, true) => "HDD",
        (false, false) => "SSD",
    };
    let mounted = mounts.lines().any(|line| {
        line.strip_prefix(&device)
            .is_some_and(|rest| rest.starts_with([' ', 'p']) || rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    let inventory = Disk {
        alternate_names: Vec::new(),
        kind: kind.to_owned(),
        // The kernel counts in 512 bytes whatever the disk's own sectors are.
        size_bytes: sectors * 512,
        rotational,
        vendor: text("device/vendor").unwrap_or_default(),
        model: text("device/model").unwrap_or_default(),
        serial_number: text("serial").or_else(|| text("device/serial")).unwrap_or_default(),
        wwn: text("wwid").or_else(|| text("device/wwid")).map(|wwid| wwn_of(&wwid)).unwrap_or_default(),
        hctl: hctl(&folder.join("device")).unwrap_or_default(),
        name: device,
        ..Disk::default()
    };
    Some(FoundDisk { inventory, read_only: flag("ro"), in_use: mounted || has_holders(folder) })
}

fn has_holders(folder: &Path) -> bool {
    let held = |path: &PathBuf| !files::entries(path.join("holders")).is_empty();
    held(&folder.to_owned()) || files::entries(folder).iter().any(held)
}

/// Metal3 writes world wide names as `0x` and digits; the kernel as `naa.` and digits.
fn wwn_of(wwid: &str) -> String {
    wwid.strip_prefix("naa.").map_or_else(|| wwid.to_owned(), |digits| format!("0x{digits}"))
}

/// The SCSI address is the name of the device that the link leads to.
fn hctl(device: &Path) -> Option<String> {
    let target = fs::canonicalize(device).ok()?;
    let name = files::name(&target);
    let parts: Vec<&str> = name.split(':').collect();
    (parts.len() == 4 && parts.iter().all(|part| part.parse::<u32>().is_ok())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(sys: &Path, name: &str, files: &[(&str, &str)]) {
        let folder = sys.join("block").join(name);
        for (path, content) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    #[test]
    fn only_whole_fixed_disks_are_listed() {
        let sys = tempfile::tempdir().unwrap();
        disk(
            sys.path(),
            "vda",
            &[("size", "2048\n"), ("device/vendor", "0x1af4\n"), ("ro", "0\n"), ("serial", "disk0")],
        );
        disk(sys.path(), "sr0", &[("size", "2048\n"), ("device/model", "DVD"), ("removable", "1\n")]);
        disk(sys.path(), "loop0", &[("size", "2048\n")]);
        disk(sys.path(), "vdb", &[("size", "0\n"), ("device/vendor", "x")]);
        disk(
            sys.path(),
            "sda",
            &[
                ("size", "4096\n"),
                ("device/model", "QEMU"),
                ("queue/rotational", "1\n"),
                ("ro", "1\n"),
                ("wwid", "naa.5000c500"),
                ("sda1/holders/md0", ""),
            ],
        );
        let found = list_with(sys.path(), "/dev/sr0 / iso9660 ro 0 0\n/dev/vdab1 /x ext4 rw 0 0\n");
        let names: Vec<&str> = found.iter().map(|disk| disk.inventory.name.as_str()).collect();
        assert_eq!(names, ["/dev/sda", "/dev/vda"]);
        assert_eq!(found[0].inventory.wwn, "0x5000c500");
        assert!(found[0].in_use && found[0].read_only && found[0].inventory.rotational);
        assert_eq!(found[0].inventory.kind, "HDD");
        assert!(!found[1].in_use && !found[1].read_only);
        assert!(list_with(sys.path(), "/dev/vda2 / ext4 rw 0 0\n")[1].in_use);
        assert_eq!(found[1].inventory.size_bytes, 1 << 20);
        assert_eq!(found[1].inventory.serial_number, "disk0");
    }
}
