//! `disk_setup` and `fs_setup`, through sfdisk and the mkfs of the distribution. Nothing that holds data is lost unless `overwrite` says so.
//!
//! cloud-init is as careful with tables, where it asks blkid and lsblk, but formats over what it finds when a partition is given by its number or is
//! `none`. Here a disk that was kept for its data, or is a member of an array or a pool, stays as it is with a warning.

use bessemer_image_formats::signatures::Found;

use super::{ConfigError, sections, warn_unknown};
use crate::yaml::Node;
use crate::{ApplyError, Program, System, device};

pub(super) const KEYS: [&str; 2] = ["disk_setup", "fs_setup"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Disks {
    tables: Vec<Table>,
    file_systems: Vec<FileSystem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Table {
    device: String,
    gpt: bool,
    /// Percent of the disk and type of each partition; empty is none at all.
    layout: Vec<(u64, Option<String>)>,
    overwrite: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FileSystem {
    device: String,
    partition: Option<String>,
    kind: String,
    label: Option<String>,
    overwrite: bool,
    replaces: Option<String>,
    options: Vec<String>,
}

impl Disks {
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.file_systems.is_empty()
    }
}

/// The path of a device; names such as `ephemeral0` are of other platforms.
fn path_of(text: &str, place: &str) -> Result<String, ConfigError> {
    if text.starts_with("/dev/") && !text.split('/').any(|part| part == "..") && !text.contains(char::is_whitespace) {
        return Ok(text.to_owned());
    }
    Err(ConfigError::new(place, "is no path of a device under /dev"))
}

pub(super) fn read(config: &Node, warnings: &mut Vec<String>) -> Result<Disks, ConfigError> {
    let mut disks = Disks::default();
    for (name, item) in config.get("disk_setup").iter().flat_map(|node| node.entries()) {
        let place = format!("disk_setup.{name}");
        warn_unknown(item, &place, &["table_type", "layout", "overwrite"], warnings);
        let gpt = match sections::text(item, &place, "table_type")?.as_deref() {
            None | Some("mbr" | "msdos" | "dos") => false,
            Some("gpt") => true,
            Some(_) => return Err(ConfigError::new(format!("{place}.table_type"), "is neither mbr nor gpt")),
        };
        let layout = match item.get("layout") {
            None => Vec::new(),
            Some(Node::List(parts)) => parts.iter().map(|part| part_of(part, &place)).collect::<Result<_, _>>()?,
            Some(value) => match value.flag() {
                Some(true) => vec![(100, None)],
                Some(false) => Vec::new(),
                None => return Err(ConfigError::new(format!("{place}.layout"), "is neither a flag nor a list")),
            },
        };
        if layout.iter().map(|(percent, _)| percent).sum::<u64>() > 100 {
            return Err(ConfigError::new(format!("{place}.layout"), "adds up to more than the disk"));
        }
        let overwrite = sections::flag(item, &place, "overwrite", false)?;
        disks.tables.push(Table { device: path_of(name, &place)?, gpt, layout, overwrite });
    }
    for (index, item) in config.get("fs_setup").map(Node::items).unwrap_or_default().iter().enumerate() {
        let place = format!("fs_setup[{index}]");
        let known = ["device", "partition", "filesystem", "label", "overwrite", "replace_fs", "extra_opts"];
        warn_unknown(item, &place, &known, warnings);
        let text = |key: &str| sections::text(item, &place, key);
        let needed = |key: &str| text(key)?.ok_or_else(|| ConfigError::new(&place, format!("has no {key}")));
        let kind = needed("filesystem")?;
        if !kind.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(ConfigError::new(format!("{place}.filesystem"), "is no name of a file system"));
        }
        disks.file_systems.push(FileSystem {
            device: path_of(&needed("device")?, &format!("{place}.device"))?,
            partition: text("partition")?,
            kind,
            label: text("label")?,
            overwrite: sections::flag(item, &place, "overwrite", false)?,
            replaces: text("replace_fs")?,
            options: sections::words(item, &place, "extra_opts")?,
        });
    }
    Ok(disks)
}

/// A size in percent, or a pair of it and a type.
fn part_of(part: &Node, place: &str) -> Result<(u64, Option<String>), ConfigError> {
    let wrong = || ConfigError::new(format!("{place}.layout"), "holds no percentage");
    let (size, kind) = match part {
        Node::List(pair) => (pair.first(), pair.get(1).and_then(Node::text)),
        single => (Some(single), None),
    };
    let percent = size.and_then(Node::number).and_then(|percent| u64::try_from(percent).ok());
    Ok((percent.filter(|percent| (1..=100).contains(percent)).ok_or_else(wrong)?, kind.map(str::to_owned)))
}

pub(super) fn apply(disks: &Disks, system: &mut System<'_>) -> Result<(), ApplyError> {
    for table in &disks.tables {
        let there = holds(system, &table.device)?;
        if !there.is_empty() && !table.overwrite {
            let what = in_words(&there);
            system.warn(format!("disk_setup: {} holds {what} and overwrite is not set: it stays", table.device));
            continue;
        }
        if table.layout.is_empty() {
            continue;
        }
        partition(table, system)?;
    }
    for file_system in &disks.file_systems {
        make(file_system, system)?;
    }
    Ok(())
}

fn partition(table: &Table, system: &System<'_>) -> Result<(), ApplyError> {
    is_free(system, &table.device)?;
    let sectors = device::size(&system.path(&table.device)).map_err(|error| of(&table.device, &error))? / 512;
    let mut script = format!("label: {}\n", if table.gpt { "gpt" } else { "dos" });
    for (index, (percent, kind)) in table.layout.iter().enumerate() {
        let last =
            index + 1 == table.layout.len() && table.layout.iter().map(|(percent, _)| percent).sum::<u64>() == 100;
        let size =
            if last { String::new() } else { format!("size={}, ", (sectors * percent / 100).saturating_sub(2048)) };
        let kind = kind.as_deref().unwrap_or(if table.gpt { "L" } else { "83" });
        script += &format!("{size}type={kind}\n");
    }
    let path = system.path(&table.device).to_string_lossy().into_owned();
    system.run(&Program::new(["sfdisk", "--quiet", "--wipe", "always", "--force", &path]).reading(script))?;
    // not everywhere, and the kernel has read the table by itself
    let _ = system.run(&Program::new(["udevadm", "settle", "--timeout=30"]));
    Ok(())
}

fn make(wanted: &FileSystem, system: &mut System<'_>) -> Result<(), ApplyError> {
    let device = match wanted.partition.as_deref() {
        None | Some("none" | "") => wanted.device.clone(),
        Some("auto" | "any") => {
            let first = partition_of(&wanted.device, "1");
            if system.path(&first).exists() { first } else { wanted.device.clone() }
        }
        Some(number) => partition_of(&wanted.device, number),
    };
    let there = holds(system, &device)?;
    let is_wanted = |found: &Found| found.kind == wanted.kind;
    // A file system may have a boot sector of its own.
    let is_boot_sector = |found: &Found| found.kind == "dos" && there.len() > 1;
    let others: Vec<Found> =
        there.iter().filter(|found| !is_wanted(found) && !is_boot_sector(found)).copied().collect();
    if !wanted.overwrite {
        if others.is_empty() && there.iter().any(is_wanted) {
            return Ok(());
        }
        if others.iter().any(|found| wanted.replaces.as_deref() != Some(found.kind)) {
            let what = in_words(&others);
            system.warn(format!("fs_setup: {device} holds {what} and overwrite is not set: it stays"));
            return Ok(());
        }
    }
    is_free(system, &device)?;
    let path = system.path(&device).to_string_lossy().into_owned();
    if !others.is_empty() && system.has("wipefs") {
        // mkfs writes the start, and an array or a pool is found again by its end.
        system.run(&Program::new(["wipefs", "--all", &path]))?;
    }
    let mut words = vec![format!("mkfs.{}", wanted.kind)];
    let (force, label) = match wanted.kind.as_str() {
        "ext2" | "ext3" | "ext4" => (Some("-F"), "-L"),
        "xfs" | "btrfs" => (Some("-f"), "-L"),
        "vfat" => (None, "-n"),
        _ => (None, "-L"),
    };
    words.extend(force.map(str::to_owned));
    if let Some(name) = &wanted.label {
        words.extend([label.to_owned(), name.clone()]);
    }
    words.extend(wanted.options.iter().cloned());
    words.push(path);
    system.run(&Program::new(words))
}

/// `sda1`, but `nvme0n1p1`.
fn partition_of(disk: &str, number: &str) -> String {
    let between = if disk.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
    format!("{disk}{between}{number}")
}

fn holds(system: &System<'_>, device: &str) -> Result<Vec<Found>, ApplyError> {
    device::holds(&system.path(device)).map_err(|error| of(device, &error))
}

fn is_free(system: &System<'_>, device: &str) -> Result<(), ApplyError> {
    device::is_free(&system.path(device))
        .map_err(|error| ApplyError(format!("{device} is in use, so that nothing is made on it: {error}")))
}

fn of(device: &str, error: &std::io::Error) -> ApplyError {
    ApplyError::io(std::path::Path::new(device), error)
}

/// Each kind once.
fn in_words(found: &[Found]) -> String {
    let mut names: Vec<&str> = found.iter().map(|found| found.name).collect();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::{Run, yaml};

    /// Notes what would be run.
    #[derive(Default)]
    struct Noted(RefCell<Vec<String>>);

    impl Run for Noted {
        fn run(&self, program: &Program) -> Result<(), String> {
            self.0.borrow_mut().push(program.words.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(" "));
            Ok(())
        }
        fn has(&self, _: &str) -> bool {
            true
        }
    }

    /// What is run and warned of for `/dev/sdb` of 16 MiB with these bytes at these places, from its end where negative.
    fn applied(config: &str, bytes: &[(i64, &[u8])]) -> (Vec<String>, Vec<String>) {
        const SIZE: u64 = 16 << 20;
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("dev")).unwrap();
        let disk = File::create(root.path().join("dev/sdb")).unwrap();
        disk.set_len(SIZE).unwrap();
        for (at, bytes) in bytes {
            disk.write_all_at(bytes, if *at < 0 { SIZE.saturating_add_signed(*at) } else { at.unsigned_abs() })
                .unwrap();
        }
        let programs = Noted::default();
        let mut system = System::new(root.path(), &programs);
        let disks = read(&yaml::parse(config).unwrap(), &mut Vec::new()).unwrap();
        apply(&disks, &mut system).unwrap();
        let warnings = std::mem::take(&mut system.warnings);
        (programs.0.take(), warnings)
    }

    const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
    const EXT: (i64, &[u8]) = (0x438, &[0x53, 0xef]);

    #[test]
    fn what_belongs_to_an_array_or_a_pool_stays_unless_it_is_to_be_overwritten() {
        let pool = 0x00ba_b10c_u64.to_le_bytes();
        let table: [(i64, &[u8], &str); 8] = [
            (4096, MD, "md RAID 1.2"),
            (-8192, MD, "md RAID 1.0"),
            (-65_536, MD, "md RAID 0.90"),
            (-512, &[0xde, 0x11, 0xde, 0x11], "DDF RAID"),
            (200 << 10, &pool, "ZFS label"),
            (4120, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca], "bcache"),
            (1024, b"LABELONE", "LVM"),
            (1 << 20, &[0x0d, 0xd0, 0x01, 0xc0], "VMFS"),
        ];
        for (at, bytes, name) in table {
            for section in [
                "disk_setup: {/dev/sdb: {table_type: gpt, layout: true}}",
                "fs_setup: [{device: /dev/sdb, filesystem: ext4, partition: none}]",
            ] {
                let (ran, warned) = applied(section, &[(at, bytes)]);
                assert_eq!(ran, [""; 0], "{name} under {section}");
                assert!(
                    warned.concat().contains(&format!("/dev/sdb holds {name} and overwrite is not set")),
                    "{warned:?}"
                );
                let over = section.replace("sdb: {", "sdb: {overwrite: true, ").replace("[{", "[{overwrite: true, ");
                let (ran, warned) = applied(&over, &[(at, bytes)]);
                assert!(!ran.is_empty() && warned.is_empty(), "{name} under {section}: {ran:?} {warned:?}");
            }
        }
    }

    #[test]
    fn a_file_system_is_made_once_and_replaces_what_it_is_told_to() {
        let make = "fs_setup: [{device: /dev/sdb, filesystem: ext4}]";
        assert_eq!(applied(make, &[]), (vec!["mkfs.ext4 -F".to_owned()], vec![]));
        assert_eq!(applied(make, &[EXT]), (vec![], vec![]));
        // One half of a mirror is no file system that is ready.
        let (ran, warned) = applied(make, &[EXT, (-8192, MD)]);
        assert!(ran.is_empty() && warned.concat().contains("md RAID 1.0"), "{ran:?} {warned:?}");
        let ntfs: [(i64, &[u8]); 2] = [(3, b"NTFS    "), (510, &[0x55, 0xaa])];
        let replace = "fs_setup: [{device: /dev/sdb, filesystem: ext4, replace_fs: ntfs}]";
        assert_eq!(applied(replace, &ntfs).0, ["wipefs --all", "mkfs.ext4 -F"]);
        assert!(applied(replace, &[(0, b"XFSB")]).0.is_empty());
        let fat: [(i64, &[u8]); 2] = [(0x52, b"FAT32"), (510, &[0x55, 0xaa])];
        assert_eq!(applied("fs_setup: [{device: /dev/sdb, filesystem: vfat}]", &fat), (vec![], vec![]));
    }
}
