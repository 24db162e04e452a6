//! Where else than at a disk's or a partition's ends the bytes lie by which something on it is found again.

use std::io;
use std::ops::Range;

use bessemer_image_formats::signatures::{self, Found};

use super::medium::Medium;
use super::tables;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What is found in `region`, each with its offset from the region's start.
pub(super) fn find(medium: &Medium, region: &Range<u64>) -> io::Result<Vec<Found>> {
    signatures::find(region.end - region.start, |at, length| medium.read(region.start + at, length))
}

/// Ranges in the middle of `region`, from the disk's start, that what was found at its ends points to.
pub(super) fn far_places(medium: &Medium, region: &Range<u64>) -> io::Result<Vec<(&'static str, Range<u64>)>> {
    let mut places = Vec::new();
    for copy in [64 * MIB, 256 * GIB] {
        places.push(("btrfs, further copy", region.start + copy..region.start + copy + 4 * KIB));
    }
    let head = medium.read(region.start, 4096)?;
    if head.starts_with(b"LUKS\xba\xbe") {
        // Both headers and the key slots: without them not even the passphrase opens it.
        places.push(("LUKS key slots", region.start..region.start + 32 * MIB));
    }
    places.extend(ext_backups(&head, region));
    for sector in [512, 4096] {
        if let Some(other) = tables::other_header(medium, region.start + sector, sector)? {
            // The entries lie before a backup header.
            places.push(("backup GPT of a smaller disk", other.saturating_sub(32 * KIB)..other + sector));
        }
    }
    places.extend(ddf_headers(medium, region)?);
    let inside = |(name, range): (&'static str, Range<u64>)| {
        let range = range.start.max(region.start)..range.end.min(region.end);
        (range.start < range.end).then_some((name, range))
    };
    Ok(places.into_iter().filter_map(inside).collect())
}

/// Superblocks at the start of block groups 1 and the powers of 3, 5 and 7, from which `e2fsck -b` would bring a file system back.
fn ext_backups(head: &[u8], region: &Range<u64>) -> Vec<(&'static str, Range<u64>)> {
    let word = |at: usize| Some(u64::from(u32::from_le_bytes(head.get(1024 + at..1024 + at + 4)?.try_into().ok()?)));
    let fields = || Some((word(20)?, word(24)?, word(32)?));
    if head.get(0x438..0x43a) != Some(&[0x53, 0xef]) {
        return Vec::new();
    }
    let Some((first_block, log_size, per_group)) = fields().filter(|(_, log_size, _)| *log_size <= 6) else {
        return Vec::new();
    };
    let block = 1024_u64 << log_size;
    let mut groups = vec![1_u64];
    for base in [3_u64, 5, 7] {
        groups.extend((1..20).map_while(|power| base.checked_pow(power)));
    }
    let at = |group: u64| {
        let block_number = group.checked_mul(per_group)?.checked_add(first_block)?;
        let start = region.start.checked_add(block_number.checked_mul(block)?)?;
        Some(("ext2/3/4, backup superblock", start..start.checked_add(block)?))
    };
    groups.into_iter().filter_map(at).collect()
}

/// Primary and secondary header of a DDF disk, which its anchor in the last sector points to (SNIA DDF 2.0, section 5.5).
fn ddf_headers(medium: &Medium, region: &Range<u64>) -> io::Result<Vec<(&'static str, Range<u64>)>> {
    let Some(anchor) = (region.end - region.start).checked_sub(512) else { return Ok(Vec::new()) };
    let bytes = medium.read(region.start + anchor, 512)?;
    if !bytes.starts_with(&[0xde, 0x11, 0xde, 0x11]) {
        return Ok(Vec::new());
    }
    let place = |at: usize| {
        let lba = u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?);
        let start = region.start.checked_add(lba.checked_mul(512)?)?;
        Some(("DDF RAID, header", start..start.checked_add(64 * KIB)?))
    };
    Ok([96, 104].into_iter().filter_map(place).collect())
}
