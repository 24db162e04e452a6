//! Where partitions are, or were, by what is on the disk itself. Lenient where a boot loader would be strict: a table that nothing boots
//! from any more still says where old superblocks lie. Whatever a table claims is bounded by the disk and by [`MOST`].

use std::io;
use std::ops::Range;

use super::medium::Medium;

/// Partitions that are looked at; a table has room for 128 as a rule.
const MOST: usize = 256;

/// Every partition of the disk in bytes, from the GPT at either end and from the MBR with its logical partitions.
pub(super) fn partitions(medium: &Medium) -> io::Result<Vec<Range<u64>>> {
    let mut found = Vec::new();
    // A table that was written through an adapter with other sectors is found too.
    for sector in [512, 4096] {
        let last = (medium.size() / sector).saturating_sub(1) * sector;
        for header in [sector, last] {
            gpt(medium, header, sector, &mut found)?;
        }
    }
    mbr(medium, &mut found)?;
    found.retain(|range: &Range<u64>| range.start < range.end);
    found.sort_by_key(|range| (range.start, range.end));
    found.dedup();
    found.truncate(MOST);
    Ok(found)
}

/// Where the GPT's header at `header` says that the other one is.
pub(super) fn other_header(medium: &Medium, header: u64, sector: u64) -> io::Result<Option<u64>> {
    let bytes = medium.read(header, 512)?;
    let is_header = bytes.starts_with(b"EFI PART");
    Ok(is_header
        .then(|| long(&bytes, 32))
        .flatten()
        .and_then(|lba| lba.checked_mul(sector))
        .filter(|at| *at < medium.size()))
}

fn gpt(medium: &Medium, header: u64, sector: u64, found: &mut Vec<Range<u64>>) -> io::Result<()> {
    let bytes = medium.read(header, 512)?;
    let fields = || Some((long(&bytes, 72)?.checked_mul(sector)?, word(&bytes, 80)?, word(&bytes, 84)?));
    let Some((table, entries, size)) = bytes.starts_with(b"EFI PART").then(fields).flatten() else { return Ok(()) };
    let size = usize::try_from(size).unwrap_or(0);
    if !(128..=4096).contains(&size) || table >= medium.size() {
        return Ok(());
    }
    let count = usize::try_from(entries).unwrap_or(0).min(MOST);
    let table = medium.read(table, size * count)?;
    for entry in table.chunks_exact(size) {
        let is_used = entry.get(..16).is_some_and(|kind| kind.iter().any(|byte| *byte != 0));
        let (Some(first), Some(last)) = (long(entry, 32), long(entry, 40)) else { continue };
        if is_used && last >= first {
            let end = last.saturating_add(1).saturating_mul(sector);
            found.push(medium.clip(first.saturating_mul(sector)..end));
        }
    }
    Ok(())
}

fn mbr(medium: &Medium, found: &mut Vec<Range<u64>>) -> io::Result<()> {
    let sector = medium.sector();
    let mut extended = None;
    for (kind, start, sectors) in mbr_entries(medium, 0)? {
        match kind {
            // 0xee stands for the GPT.
            0 | 0xee => {}
            0x05 | 0x0f | 0x85 => extended = Some(start * sector),
            _ => found.push(medium.clip(start * sector..(start + sectors) * sector)),
        }
    }
    // Each logical partition has a sector of its own, which points to the next one.
    let Some(base) = extended else { return Ok(()) };
    let mut at = base;
    for _ in 0..MOST {
        let mut next = None;
        found.push(medium.clip(at..at + sector));
        for (kind, start, sectors) in mbr_entries(medium, at)? {
            match kind {
                0 => {}
                0x05 | 0x0f | 0x85 => next = Some(base + start * sector),
                _ => found.push(medium.clip(at + start * sector..at + (start + sectors) * sector)),
            }
        }
        match next {
            Some(next) if next > at && next < medium.size() => at = next,
            _ => break,
        }
    }
    Ok(())
}

/// Kind, first sector and sectors of each of the four.
fn mbr_entries(medium: &Medium, at: u64) -> io::Result<Vec<(u8, u64, u64)>> {
    let bytes = medium.read(at, 512)?;
    if bytes.get(510..512) != Some(&[0x55, 0xaa]) {
        return Ok(Vec::new());
    }
    let table = bytes.get(446..510).unwrap_or_default();
    let entry = |entry: &[u8]| Some((*entry.get(4)?, u64::from(word(entry, 8)?), u64::from(word(entry, 12)?)));
    Ok(table.chunks_exact(16).filter_map(entry).collect())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}
