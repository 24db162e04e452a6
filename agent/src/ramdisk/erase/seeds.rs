//! Erasing the seed of an installed system, and nothing else: partitions that hold one, from the first byte to the last. What a control
//! plane's holds would otherwise stay readable in blocks that no file system counts any more.

use super::medium::Medium;
use super::metadata::{WipeError, Wiped, failed, unreadable};
use super::tables;
use crate::ramdisk::deploy::seed_label;

/// Bytes that hold the label of every file system that a seed can be in.
const HEAD: u64 = 64 << 10;

/// Wipes and proves it by reading again. The rest of the disk stays as it is.
pub(super) fn wipe(medium: &Medium) -> Result<Wiped, WipeError> {
    let mut wiped = Wiped::default();
    for region in tables::partitions(medium).map_err(unreadable("where its partitions are"))? {
        let length = usize::try_from((region.end - region.start).min(HEAD)).unwrap_or(0);
        let head = medium.read(region.start, length).map_err(unreadable("whether a partition is a seed"))?;
        let Some(label) = seed_label(&head) else { continue };
        medium.zero(region.clone()).map_err(failed("write zeroes"))?;
        medium.settle().map_err(failed("flush"))?;
        if let Some(at) = medium.first_nonzero(region.clone()).map_err(failed("read back"))? {
            return Err(WipeError::NotZero { start: region.start, at });
        }
        wiped.bytes += region.end - region.start;
        wiped.found.push(format!("the seed {label:?} in the partition at {}", region.start));
    }
    Ok(wiped)
}
