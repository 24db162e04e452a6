//! Seeds that earlier deployments left on other disks. cloud-init takes whichever it finds last, so that a host could boot as its previous tenant.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bessemer_protocol::{NOCLOUD_LABEL, SEED_LABEL};
use rustix::fs::OFlags;
use tracing::info;

use crate::files;
use crate::ramdisk::deploy::DeployError;
use crate::ramdisk::inspect::disks::{FoundDisk, Objection};

/// Bytes that hold the superblock, and so the label, of every file system that cloud-init reads a seed from.
const HEAD: usize = 64 << 10;

/// Where to look for seeds of other disks.
#[derive(Debug, Clone)]
pub(in crate::ramdisk::deploy) struct Others {
    /// The kernel's description of devices, `/sys`.
    pub(in crate::ramdisk::deploy) sys: PathBuf,
    /// The folder of device files, `/dev`.
    pub(in crate::ramdisk::deploy) dev: PathBuf,
    /// Device paths of the root disk: its own seed is none of another disk, whatever path it is seen through.
    pub(in crate::ramdisk::deploy) root: Vec<String>,
}

impl Others {
    /// All disks among `found` but `root`.
    pub(in crate::ramdisk::deploy) fn than(root: &str, found: &[FoundDisk]) -> Self {
        let is_path = |disk: &&FoundDisk| matches!(&disk.objection, Some(Objection::OtherPath(first)) if first == root);
        let paths = found.iter().filter(is_path).map(|disk| disk.inventory.name.clone());
        Self { sys: "/sys".into(), dev: "/dev".into(), root: paths.chain([root.to_owned()]).collect() }
    }

    /// Removes the seeds of all of them, and says in words which were. Stops at the first that cannot be removed.
    pub(in crate::ramdisk::deploy) fn remove_seeds(&self) -> (Vec<String>, Result<(), DeployError>) {
        let mut removed = Vec::new();
        for stale in find(self) {
            if let Err(why) = remove(&stale) {
                return (removed, Err(DeployError::StaleSeed(why)));
            }
            removed.push(format!("a seed named {:?} was removed from {}", stale.label, stale.device.display()));
        }
        (removed, Ok(()))
    }
}

/// A file system with a seed's label.
#[derive(Debug, PartialEq, Eq)]
struct Stale {
    device: PathBuf,
    label: String,
}

/// Looks at all disks and partitions but the root disk and its own. Optical media are the BMC's affair and not looked at.
fn find(others: &Others) -> Vec<Stale> {
    let root: Vec<String> = others.root.iter().map(|path| files::name(Path::new(path))).collect();
    let looked_at = |path: &PathBuf| {
        let name = files::name(path);
        let physical = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let of_root = root.contains(&name) || physical.parent().is_some_and(|disk| root.contains(&files::name(disk)));
        !of_root && !["sr", "loop", "ram", "zram", "fd"].iter().any(|kind| name.starts_with(kind))
    };
    let stale = |path: PathBuf| {
        let device = others.dev.join(files::name(&path));
        let mut head = vec![0; HEAD];
        File::open(&device).ok()?.read_exact_at(&mut head, 0).ok()?;
        let label = labels(&head).find(|label| is_seed(label))?;
        Some(Stale { device, label })
    };
    files::entries(others.sys.join("class/block")).into_iter().filter(looked_at).filter_map(stale).collect()
}

/// Destroys the file system of `stale` and reads back that it is gone. Fails on a disk that cannot be written or is in use.
fn remove(stale: &Stale) -> Result<(), String> {
    let failed = |error: io::Error| {
        format!(
            "{} carries a seed named {:?}, which the installed system could take for its own, and it cannot be removed \
             ({error}): remove it, or take the disk out",
            stale.device.display(),
            stale.label
        )
    };
    let exclusive = i32::try_from((OFlags::EXCL | OFlags::CLOEXEC).bits()).unwrap_or(0);
    let device =
        OpenOptions::new().read(true).write(true).custom_flags(exclusive).open(&stale.device).map_err(failed)?;
    device.write_all_at(&vec![0; HEAD], 0).and_then(|()| device.sync_all()).map_err(failed)?;
    let mut head = vec![1; HEAD];
    device.read_exact_at(&mut head, 0).map_err(failed)?;
    if head.iter().any(|byte| *byte != 0) {
        return Err(failed(io::Error::other("it reads as before")));
    }
    info!("{}: removed a stale seed named {:?}", stale.device.display(), stale.label);
    Ok(())
}

fn is_seed(label: &str) -> bool {
    label.eq_ignore_ascii_case(SEED_LABEL) || label.eq_ignore_ascii_case(NOCLOUD_LABEL)
}

/// What the head of a device could be labelled, by magic and place in each file system.
fn labels(head: &[u8]) -> impl Iterator<Item = String> {
    let field = |magic_at: usize, magic: &[u8], at: usize, length: usize| {
        (head.get(magic_at..magic_at + magic.len())? == magic)
            .then(|| head.get(at..at + length))?
            .map(|bytes| String::from_utf8_lossy(bytes).trim_matches(['\0', ' ']).to_owned())
    };
    [
        field(54, b"FAT1", 43, 11),
        field(82, b"FAT32", 71, 11),
        fat_volume_entry(head),
        field(32_769, b"CD001", 32_808, 32),
        field(1024 + 56, &[0x53, 0xef], 1024 + 120, 16),
        field(0, b"XFSB", 108, 12),
    ]
    .into_iter()
    .flatten()
}

/// The label in a FAT's root folder, which may differ from the one in its boot sector.
fn fat_volume_entry(head: &[u8]) -> Option<String> {
    const VOLUME_LABEL: u8 = 0x08;
    let word = |at: usize| head.get(at..at + 2)?.try_into().ok().map(|bytes| usize::from(u16::from_le_bytes(bytes)));
    head.get(54..58).filter(|magic| *magic == b"FAT1")?;
    let (sector, reserved, tables, table_sectors) = (word(11)?, word(14)?, usize::from(*head.get(16)?), word(22)?);
    let root = (reserved + tables * table_sectors) * sector;
    let entries = head.get(root..)?.chunks_exact(32).take(word(17)?).take_while(|entry| entry.first() != Some(&0));
    let label = entries.into_iter().find(|entry| entry.get(11) == Some(&VOLUME_LABEL))?;
    Some(String::from_utf8_lossy(label.get(..11)?).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    fn made(path: &Path, program: &str, arguments: &[&str]) -> bool {
        File::create(path).unwrap().set_len(16 << 20).unwrap();
        match Command::new(program).args(arguments).arg(path).output() {
            Ok(output) => output.status.success(),
            Err(_) => false,
        }
    }

    #[test]
    fn seeds_of_every_kind_are_found_on_other_disks_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (sys, dev) = (folder.path().join("sys"), folder.path().join("dev"));
        fs::create_dir_all(&dev).unwrap();
        let block = |name: &str| fs::create_dir_all(sys.join("class/block").join(name)).unwrap();
        let table: [(&str, &str, &[&str], bool); 7] = [
            ("sdb", "mkfs.vfat", &["-n", "CONFIG-2"], true),
            ("sdc1", "mke2fs", &["-q", "-L", "config-2"], true),
            ("sdd", "mkfs.vfat", &["-F", "32", "-n", "CIDATA"], true),
            ("sde", "mkfs.vfat", &["-n", "DATA"], false),
            ("sda", "mkfs.vfat", &["-n", "CIDATA"], false),
            ("sdz", "mkfs.vfat", &["-n", "CONFIG-2"], false),
            ("sr0", "mkfs.vfat", &["-n", "CIDATA"], false),
        ];
        let mut wanted = Vec::new();
        for (name, program, arguments, stale) in table {
            block(name);
            if !made(&dev.join(name), program, arguments) {
                println!("SKIP {program} is missing");
                return;
            }
            if stale {
                wanted.push(dev.join(name));
            }
        }
        let disk = |name: &str, objection| FoundDisk {
            inventory: bessemer_protocol::Disk { name: name.into(), ..bessemer_protocol::Disk::default() },
            objection,
            can_discard: false,
        };
        let second_path = disk("/dev/sdz", Some(Objection::OtherPath("/dev/sda".into())));
        let others = Others {
            sys,
            dev: dev.clone(),
            ..Others::than("/dev/sda", &[disk("/dev/sda", None), disk("/dev/sdb", None), second_path])
        };
        assert_eq!(find(&others).iter().map(|stale| stale.device.clone()).collect::<Vec<_>>(), wanted);
        let (removed, result) = others.remove_seeds();
        result.unwrap();
        assert_eq!(removed.len(), wanted.len());
        assert_eq!(removed[1], format!("a seed named \"config-2\" was removed from {}", dev.join("sdc1").display()));
        assert_eq!(find(&others), []);
    }

    #[test]
    fn a_seed_that_cannot_be_removed_is_a_reason() {
        let stale = Stale { device: "/dev/full/no".into(), label: "config-2".into() };
        let error = remove(&stale).unwrap_err();
        assert!(error.contains("carries a seed") && error.contains("take the disk out"), "{error}");
    }

    #[test]
    fn a_label_only_in_the_root_folder_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let file = File::create_new(&path).unwrap();
        file.set_len(4 << 20).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        fatfs::format_volume(&file, fatfs::FormatVolumeOptions::new().volume_label(*b"config-2   ")).unwrap();
        file.write_all_at(b"NO NAME    ", 43).unwrap();
        let mut head = vec![0; HEAD];
        file.read_exact_at(&mut head, 0).unwrap();
        assert!(labels(&head).any(|label| is_seed(&label)));
    }
}
