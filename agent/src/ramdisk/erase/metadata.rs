//! Erasing what makes a disk mean something: the ends of every partition and of the disk, and the far places that superblocks point to.
//!
//! Partitions come before the table that tells where they are, so that an erasure that was cut short begins again with the same knowledge.

use std::io;
use std::ops::Range;

use bessemer_image_formats::signatures::Found;

use super::medium::Medium;
use super::{signatures, tables};

/// How much is zeroed at either end of a partition and of the disk. All known formats but those of `far_places` lie within it: LVM's
/// usual metadata area is 1 MiB, LUKS's second header at most 4 MiB from the start, RAID headers less from the end.
const EDGE: u64 = 4 << 20;

/// What was done to a disk.
#[derive(Debug, Default)]
pub(super) struct Wiped {
    /// What was there, and is not any more.
    pub(super) found: Vec<String>,
    /// Zeroed and read back as zero.
    pub(super) bytes: u64,
}

/// Why a disk still means something.
#[derive(Debug, thiserror::Error)]
pub(super) enum WipeError {
    #[error("cannot tell {what}: {error}; its metadata was not touched: erase it in full, or take it out")]
    Unreadable { what: &'static str, error: io::Error },
    #[error("{action}: {error}")]
    Io { action: &'static str, error: io::Error },
    #[error("zeroes were written at {start}, but the byte at {at} reads otherwise")]
    NotZero { start: u64, at: u64 },
    #[error("{name} is still found at {at} after it was erased")]
    StillThere { name: &'static str, at: u64 },
}

pub(super) fn failed(action: &'static str) -> impl FnOnce(io::Error) -> WipeError {
    move |error| WipeError::Io { action, error }
}

pub(super) fn unreadable(what: &'static str) -> impl FnOnce(io::Error) -> WipeError {
    move |error| WipeError::Unreadable { what, error }
}

/// Wipes and proves it by reading again.
///
/// What cannot be read may be what tells where the rest is, and zeroing the ends would destroy the other copy of it: superblocks in the
/// middle would then stay for good, to be found when the next image has a partition there. So it fails before it writes.
pub(super) fn wipe(medium: &Medium) -> Result<Wiped, WipeError> {
    let whole = 0..medium.size();
    let partitions = tables::partitions(medium).map_err(unreadable("where its partitions are"))?;
    let mut wiped = Wiped::default();
    for region in partitions.iter().chain([&whole]) {
        let place = if *region == whole { String::new() } else { format!(" of the partition at {}", region.start) };
        let found = signatures::find(medium, region).map_err(unreadable("what is on it"))?;
        wiped.found.extend(found.into_iter().map(|Found { name, at, .. }| format!("{name} at {at}{place}")));
    }
    let mut inner = Vec::new();
    for region in &partitions {
        inner.extend(ranges(medium, region)?);
    }
    let outer = ranges(medium, &whole)?;
    for part in [&inner, &outer] {
        for range in part {
            medium.zero(range.clone()).map_err(failed("write zeroes"))?;
        }
        medium.settle().map_err(failed("flush"))?;
    }
    for range in inner.iter().chain(&outer) {
        if let Some(at) = medium.first_nonzero(range.clone()).map_err(failed("read back"))? {
            return Err(WipeError::NotZero { start: range.start, at });
        }
        wiped.bytes += range.end - range.start;
    }
    for region in partitions.iter().chain([&whole]) {
        if let Some(&Found { name, at, .. }) = signatures::find(medium, region).map_err(failed("read back"))?.first() {
            return Err(WipeError::StillThere { name, at: region.start + at });
        }
    }
    medium.reread_partitions().map_err(failed("let the kernel forget the partitions"))?;
    Ok(wiped)
}

/// What to zero for one partition, or for the disk: both ends and the far places.
fn ranges(medium: &Medium, region: &Range<u64>) -> Result<Vec<Range<u64>>, WipeError> {
    let far = signatures::far_places(medium, region).map_err(unreadable("where further copies of superblocks are"))?;
    let ends = [
        region.start..region.end.min(region.start + EDGE),
        region.end.saturating_sub(EDGE).max(region.start)..region.end,
    ];
    Ok(far.into_iter().map(|(_, range)| range).chain(ends).map(|range| medium.clip(range)).collect())
}
