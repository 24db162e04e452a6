//! Where on the disk the writing of an image begins last.

pub(in crate::ramdisk) use crate::window::Window;

/// Bytes at either end that are written last and destroyed first: they hold every partition table and boot sector.
pub(super) const EDGE: u64 = 1 << 20;
