//! The partition table of the deployed disk: the image's own, GPT or MBR, made to fit this disk, with the seed partition in the last
//! 64 MiB and the root partition grown up to it.
//!
//! Everything is decided from the first MiB of the image, before anything is written.

use bessemer_image_formats::gpt::{self, Partition, Table};
use bessemer_image_formats::guid::Guid;
use bessemer_image_formats::mbr::{Entry, FAT_LBA, LINUX, Mbr};
use bessemer_protocol::{NOCLOUD_LABEL, SEED_LABEL};

/// Bytes of the seed partition.
pub(super) const SEED_BYTES: u64 = 64 << 20;

/// What partitions are aligned to, in bytes.
const ALIGN: u64 = 1 << 20;

/// Sectors that an MBR can count.
const MBR_SECTORS: u64 = 1 << 32;

/// A partition's place on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// As the kernel counts.
    pub(super) number: u32,
    /// First byte.
    pub(super) start: u64,
    /// In bytes.
    pub(super) length: u64,
    /// Its own name for life; nil in an MBR.
    pub(super) id: Guid,
}

/// The new table, in memory only.
#[derive(Debug)]
pub(super) struct Plan {
    kind: Kind,
    sectors: u64,
    sector: u64,
    /// First byte of the seed partition.
    pub(super) seed_start: u64,
    /// The last partition, if it is one that may hold a Linux root; it ends where the seed starts.
    pub(super) root: Option<Place>,
}

#[derive(Debug)]
enum Kind {
    Gpt(Table),
    Mbr(Mbr),
}

/// Makes the table of a disk of `size` bytes from the first MiB of an image, with a seed partition of that label. The error is a sentence
/// about the image.
pub(super) fn plan(head: &[u8], size: u64, sector: u64, seed_label: &str) -> Result<Plan, String> {
    let sectors = size / sector;
    let mbr = Mbr::parse(head).ok().filter(|table| !table.is_protective() && table.used().next().is_some());
    match (Table::parse(head, sector), mbr) {
        (Ok(table), _) => plan_gpt(table, sectors, seed_label),
        (Err(gpt::GptError::Absent), Some(table)) => plan_mbr(table, sectors, sector),
        (Err(gpt::GptError::Absent), None) => Err("it has no partition table".to_owned()),
        (Err(error), _) => Err(error.to_string()),
    }
}

fn seed_first(after_last: u64, sector: u64) -> u64 {
    let unit = ALIGN / sector;
    after_last.saturating_sub(SEED_BYTES / sector) / unit * unit
}

fn no_room(end: u64, sector: u64, sectors: u64) -> String {
    format!(
        "its partitions end at byte {}, but the disk of {} bytes must have {SEED_BYTES} left for the seed",
        (end + 1) * sector,
        sectors * sector
    )
}

fn plan_gpt(mut table: Table, sectors: u64, seed_label: &str) -> Result<Plan, String> {
    let sector = table.sector;
    let first = seed_first(table.last_usable(sectors) + 1, sector);
    for label in [SEED_LABEL, NOCLOUD_LABEL] {
        if table.partitions.iter().any(|part| part.name == label) {
            return Err(format!("it has a partition named {label:?} of its own"));
        }
    }
    let last = table.partitions.iter_mut().max_by_key(|part| part.last).ok_or("its partition table is empty")?;
    if last.last >= first {
        return Err(no_room(last.last, sector, sectors));
    }
    let root = last.may_be_root().then(|| {
        last.last = first - 1;
        place(last, sector)
    });
    let number = table.free().ok_or("its partition table has no free entry")?;
    table.partitions.push(Partition {
        number,
        kind: gpt::BASIC_DATA,
        id: Guid(uuid::Uuid::new_v4().to_bytes_le()),
        first,
        last: first + SEED_BYTES / sector - 1,
        attributes: 0,
        name: seed_label.to_owned(),
    });
    table.partitions.sort_unstable_by_key(|part| part.number);
    Ok(Plan { kind: Kind::Gpt(table), sectors, sector, seed_start: first * sector, root })
}

fn plan_mbr(mut table: Mbr, sectors: u64, sector: u64) -> Result<Plan, String> {
    if sector != 512 {
        return Err(format!("its MBR partition table is for sectors of 512 bytes, this disk has {sector}"));
    }
    // Beyond 2 TiB an MBR cannot point, so that both the seed and the root end there.
    let first = seed_first(sectors.min(MBR_SECTORS), sector);
    let mut last = table.used().max_by_key(Entry::last).ok_or("its partition table is empty")?;
    if last.last() >= first {
        return Err(no_room(last.last(), sector, sectors));
    }
    let whole = |entry: &Entry| Place {
        number: u32::from(entry.number),
        start: u64::from(entry.first) * sector,
        length: u64::from(entry.sectors) * sector,
        id: Guid::default(),
    };
    let small = |number: u64| u32::try_from(number).map_err(|_| "its partition table is full".to_owned());
    let mut root = None;
    if last.kind == LINUX {
        last.sectors = small(first - u64::from(last.first))?;
        table.set(last);
        root = Some(whole(&last));
    }
    let number = table.free().ok_or("all four entries of its MBR are used, and the seed needs one")?;
    let seed =
        Entry { number, kind: FAT_LBA, active: false, first: small(first)?, sectors: small(SEED_BYTES / sector)? };
    table.set(seed);
    Ok(Plan { kind: Kind::Mbr(table), sectors, sector, seed_start: first * sector, root })
}

fn place(part: &Partition, sector: u64) -> Place {
    let length = (part.last - part.first + 1) * sector;
    Place { number: part.number, start: part.first * sector, length, id: part.id }
}

impl Plan {
    /// Puts the table into `head`, which is not on the disk yet.
    pub(super) fn put_into(&self, head: &mut [u8]) {
        match &self.kind {
            Kind::Mbr(table) => table.write_into(head),
            Kind::Gpt(table) => {
                set_protective_size(head, self.sectors);
                let (header, entries) = table.primary(self.sectors);
                for (sector, bytes) in [(1, header), (table.entries_at, entries)] {
                    let at = usize::try_from(sector * self.sector).unwrap_or(usize::MAX);
                    if let Some(place) = head.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len())) {
                        place.copy_from_slice(&bytes);
                    }
                }
            }
        }
    }

    /// What goes to the disk's end, and from which byte on.
    pub(super) fn backup(&self) -> Option<(u64, Vec<u8>)> {
        match &self.kind {
            Kind::Mbr(_) => None,
            Kind::Gpt(table) => {
                let (start, bytes) = table.backup(self.sectors);
                Some((start * self.sector, bytes))
            }
        }
    }

    /// The partitions in the form of the deploy report.
    pub(super) fn partitions(&self) -> Vec<String> {
        match &self.kind {
            Kind::Gpt(table) => describe_gpt(table),
            Kind::Mbr(table) => describe_mbr(table),
        }
    }
}

/// The partitions of the table at the start of `head`, in the form of the deploy report. Both copies of a GPT must be right: `last` is the
/// last sector of the disk.
pub(super) fn partitions(head: &[u8], last: &[u8], sector: u64) -> Result<Vec<String>, String> {
    match read(head, sector)? {
        Kind::Mbr(table) => Ok(describe_mbr(&table)),
        Kind::Gpt(table) if table.is_backed_up_by(last) => Ok(describe_gpt(&table)),
        Kind::Gpt(_) => Err("the two copies of the partition table differ".to_owned()),
    }
}

/// First byte and length of the seed partition named `label`, as the table at the start of `head` has it. An MBR has no names: there it is
/// the FAT of a seed's size.
pub(super) fn seed_place(head: &[u8], sector: u64, label: &str) -> Result<(u64, u64), String> {
    let place = match read(head, sector)? {
        Kind::Gpt(table) => table.partitions.iter().find(|part| part.name == label).map(|part| place(part, sector)),
        Kind::Mbr(table) => table
            .used()
            .find(|entry| entry.kind == FAT_LBA && u64::from(entry.sectors) * sector == SEED_BYTES)
            .map(|entry| Place {
                number: 0,
                start: u64::from(entry.first) * sector,
                length: SEED_BYTES,
                id: Guid::default(),
            }),
    };
    let place = place.ok_or_else(|| format!("no partition is named {label:?}: deploy the host again"))?;
    Ok((place.start, place.length))
}

/// All partitions of a disk that starts with `head`, and which of them is the EFI system partition.
pub(super) fn places(head: &[u8], sector: u64) -> Result<(Vec<Place>, Option<Place>), String> {
    Ok(match read(head, sector)? {
        Kind::Gpt(table) => (
            table.partitions.iter().map(|part| place(part, sector)).collect(),
            table.partitions.iter().find(|part| part.kind == gpt::ESP).map(|part| place(part, sector)),
        ),
        Kind::Mbr(table) => {
            let whole = |entry: Entry| Place {
                number: u32::from(entry.number),
                start: u64::from(entry.first) * sector,
                length: u64::from(entry.sectors) * sector,
                id: Guid::default(),
            };
            (table.used().map(whole).collect(), table.used().find(|entry| entry.kind == 0xef).map(whole))
        }
    })
}

fn read(head: &[u8], sector: u64) -> Result<Kind, String> {
    match Table::parse(head, sector) {
        Ok(table) => Ok(Kind::Gpt(table)),
        Err(gpt::GptError::Absent) => Mbr::parse(head)
            .ok()
            .filter(|table| !table.is_protective())
            .map(Kind::Mbr)
            .ok_or_else(|| "it has no partition table".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn describe_gpt(table: &Table) -> Vec<String> {
    table.partitions.iter().map(|part| format!("{} {} {}-{}", part.number, part.name, part.first, part.last)).collect()
}

fn describe_mbr(table: &Mbr) -> Vec<String> {
    table
        .used()
        .map(|entry| format!("{} type {:02x} {}-{}", entry.number, entry.kind, entry.first, entry.last()))
        .collect()
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

#[cfg(test)]
mod tests;
