//! Nothing that a tool can find is found afterwards.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use proptest::prelude::*;

use super::super::medium::Medium;
use super::super::{metadata, tables};

const MIB: u64 = 1 << 20;

pub(super) struct Image(tempfile::TempDir);

impl Image {
    pub(super) fn new(mebibytes: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        File::create(folder.path().join("disk")).unwrap().set_len(mebibytes * MIB).unwrap();
        Self(folder)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.path().join("disk")
    }

    fn size(&self) -> u64 {
        fs::metadata(self.path()).unwrap().len()
    }

    pub(super) fn write(&self, at: u64, bytes: &[u8]) {
        File::options().write(true).open(self.path()).unwrap().write_all_at(bytes, at).unwrap();
    }

    pub(super) fn open(&self) -> Medium {
        Medium::open(self.path().to_str().unwrap()).unwrap()
    }
}

/// A command with the words of `line`, where `@` stands for the image.
fn run(line: &str, path: &Path) -> Output {
    let mut words = line.split_whitespace().map(|word| word.replace('@', path.to_str().unwrap()));
    let mut command = Command::new(words.next().unwrap());
    command.args(words).env("LVM_SUPPRESS_FD_WARNINGS", "1").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.output().unwrap_or_else(|error| panic!("{line}: {error}"))
}

pub(super) fn must(line: &str, path: &Path) {
    let output = run(line, path);
    assert!(output.status.success(), "{line}: {output:?}");
}

/// What a program of each package is, or the skip of the test when it is missing.
pub(super) fn missing(programs: &[&str]) -> bool {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let absent = programs.iter().find(|name| !folders.iter().any(|folder| Path::new(folder).join(name).exists()));
    if let Some(name) = absent {
        println!("SKIP {name} is not installed");
    }
    absent.is_some()
}

/// What `wipefs` and `blkid` find on the whole and, if given, in a part of it.
fn findings(path: &Path, part: Option<(u64, u64)>) -> String {
    let wipefs = run("wipefs -n --noheadings @", path);
    assert!(wipefs.status.success(), "{wipefs:?}");
    let mut found = String::from_utf8_lossy(&wipefs.stdout).trim().to_owned();
    if let Some((offset, size)) = part {
        let blkid = run(&format!("blkid -p -O {offset} -S {size} @"), path);
        found += String::from_utf8_lossy(&blkid.stdout).trim();
    }
    found
}

/// Made by the format's own tool.
#[test]
fn what_tools_make_is_erased_without_a_trace() {
    if missing(&[
        "mkfs.ext4",
        "mkfs.xfs",
        "mkfs.btrfs",
        "mkfs.vfat",
        "mkswap",
        "cryptsetup",
        "sgdisk",
        "sfdisk",
        "wipefs",
    ]) {
        return;
    }
    let passphrase = tempfile::NamedTempFile::new().unwrap();
    fs::write(passphrase.path(), "a").unwrap();
    let luks = |version: u8| {
        format!(
            "cryptsetup luksFormat -q --type luks{version} --pbkdf pbkdf2 --pbkdf-force-iterations 1000 @ {}",
            passphrase.path().display()
        )
    };
    let table = [
        ("ext2/3/4 at 1080", "mkfs.ext4 -q -F @".to_owned()),
        ("XFS at 0", "mkfs.xfs -q -f @".to_owned()),
        ("btrfs, second copy at 67108928", "mkfs.btrfs -q -f @".to_owned()),
        ("FAT at 82", "mkfs.vfat -F 32 @".to_owned()),
        ("swap at 4086", "mkswap -q @".to_owned()),
        ("LUKS at 0", luks(1)),
        ("LUKS, second header at 16384", luks(2)),
        ("backup GPT at", "sgdisk -n 1:2048:0 @".to_owned()),
    ];
    for (expected, line) in table {
        let image = Image::new(400);
        must(&line, &image.path());
        assert_ne!(findings(&image.path(), None), "", "{line}: the judges are blind");
        let wiped = metadata::wipe(&image.open()).unwrap();
        assert!(wiped.found.iter().any(|found| found.starts_with(expected)), "{line}: {:?}", wiped.found);
        assert_eq!(findings(&image.path(), None), "", "{line}");
        let again = metadata::wipe(&image.open()).unwrap();
        assert_eq!(again.found, Vec::<String>::new(), "{line}: twice is as good as once");
        // Not even what e2fsck looks for when the first superblock is gone.
        if line.starts_with("mkfs.ext4") {
            let rescue = run("e2fsck -n -b 32768 -B 4096 @", &image.path());
            assert!(!rescue.status.success());
            assert!(String::from_utf8_lossy(&rescue.stderr).contains("Bad magic number"), "{rescue:?}");
        }
    }
}

/// Superblock of Linux's software RAID, version 1: magic, versions, where it is, roles.
fn md1(at: u64) -> Vec<u8> {
    let mut bytes = vec![0; 1024];
    bytes[..4].copy_from_slice(&0xa92b_4efc_u32.to_le_bytes());
    bytes[4..8].copy_from_slice(&1_u32.to_le_bytes());
    bytes[16..32].copy_from_slice(&[7; 16]);
    bytes[144..152].copy_from_slice(&(at / 512).to_le_bytes());
    bytes
}

/// The same, version 0.90: words, the 38th of which is the sum of all.
fn md0(at: u64) -> Vec<u8> {
    let mut words = [0_u32; 1024];
    words[..11].copy_from_slice(&[0xa92b_4efc, 0, 90, 0, 0, 7, 0, 1, (at / 1024) as u32, 2, 2]);
    let sum: u64 = words.iter().map(|word| u64::from(*word)).sum();
    words[38] = (sum as u32).wrapping_add((sum >> 32) as u32);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Written as their documents say, since no tool makes them here.
#[test]
fn raid_members_and_zfs_are_erased_at_both_ends() {
    if missing(&["wipefs", "blkid"]) {
        return;
    }
    let size = 200 * MIB + 12 * 512;
    let aligned = size / 65536 * 65536;
    let ddf = |lba: u64| {
        let mut bytes = vec![0; 512];
        bytes[..4].copy_from_slice(&[0xde, 0x11, 0xde, 0x11]);
        bytes[8..32].copy_from_slice(b"Bessemer test disk 00001");
        bytes[32..40].copy_from_slice(b"01.02.00");
        bytes[96..104].copy_from_slice(&lba.to_be_bytes());
        bytes
    };
    // Further in than anything that is zeroed without being told.
    let far = size / 2 / 512;
    let zfs = |label: u64| {
        (0..8).map(move |number| (label + 128 * 1024 + number * 1024, 0x00ba_b10c_u64.to_le_bytes().to_vec()))
    };
    let end = size / (256 * 1024) * 256 * 1024;
    type Write = (u64, Vec<u8>);
    let table: Vec<(&str, Vec<Write>)> = vec![
        ("md RAID 0.90", vec![(aligned - 65536, md0(aligned - 65536))]),
        ("md RAID 1.0", vec![(size / 4096 * 4096 - 8192, md1(size / 4096 * 4096 - 8192))]),
        ("md RAID 1.1", vec![(0, md1(0))]),
        ("md RAID 1.2", vec![(4096, md1(4096))]),
        ("Intel RAID", vec![(size - 1024, b"Intel Raid ISM Cfg Sig. 1.3.00".to_vec())]),
        ("DDF RAID", vec![(size - 512, ddf(far)), (far * 512, ddf(far))]),
        (
            "ZFS label",
            zfs(0).chain(zfs(256 * 1024)).chain(zfs(end - 512 * 1024)).chain(zfs(end - 256 * 1024)).collect(),
        ),
        ("ZFS label", zfs(end - 256 * 1024).collect()),
    ];
    for (expected, writes) in table {
        let image = Image::new(200);
        File::options().write(true).open(image.path()).unwrap().set_len(size).unwrap();
        for (at, bytes) in &writes {
            image.write(*at, bytes);
        }
        assert_ne!(findings(&image.path(), None), "", "{expected}: the judges are blind");
        let wiped = metadata::wipe(&image.open()).unwrap();
        assert!(wiped.found.iter().any(|found| found.starts_with(expected)), "{expected}: {:?}", wiped.found);
        assert_eq!(findings(&image.path(), None), "", "{expected}");
        let left = fs::read(image.path()).unwrap();
        for (at, bytes) in writes {
            let at = at as usize;
            assert!(left[at..at + bytes.len()].iter().all(|byte| *byte == 0), "{expected}: something is left at {at}");
        }
    }
}

/// A partition made anew in the old place must not bring the old file system back.
#[test]
fn partitions_are_erased_inside() {
    if missing(&["sgdisk", "sfdisk", "mkfs.ext4", "wipefs", "blkid"]) {
        return;
    }
    let image = Image::new(300);
    must("sgdisk -n 1:2048:+100M -n 2:0:+100M @", &image.path());
    must("mkfs.ext4 -q -F -E offset=1048576 @ 100M", &image.path());
    let (second, length) = (101 * MIB, 100 * MIB);
    let superblock = second + length - 8192;
    image.write(superblock, &md1(length - 8192));
    for part in [(MIB, 100 * MIB), (second, length)] {
        assert_ne!(findings(&image.path(), Some(part)), findings(&image.path(), None), "the judges are blind");
    }
    let wiped = metadata::wipe(&image.open()).unwrap();
    for part in [(MIB, 100 * MIB), (second, length)] {
        assert_eq!(findings(&image.path(), Some(part)), "", "{:?}", wiped.found);
    }
    assert!(
        wiped.found.contains(&format!("md RAID 1.0 at {} of the partition at {second}", length - 8192)),
        "{:?}",
        wiped.found
    );

    // Logical partitions of an MBR, and a GPT whose disk was made larger since.
    let image = Image::new(300);
    let script = image.0.path().join("script");
    fs::write(&script, "label: dos\n2048,65536,83\n,,5\n,65536,83\n,65536,83\n").unwrap();
    let made =
        Command::new("/usr/sbin/sfdisk").arg("-q").arg(image.path()).stdin(File::open(&script).unwrap()).status();
    assert!(made.unwrap().success());
    let partitions = tables::partitions(&image.open()).unwrap();
    let starts: Vec<u64> = partitions.iter().map(|range| range.start / 512).collect();
    assert!([2048, 69632, 69632 + 65536 + 2048].iter().all(|start| starts.contains(start)), "{starts:?}");
    // Between them are the sectors that lead from one logical partition to the next.
    let partitions: Vec<_> = partitions.into_iter().filter(|range| range.end - range.start > 512).collect();
    for range in &partitions {
        image.write(range.start + 1080, &[0x53, 0xef]);
    }
    assert_eq!(
        metadata::wipe(&image.open()).unwrap().found.iter().filter(|found| found.starts_with("ext2")).count(),
        partitions.len()
    );
    let image = Image::new(100);
    must("sgdisk -n 1:2048:+10M @", &image.path());
    File::options().write(true).open(image.path()).unwrap().set_len(300 * MIB).unwrap();
    metadata::wipe(&image.open()).unwrap();
    let backup = &fs::read(image.path()).unwrap()[(100 * MIB - 512) as usize..][..8];
    assert_eq!(backup, [0; 8], "the backup table of the smaller disk is left");
}

/// A kernel's disk, of either sector size, with a physical volume.
#[test]
fn a_block_device_is_erased() {
    if missing(&["losetup", "pvcreate", "sgdisk", "wipefs"]) {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        println!("SKIP not root: loop devices are made with sudo");
        return;
    }
    for sector in [512, 4096] {
        let image = Image::new(64);
        let made = run(&format!("losetup --find --show --sector-size {sector} @"), &image.path());
        assert!(made.status.success(), "{made:?}");
        let device = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        let _detached = Detach(device.clone());
        must("pvcreate -qq -y @", &device);
        assert!(findings(&device, None).contains("LVM2_member"));
        let open = || Medium::open(device.to_str().unwrap()).unwrap();
        assert_eq!(open().sector(), sector);
        let wiped = metadata::wipe(&open()).unwrap();
        assert_eq!(wiped.found, ["LVM at 512"]);
        assert_eq!(findings(&device, None), "");
        must("sgdisk -n 1:0:+8M @", &device);
        let wiped = metadata::wipe(&open()).unwrap();
        assert!(wiped.found.contains(&format!("GPT at {sector}")), "{:?}", wiped.found);
        assert_eq!(findings(&device, None), "");
    }
}

/// Without the copy that cannot be read, what lies in the middle would not be found, and with the ends zeroed never again.
#[test]
fn a_disk_that_cannot_be_read_is_not_erased_halfway() {
    // A file that is cut after it was opened fails to read from there on, as a bad sector does. The second size leaves the sectors of all
    // tables whole and takes the end of a sector that only RAID headers are sought in.
    for (size, lost, expected) in [
        (300 * MIB, 512, "cannot tell where its partitions are"),
        (300 * MIB + 100, 100, "cannot tell where further copies of superblocks are"),
    ] {
        let image = Image::new(0);
        let file = File::options().write(true).open(image.path()).unwrap();
        file.set_len(size).unwrap();
        let superblock = 100 * MIB + 1080;
        image.write(superblock, &[0x53, 0xef]);
        image.write(1080, &[0x53, 0xef]);
        let medium = image.open();
        file.set_len(size - lost).unwrap();
        let before = fs::read(image.path()).unwrap();
        let error = metadata::wipe(&medium).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("was not touched"), "{error}");
        assert!(fs::read(image.path()).unwrap() == before, "{expected}: it was written to all the same");
    }
}

struct Detach(PathBuf);

impl Drop for Detach {
    fn drop(&mut self) {
        let _ = Command::new("/usr/sbin/losetup").arg("-d").arg(&self.0).status();
    }
}

#[test]
fn the_smallest_disks_are_erased_too() {
    for size in [512, 4096, 5000, MIB] {
        let image = Image::new(0);
        File::options().write(true).open(image.path()).unwrap().set_len(size).unwrap();
        image.write(0, &vec![0x55; size as usize]);
        assert_eq!(metadata::wipe(&image.open()).unwrap().bytes, 2 * size);
        assert_eq!(image.size(), size);
        assert!(fs::read(image.path()).unwrap().iter().all(|byte| *byte == 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Tables and superblocks of an enemy cost neither the agent nor what lies beyond the disk.
    #[test]
    fn no_table_breaks_the_reader(mut head in proptest::collection::vec(any::<u8>(), 6144), tail in proptest::collection::vec(any::<u8>(), 1024)) {
        let image = Image::new(1);
        for (at, magic) in [(510, &b"\x55\xaa"[..]), (512, b"EFI PART"), (4096, b"EFI PART"), (1080, b"\x53\xef")] {
            head[at..at + magic.len()].copy_from_slice(magic);
        }
        // Extended partitions, and entries of a size that is looked at.
        head[446 + 4] = 5;
        head[512 + 84..512 + 88].copy_from_slice(&128_u32.to_le_bytes());
        image.write(0, &head);
        image.write(MIB - 1024, &tail);
        let wiped = metadata::wipe(&image.open()).unwrap();
        prop_assert!(wiped.found.len() < 100_000);
        prop_assert_eq!(image.size(), MIB);
        prop_assert!(fs::read(image.path()).unwrap().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn from_the_deadline_on_nothing_is_zeroed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    std::fs::write(&path, vec![7; 8 << 20]).unwrap();
    let medium = Medium::open(path.to_str().unwrap()).unwrap().until(std::time::Instant::now());
    let error = metadata::wipe(&medium).unwrap_err().to_string();
    assert!(error.contains("the deadline passed at byte 0"), "{error}");
    assert!(std::fs::read(&path).unwrap().iter().all(|byte| *byte == 7));
}
