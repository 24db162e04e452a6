//! The partitions of a disk as the kernel shows them, and what they hold.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bessemer_image_formats::filesystem::{ENOUGH, FileSystem};

use crate::files;

/// What the kernel counts partitions in, whatever the disk's sectors are.
const UNIT: u64 = 512;

/// A partition that the kernel knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ramdisk) struct OnDisk {
    pub(in crate::ramdisk) number: u32,
    /// `/dev/…`
    pub(in crate::ramdisk) device: String,
    /// First byte on the disk.
    pub(in crate::ramdisk) start: u64,
    /// In bytes.
    pub(in crate::ramdisk) length: u64,
    pub(in crate::ramdisk) holds: FileSystem,
}

/// The partitions of `disk` (`/dev/…`), by number.
pub(in crate::ramdisk) fn of(sys: &Path, disk: &str) -> Result<Vec<OnDisk>, String> {
    let file = File::open(disk).map_err(|error| format!("{disk}: {error}"))?;
    let name = files::name(Path::new(disk));
    let number = |path: &Path, field: &str| files::line(path.join(field))?.trim().parse::<u64>().ok();
    let mut found = Vec::new();
    for path in files::entries(sys.join("class/block").join(&name)) {
        let Some(partition) = number(&path, "partition").and_then(|number| u32::try_from(number).ok()) else {
            continue;
        };
        let (Some(start), Some(length)) = (number(&path, "start"), number(&path, "size")) else { continue };
        let mut head = vec![0; ENOUGH.min(usize::try_from(length * UNIT).unwrap_or(ENOUGH))];
        let holds = match file.read_exact_at(&mut head, start * UNIT) {
            Ok(()) => FileSystem::detect(&head),
            Err(_) => FileSystem::Unknown,
        };
        let device = format!("/dev/{}", files::name(&path));
        found.push(OnDisk { number: partition, device, start: start * UNIT, length: length * UNIT, holds });
    }
    found.sort_unstable_by_key(|partition| partition.number);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn partitions_are_read_from_the_kernel_and_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("nvme0n1");
        let file = File::create_new(&disk).unwrap();
        file.set_len(8 << 20).unwrap();
        file.write_all_at(b"LUKS\xba\xbe", 4 << 20).unwrap();
        let sys = folder.path().join("sys");
        for (name, number, start, size) in
            [("nvme0n1p10", "10", "8192", "2048"), ("nvme0n1p2", "2", "2048", "2048"), ("queue", "", "", "")]
        {
            let path = sys.join("class/block/nvme0n1").join(name);
            fs::create_dir_all(&path).unwrap();
            for (field, value) in [("partition", number), ("start", start), ("size", size)] {
                if !value.is_empty() {
                    fs::write(path.join(field), format!("{value}\n")).unwrap();
                }
            }
        }
        let found = of(&sys, disk.to_str().unwrap()).unwrap();
        let shown: Vec<_> =
            found.iter().map(|part| (part.number, part.device.as_str(), part.start, part.holds)).collect();
        assert_eq!(
            shown,
            [(2, "/dev/nvme0n1p2", 1 << 20, FileSystem::Unknown), (10, "/dev/nvme0n1p10", 4 << 20, FileSystem::Luks)]
        );
    }
}
