//! The partition table of the deployed disk: the image's own, with its backup at the end of this disk, the seed partition in the last
//! 64 MiB and the root partition grown up to it.

use std::fs::File;
use std::io::Cursor;

use bessemer_protocol::{NOCLOUD_LABEL, SEED_LABEL};
use gptman::{GPT, GPTPartitionEntry};

use super::region::HeadOverDisk;

/// Bytes of the seed partition.
pub(super) const SEED_BYTES: u64 = 64 << 20;

/// What partitions are aligned to, in bytes.
const ALIGN: u64 = 1 << 20;

/// Most partition entries that are believed. The usual number is 128; more than this would not fit into the head.
const MOST_ENTRIES: u32 = 1024;

/// Microsoft basic data, the type of FAT partitions, as it lies on the disk.
const BASIC_DATA: [u8; 16] = guid(0xEBD0_A0A2_B9E5_4433_87C0_68B6_B726_99C7);

/// Types of partitions that hold a Linux root and may be grown: "Linux filesystem" and "Linux root (x86-64)" (Discoverable Partitions Specification).
const ROOTS: [[u8; 16]; 2] =
    [guid(0x0FC6_3DAF_8483_4772_8E79_3D69_D847_7DE4), guid(0x4F68_BCE3_E8CD_4DB1_96E7_FBCA_F984_B709)];

/// On the disk the first three fields are little-endian.
const fn guid(text: u128) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h, rest @ ..] = text.to_be_bytes();
    let [i, j, k, l, m, n, o, p] = rest;
    [d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]
}

/// The new table, in memory only.
#[derive(Debug)]
pub(super) struct Plan {
    table: GPT,
    /// First byte of the seed partition.
    pub(super) seed_start: u64,
    /// Whether the last partition was a root that could be grown.
    pub(super) grown: bool,
}

/// Makes the table of a disk of `size` bytes from the first MiB of an image, with a seed partition of that label. The error is a sentence about the image.
pub(super) fn plan(head: &mut [u8], size: u64, sector: u64, seed_label: &str) -> Result<Plan, String> {
    let mut table = read(head, sector)?;
    let header = &table.header;
    let entries_sectors = (u64::from(header.number_of_partition_entries) * 128).div_ceil(sector);
    let sectors = size / sector;
    let (backup_lba, last_usable) = (sectors - 1, sectors - 2 - entries_sectors);
    let seed_sectors = SEED_BYTES / sector;
    let aligned = |lba: u64| lba / (ALIGN / sector) * (ALIGN / sector);
    let seed_first = aligned((last_usable + 1).saturating_sub(seed_sectors));
    table.header.primary_lba = 1;
    table.header.backup_lba = backup_lba;
    table.header.last_usable_lba = last_usable;
    let used: Vec<(u32, u64)> =
        table.iter().filter(|(_, entry)| entry.is_used()).map(|(number, entry)| (number, entry.ending_lba)).collect();
    let (last, end) = used.iter().copied().max_by_key(|(_, end)| *end).ok_or("its partition table is empty")?;
    for label in [SEED_LABEL, NOCLOUD_LABEL] {
        let named = |number: u32| table.get(number).is_some_and(|entry| entry.partition_name.as_str() == label);
        if used.iter().any(|(number, _)| named(*number)) {
            return Err(format!("it has a partition named {label:?} of its own"));
        }
    }
    if end >= seed_first {
        return Err(format!(
            "its partitions end at byte {}, but the disk of {size} bytes must have {SEED_BYTES} left for the seed",
            (end + 1) * sector
        ));
    }
    let root = table.get_mut(last).filter(|entry| ROOTS.contains(&entry.partition_type_guid));
    let grown = root.map(|entry| entry.ending_lba = seed_first - 1).is_some();
    let free = table.first_free().ok_or("its partition table has no free entry")?;
    if let Some(entry) = table.get_mut(free) {
        *entry = GPTPartitionEntry {
            partition_type_guid: BASIC_DATA,
            unique_partition_guid: uuid::Uuid::new_v4().to_bytes_le(),
            starting_lba: seed_first,
            ending_lba: seed_first + seed_sectors - 1,
            attribute_bits: 0,
            partition_name: seed_label.into(),
        };
    }
    Ok(Plan { table, seed_start: seed_first * sector, grown })
}

impl Plan {
    /// Writes the backup to the disk's end and the primary table into `head`, which is not on the disk yet.
    pub(super) fn write(&mut self, head: &mut [u8], disk: &File, size: u64) -> Result<(), String> {
        set_protective_size(head, size / self.table.sector_size);
        let mut view = HeadOverDisk::new(head, disk, size);
        self.table.write_into(&mut view).map(drop).map_err(|error| format!("cannot write the partition table: {error}"))
    }

    /// The partitions in the form of the deploy report.
    pub(super) fn partitions(&self) -> Vec<String> {
        describe(&self.table)
    }
}

/// First byte and length of the partition named `label`, as the table at the start of `head` has it.
pub(super) fn seed_place(head: &mut [u8], sector: u64, label: &str) -> Result<(u64, u64), String> {
    let table = read(head, sector)?;
    let named = |entry: &&GPTPartitionEntry| entry.is_used() && entry.partition_name.as_str() == label;
    let found = table.iter().map(|(_, entry)| entry).find(named);
    let place = found.and_then(|entry| {
        let sectors = entry.ending_lba.checked_sub(entry.starting_lba)?.checked_add(1)?;
        Some((entry.starting_lba.checked_mul(sector)?, sectors.checked_mul(sector)?))
    });
    place.ok_or_else(|| format!("no partition is named {label:?}: deploy the host again"))
}

/// The partitions of the table at the start of `head`, in the form of the deploy report. Both copies must be right: `last` is the
/// last sector of the disk.
pub(super) fn partitions(head: &mut [u8], last: &[u8], sector: u64) -> Result<Vec<String>, String> {
    let table = read(head, sector)?;
    let backup =
        gptman::GPTHeader::read_from(&mut Cursor::new(last)).map_err(|error| format!("backup table: {error}"))?;
    if backup.primary_lba != table.header.backup_lba
        || backup.partition_entry_array_crc32 != table.header.partition_entry_array_crc32
    {
        return Err("the two copies of the partition table differ".to_owned());
    }
    Ok(describe(&table))
}

fn describe(table: &GPT) -> Vec<String> {
    let used = table.iter().filter(|(_, entry)| entry.is_used());
    used.map(|(number, entry)| {
        format!("{number} {} {}-{}", entry.partition_name.as_str(), entry.starting_lba, entry.ending_lba)
    })
    .collect()
}

fn read(head: &mut [u8], sector: u64) -> Result<GPT, String> {
    /// Offsets in the header, UEFI specification 2.10, table 5.5.
    const SIGNATURE: &[u8] = b"EFI PART";
    let at = |offset: u64| usize::try_from(sector + offset).ok();
    let header = at(0).and_then(|start| head.get(start..start + 92)).unwrap_or_default();
    if !header.starts_with(SIGNATURE) {
        let other = if sector == 512 { 4096 } else { 512 };
        let elsewhere = head.get(other..).is_some_and(|head| head.starts_with(SIGNATURE));
        return Err(if elsewhere {
            format!("it was made for disks with sectors of {other} bytes, this disk has {sector}")
        } else {
            "it has no GUID partition table".to_owned()
        });
    }
    let word = |offset: usize| header.get(offset..offset + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (entries, entry_bytes) = (word(80).unwrap_or(0), word(84).unwrap_or(0));
    // The crate computes with these before it checks them.
    if entries == 0 || entries > MOST_ENTRIES || entry_bytes != 128 {
        return Err(format!("its partition table has {entries} entries of {entry_bytes} bytes"));
    }
    GPT::read_from(&mut Cursor::new(head), sector).map_err(|error| format!("its partition table is broken: {error}"))
}

/// The protective partition of the MBR covers the whole disk (UEFI specification 2.10, table 5.4). A hybrid MBR is left alone.
fn set_protective_size(head: &mut [u8], sectors: u64) {
    let Some(entry) = head.get_mut(446..462) else { return };
    let size = u32::try_from(sectors - 1).unwrap_or(u32::MAX);
    if entry.get(4) == Some(&0xee)
        && let Some(field) = entry.get_mut(12..16)
    {
        field.copy_from_slice(&size.to_le_bytes());
    }
}

/// Access by number without a panic, which the crate's indexing is not.
trait Entries {
    fn get(&self, number: u32) -> Option<&GPTPartitionEntry>;
    fn get_mut(&mut self, number: u32) -> Option<&mut GPTPartitionEntry>;
    fn first_free(&self) -> Option<u32>;
}

impl Entries for GPT {
    fn get(&self, number: u32) -> Option<&GPTPartitionEntry> {
        self.iter().find(|(other, _)| *other == number).map(|(_, entry)| entry)
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut GPTPartitionEntry> {
        self.iter_mut().find(|(other, _)| *other == number).map(|(_, entry)| entry)
    }

    fn first_free(&self) -> Option<u32> {
        self.iter().find(|(_, entry)| entry.is_unused()).map(|(number, _)| number)
    }
}
