//! `disk_setup` and `fs_setup`, through sfdisk and the mkfs of the distribution. Nothing that holds data is lost unless `overwrite` says so.

use super::{ConfigError, sections, warn_unknown};
use crate::yaml::Node;
use crate::{ApplyError, Program, System};

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

/// A device by its path; names such as `ephemeral0` are of other platforms.
fn device(text: &str, place: &str) -> Result<String, ConfigError> {
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
        disks.tables.push(Table { device: device(name, &place)?, gpt, layout, overwrite });
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
            device: device(&needed("device")?, &format!("{place}.device"))?,
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
        let there = signature(system, &table.device)?;
        if let Some(what) = there.filter(|_| !table.overwrite) {
            system.warn(format!("disk_setup: {} has a {what} and overwrite is not set: it stays", table.device));
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
    let sectors = crate::system::size_of(&system.path(&table.device))
        .map_err(|error| ApplyError::io(std::path::Path::new(&table.device), &error))?
        / 512;
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
    let there = signature(system, &device)?;
    let replaced = wanted.replaces.is_some() && there == wanted.replaces;
    match there {
        Some(kind) if kind == wanted.kind && !wanted.overwrite => return Ok(()),
        Some(kind) if !wanted.overwrite && !replaced => {
            system.warn(format!("fs_setup: {device} has a {kind} and overwrite is not set: it stays"));
            return Ok(());
        }
        _ => {}
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
    words.push(system.path(&device).to_string_lossy().into_owned());
    system.run(&Program::new(words))
}

/// `sda1`, but `nvme0n1p1`.
fn partition_of(disk: &str, number: &str) -> String {
    let between = if disk.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
    format!("{disk}{between}{number}")
}

/// What the head of a device holds, by its magic: a file system's name, or `partition table`.
fn signature(system: &System<'_>, device: &str) -> Result<Option<String>, ApplyError> {
    let head = crate::system::head_of(&system.path(device))
        .map_err(|error| ApplyError::io(std::path::Path::new(device), &error))?;
    let at = |offset: usize, magic: &[u8]| head.get(offset..offset + magic.len()) == Some(magic);
    let known: [(&str, bool); 8] = [
        ("ext4", at(1024 + 56, &[0x53, 0xef])),
        ("xfs", at(0, b"XFSB")),
        ("btrfs", at(65_600, b"_BHRfS_M")),
        ("swap", at(4086, b"SWAPSPACE2")),
        ("LVM volume", at(536, b"LVM2 001") || at(24, b"LVM2 001")),
        ("LUKS volume", at(0, b"LUKS\xba\xbe")),
        ("vfat", at(54, b"FAT1") || at(82, b"FAT32")),
        ("partition table", at(512, b"EFI PART") || at(4096, b"EFI PART") || at(510, &[0x55, 0xaa])),
    ];
    Ok(known.into_iter().find(|(_, there)| *there).map(|(name, _)| name.to_owned()))
}
