//! Seeds that earlier deployments left on other disks. cloud-init takes whichever it finds last, so that a host could boot as its previous tenant.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bessemer_protocol::{NOCLOUD_LABEL, SEED_LABEL};
use fatfs::{FileSystem, FsOptions};
use rustix::fs::OFlags;
use tracing::info;

use super::Window;
use crate::files;
use crate::ramdisk::deploy::DeployError;
use crate::ramdisk::inspect::disks::FoundDisk;
use crate::ramdisk::root;

/// Bytes that hold the superblock, and so the label, of every file system that cloud-init reads a seed from.
const HEAD: usize = 64 << 10;

/// Largest folder of an ISO 9660 that is looked into, in bytes.
const MOST_FOLDER: usize = 64 << 10;

/// Most that is read of a FAT to find out whether it holds a seed, in bytes: its chains may run in circles.
const MOST_READ: u64 = 8 << 20;

/// Devices under devices under devices.
const DEEPEST: usize = 8;

/// What a seed has at its top: cloud-init's files of either layout, or ours. Upper case without what ISO 9660 adds.
const OF_A_SEED: [&str; 6] = ["OPENSTACK", "EC2", "BESSEMER", "USER-DATA", "META-DATA", "NETWORK-CONFIG"];

/// Where to look for seeds of other disks.
#[derive(Debug, Clone)]
pub(in crate::ramdisk::deploy) struct Others {
    /// The kernel's description of devices, `/sys`.
    pub(in crate::ramdisk::deploy) sys: PathBuf,
    /// The folder of device files, `/dev`.
    pub(in crate::ramdisk::deploy) dev: PathBuf,
    /// Device paths of the root disk: its own seed is none of another disk, whatever path it is seen through.
    pub(in crate::ramdisk::deploy) root: Vec<String>,
    /// Device paths of disks that are not to be touched.
    pub(in crate::ramdisk::deploy) kept: Vec<String>,
}

impl Others {
    /// All disks among `found` but the chosen one.
    pub(in crate::ramdisk::deploy) fn than(chosen: &root::Chosen, found: &[FoundDisk]) -> Self {
        Self {
            sys: "/sys".into(),
            dev: "/dev".into(),
            root: root::paths(&chosen.disk.name, found),
            kept: chosen.kept.clone(),
        }
    }

    /// Fails when one of them carries a seed that must not be removed or cannot be looked into. Nothing is touched.
    pub(in crate::ramdisk::deploy) fn check(&self) -> Result<(), DeployError> {
        find(self).iter().try_for_each(|stale| stale.removable()).map_err(DeployError::SeedInTheWay)
    }

    /// Removes the seeds of all of them, and says in words which were. Stops at the first that cannot be removed.
    pub(in crate::ramdisk::deploy) fn remove_seeds(&self) -> (Vec<String>, Result<(), DeployError>) {
        let mut removed = Vec::new();
        // Once more: a disk may have come since.
        if let Err(error) = self.check() {
            return (removed, Err(error));
        }
        for stale in find(self) {
            if let Err(why) = remove(&stale) {
                return (removed, Err(DeployError::StaleSeed(why)));
            }
            removed.push(format!("a seed named {:?} was removed from {}", stale.label, stale.device.display()));
        }
        (removed, Ok(()))
    }
}

/// What the next system could take for its own seed.
#[derive(Debug, PartialEq, Eq)]
struct Stale {
    device: PathBuf,
    label: String,
    /// The disk that is to be kept, if it is on one.
    kept: Option<String>,
    /// Whether it has a seed's files, and not only its label.
    is_seed: bool,
}

impl Stale {
    fn removable(&self) -> Result<(), String> {
        let (device, label) = (self.device.display(), &self.label);
        if let Some(disk) = &self.kept {
            return Err(format!(
                "{device} carries a seed named {label:?}, which the installed system could take for its own, and {disk} is \
                 to be kept: remove or rename it, or do not keep the disk"
            ));
        }
        if !self.is_seed {
            return Err(format!(
                "{device} has a file system named {label:?} as seeds have, and no seed can be told from data in it: rename \
                 it or erase the disk"
            ));
        }
        Ok(())
    }
}

/// Looks at all disks and partitions but the root disk and its own. Optical media are the BMC's affair and not looked at.
fn find(others: &Others) -> Vec<Stale> {
    let names = |paths: &[String]| paths.iter().map(|path| files::name(Path::new(path))).collect::<Vec<_>>();
    let (root, kept) = (names(&others.root), names(&others.kept));
    let stale = |path: PathBuf| {
        let name = files::name(&path);
        if ["sr", "loop", "ram", "zram", "fd"].iter().any(|kind| name.starts_with(kind)) {
            return None;
        }
        let disks = disks_below(&path, DEEPEST);
        if disks.iter().any(|disk| root.contains(disk)) {
            return None;
        }
        let device = others.dev.join(&name);
        let file = File::open(&device).ok()?;
        let is_partition = path.join("partition").exists();
        let (label, is_seed) = seed_on(&file, is_partition)?;
        let kept = disks.into_iter().find(|disk| kept.contains(disk)).map(|disk| format!("/dev/{disk}"));
        Some(Stale { device, label, kept, is_seed })
    };
    files::entries(others.sys.join("class/block")).into_iter().filter_map(stale).collect()
}

/// The device itself, the disk that it is a partition of, and all that it is made of.
fn disks_below(path: &Path, depth: usize) -> Vec<String> {
    let mut disks = vec![files::name(path)];
    let physical = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if path.join("partition").exists() {
        disks.extend(physical.parent().map(files::name));
    }
    if depth > 0 {
        disks.extend(files::entries(path.join("slaves")).iter().flat_map(|slave| disks_below(slave, depth - 1)));
    }
    disks
}

/// The label of what cloud-init would look into, and whether a seed is there for certain. It takes every file system of a seed's name, and a
/// whole disk that is a FAT or an ISO whatever its name.
fn seed_on(device: &File, is_partition: bool) -> Option<(String, bool)> {
    let mut head = vec![0; HEAD];
    device.read_exact_at(&mut head, 0).ok()?;
    let label = labels(&head).find(|label| is_seed(label));
    if label.is_none() && is_partition {
        return None;
    }
    let is_iso = head.get(ISO..ISO + 6) == Some(b"\x01CD001");
    let is_fat = head.get(510..512) == Some(&[0x55, 0xaa])
        && (head.get(54..57) == Some(b"FAT") || head.get(82..85) == Some(b"FAT"));
    let top = match (is_iso, is_fat) {
        (true, _) => top_of_iso(device, &head),
        (_, true) => top_of_fat(device),
        // Only told by its name.
        _ => return label.map(|label| (label, false)),
    };
    // What cannot be looked into is not to be taken for empty.
    let Some(top) = top else { return label.map(|label| (label, false)) };
    let has_seed = top.iter().map(|name| name.replace('_', "-")).any(|name| {
        OF_A_SEED
            .iter()
            .any(|known| name == *known || is_iso && name.len() == 8 && known.get(..8) == Some(name.as_str()))
    });
    has_seed.then(|| (label.unwrap_or_default(), true))
}

/// The primary volume descriptor (ECMA-119, 8.4).
const ISO: usize = 32 << 10;

/// Names at the top of an ISO 9660 (ECMA-119, 9.1), upper case without version and dot.
fn top_of_iso(device: &File, head: &[u8]) -> Option<Vec<String>> {
    let number = |at: usize| head.get(ISO + at..ISO + at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (first, length) = (number(156 + 2)?, usize::try_from(number(156 + 10)?).ok()?);
    let mut folder = vec![0; length.min(MOST_FOLDER)];
    device.read_exact_at(&mut folder, u64::from(first) * 2048).ok()?;
    let mut names = Vec::new();
    for sector in folder.chunks(2048) {
        let mut at = 0;
        while let Some(length) = sector.get(at).map(|length| usize::from(*length)).filter(|length| *length > 33) {
            let name_length = usize::from(*sector.get(at + 32)?);
            let name = String::from_utf8_lossy(sector.get(at + 33..at + 33 + name_length)?).to_uppercase();
            names.push(name.split(';').next().unwrap_or_default().trim_end_matches('.').to_owned());
            at += length;
        }
    }
    Some(names)
}

/// Names at the top of a FAT, upper case.
fn top_of_fat(device: &File) -> Option<Vec<String>> {
    let size = (&*device).seek(SeekFrom::End(0)).ok()?;
    let bounded = Bounded { window: Window::new(device, 0, size), left: MOST_READ };
    let volume = FileSystem::new(bounded, FsOptions::new().update_accessed_date(false)).ok()?;
    let names = volume.root_dir().iter().map_while(Result::ok).map(|entry| entry.file_name().to_uppercase()).collect();
    Some(names)
}

/// Reads so much and no more, and writes nothing.
struct Bounded<'a> {
    window: Window<'a>,
    left: u64,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.window.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| io::Error::other("it goes on without end"))?;
        Ok(read)
    }
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Bounded<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.window.seek(to)
    }
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

/// The label of the seed whose first bytes, up to its superblock, are `head`; none when it is something else.
pub(in crate::ramdisk) fn seed_label(head: &[u8]) -> Option<String> {
    labels(head).find(|label| is_seed(label))
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

    use fatfs::{FatType, FormatVolumeOptions};

    use super::*;

    /// A FAT with this name and these folders.
    fn fat(path: &Path, label: &str, kind: FatType, folders: &[&str]) {
        let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
        file.set_len(if kind == FatType::Fat32 { 64 << 20 } else { 8 << 20 }).unwrap();
        let mut name = [b' '; 11];
        name[..label.len()].copy_from_slice(label.as_bytes());
        fatfs::format_volume(&file, FormatVolumeOptions::new().fat_type(kind).volume_label(name)).unwrap();
        let volume = FileSystem::new(&file, FsOptions::new()).unwrap();
        for folder in folders {
            volume.root_dir().create_dir(folder).unwrap();
        }
        volume.unmount().unwrap();
    }

    fn ext(path: &Path, label: &str) {
        let mut bytes = vec![0; HEAD];
        bytes[1024 + 56..1024 + 58].copy_from_slice(&[0x53, 0xef]);
        bytes[1024 + 120..1024 + 120 + label.len()].copy_from_slice(label.as_bytes());
        fs::write(path, bytes).unwrap();
    }

    /// Descriptor and top folder of an ISO 9660.
    fn iso(path: &Path, label: &str, names: &[&str]) {
        let mut bytes = vec![0; 20 * 2048 + HEAD];
        bytes[ISO..ISO + 6].copy_from_slice(b"\x01CD001");
        bytes[ISO + 40..ISO + 40 + label.len()].copy_from_slice(label.as_bytes());
        bytes[ISO + 158..ISO + 162].copy_from_slice(&19_u32.to_le_bytes());
        bytes[ISO + 166..ISO + 170].copy_from_slice(&2048_u32.to_le_bytes());
        let mut at = 19 * 2048;
        for name in names {
            bytes[at] = u8::try_from(34 + name.len()).unwrap();
            bytes[at + 32] = u8::try_from(name.len()).unwrap();
            bytes[at + 33..at + 33 + name.len()].copy_from_slice(name.as_bytes());
            at += usize::from(bytes[at]);
        }
        fs::write(path, bytes).unwrap();
    }

    /// Devices of a machine whose root is `sda`, with a second path to it as `sdz`, and that keeps `kept`.
    struct Devices {
        folder: tempfile::TempDir,
        others: Others,
    }

    impl Devices {
        fn new(kept: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let (sys, dev) = (folder.path().join("sys"), folder.path().join("dev"));
            fs::create_dir_all(&dev).unwrap();
            let kept = kept.iter().map(|disk| format!("/dev/{disk}")).collect();
            let others = Others { sys, dev, root: vec!["/dev/sda".into(), "/dev/sdz".into()], kept };
            Self { folder, others }
        }

        /// Where the content of a new device goes; `disk` is what it is a partition of.
        fn add(&self, name: &str, disk: Option<&str>) -> PathBuf {
            let class = self.others.sys.join("class/block");
            fs::create_dir_all(&class).unwrap();
            let real = self.folder.path().join("devices").join(disk.unwrap_or_default()).join(name);
            fs::create_dir_all(&real).unwrap();
            if disk.is_some() {
                fs::write(real.join("partition"), "1").unwrap();
            }
            std::os::unix::fs::symlink(&real, class.join(name)).unwrap();
            self.others.dev.join(name)
        }
    }

    #[test]
    fn seeds_of_every_kind_are_found_on_other_disks_and_removed_and_nothing_else() {
        let devices = Devices::new(&["sdk"]);
        fat(&devices.add("sdb", None), "CONFIG-2", FatType::Fat16, &["openstack"]);
        fat(&devices.add("sdc1", Some("sdc")), "config-2", FatType::Fat16, &["bessemer"]);
        fat(&devices.add("sdd", None), "CIDATA", FatType::Fat32, &["user-data"]);
        // Level 1 has no more than eight letters.
        iso(&devices.add("sde", None), "cidata", &["META_DAT.;1", "USER_DAT.;1"]);
        fat(&devices.add("sdf", None), "", FatType::Fat16, &["openstack"]);
        // What only looks like it.
        let alike = [devices.add("sdg1", Some("sdg")), devices.add("sdh1", Some("sdh")), devices.add("sdi", None)];
        fat(&alike[0], "config-2", FatType::Fat16, &["photos"]);
        fat(&alike[1], "DATA", FatType::Fat16, &["openstack"]);
        iso(&alike[2], "config-2", &["BOOT"]);
        // What is ours, or not ours to judge.
        let ours = [devices.add("sda3", Some("sda")), devices.add("sdz", None), devices.add("sr0", None)];
        for path in &ours {
            fat(path, "CONFIG-2", FatType::Fat16, &["openstack"]);
        }
        fat(&devices.add("sdk", None), "DATA", FatType::Fat16, &["photos"]);
        let before: Vec<Vec<u8>> = alike.iter().chain(&ours).map(|path| fs::read(path).unwrap()).collect();

        devices.others.check().unwrap();
        let (removed, result) = devices.others.remove_seeds();
        result.unwrap();
        let words = |label: &str, name: &str| {
            format!("a seed named {label:?} was removed from {}", devices.others.dev.join(name).display())
        };
        let expected = [("CONFIG-2", "sdb"), ("config-2", "sdc1"), ("CIDATA", "sdd"), ("cidata", "sde"), ("", "sdf")];
        assert_eq!(removed, expected.map(|(label, name)| words(label, name)));
        assert_eq!(find(&devices.others), []);
        let after: Vec<Vec<u8>> = alike.iter().chain(&ours).map(|path| fs::read(path).unwrap()).collect();
        assert!(before == after, "what is no seed was touched");
    }

    #[test]
    fn a_seed_on_a_kept_disk_and_one_that_nobody_can_look_into_stop_everything() {
        for (kept, words) in [(&["sdk"][..], "and /dev/sdk is to be kept"), (&[], "no seed can be told from data")] {
            let devices = Devices::new(kept);
            let seed = devices.add("sdb", None);
            fat(&seed, "CONFIG-2", FatType::Fat16, &["openstack"]);
            let on_kept = devices.add("sdk1", Some("sdk"));
            if kept.is_empty() {
                ext(&on_kept, "config-2")
            } else {
                fat(&on_kept, "cidata", FatType::Fat16, &["user-data"])
            }
            let before = [fs::read(&seed).unwrap(), fs::read(&on_kept).unwrap()];
            let error = devices.others.check().unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
            let (removed, result) = devices.others.remove_seeds();
            assert_eq!((removed, result.is_err()), (vec![], true));
            assert!(before == [fs::read(&seed).unwrap(), fs::read(&on_kept).unwrap()], "{words}");
        }
    }

    /// A volume of LVM on a kept disk is kept, too.
    #[test]
    fn what_is_made_of_a_kept_disk_is_kept() {
        let devices = Devices::new(&["sdk"]);
        let volume = devices.add("dm-0", None);
        fat(&volume, "config-2", FatType::Fat16, &["openstack"]);
        let slaves = devices.others.sys.join("class/block/dm-0/slaves");
        fs::create_dir_all(&slaves).unwrap();
        let part = devices.add("sdk2", Some("sdk"));
        File::create(part).unwrap();
        std::os::unix::fs::symlink(devices.others.sys.join("class/block/sdk2"), slaves.join("sdk2")).unwrap();
        let error = devices.others.check().unwrap_err().to_string();
        assert!(error.contains("/dev/sdk is to be kept"), "{error}");
    }

    #[test]
    fn a_chain_that_runs_in_circles_ends() {
        let devices = Devices::new(&[]);
        let path = devices.add("sdb", None);
        fat(&path, "config-2", FatType::Fat32, &["photos"]);
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mut boot = [0; 512];
        file.read_exact_at(&mut boot, 0).unwrap();
        let word = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
        // The root's cluster 2 follows itself, and holds nothing but deleted entries.
        let (sector, reserved, copies) = (word(11), word(14), u64::from(boot[16]));
        let table = u64::from(u32::from_le_bytes(boot[36..40].try_into().unwrap()));
        file.write_all_at(&2_u32.to_le_bytes(), reserved * sector + 8).unwrap();
        let root = (reserved + copies * table) * sector;
        file.write_all_at(&vec![0xe5; usize::from(boot[13]) * sector as usize], root).unwrap();
        assert_eq!(find(&devices.others), []);
    }

    #[test]
    fn a_seed_that_cannot_be_removed_is_a_reason() {
        let stale = Stale { device: "/dev/full/no".into(), label: "config-2".into(), kept: None, is_seed: true };
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
