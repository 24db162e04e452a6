//! The root disk as something to write: its size, its sectors, and the two kinds of access to it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate, ioctl_blksszget};
use rustix::io::Errno;

use super::region::EDGE;
use crate::ioctl;

/// What direct writes are aligned to; a multiple of every sector size.
pub(super) const ALIGNMENT: usize = 4096;

/// An open disk. Tests use a regular file.
#[derive(Debug)]
pub(super) struct Target {
    name: String,
    size: u64,
    sector: u64,
    is_device: bool,
    /// Bypasses the page cache: an image is written once and read by nobody here.
    direct: File,
    /// For the small things, where alignment would be a burden.
    buffered: File,
    touched: AtomicBool,
}

impl Target {
    /// Opens a disk exclusively: it fails when anything on it is mounted or stacked.
    pub(super) fn open(name: &str) -> io::Result<Self> {
        let is_device = std::fs::metadata(name)?.file_type().is_block_device();
        let exclusive = if is_device { OFlags::EXCL } else { OFlags::empty() };
        let open = |flags: OFlags| {
            let flags = i32::try_from((flags | OFlags::CLOEXEC).bits()).unwrap_or(0);
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(name)
        };
        let buffered = open(exclusive)?;
        let direct = match open(OFlags::DIRECT) {
            // Some file systems do not have it; every disk does.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => open(OFlags::empty())?,
            other => other?,
        };
        let sector = if is_device { u64::from(ioctl_blksszget(&buffered)?) } else { 512 };
        let size = io::Seek::seek(&mut &buffered, io::SeekFrom::End(0))?;
        if size < 4 * EDGE {
            return Err(io::Error::other(format!("only {size} bytes")));
        }
        Ok(Self { name: name.to_owned(), size, sector, is_device, direct, buffered, touched: AtomicBool::new(false) })
    }

    /// Device path.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// In bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Logical sector size in bytes.
    pub(super) fn sector(&self) -> u64 {
        self.sector
    }

    /// For access that needs no alignment. Nothing is on the disk before [`Target::sync`].
    pub(super) fn buffered(&self) -> &File {
        &self.buffered
    }

    /// Writes what is in aligned memory: directly where offset and length are aligned too, through the page cache where not.
    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.touched.store(true, Ordering::Relaxed);
        let unit = ALIGNMENT as u64;
        if !offset.is_multiple_of(unit) {
            return self.buffered.write_all_at(bytes, offset);
        }
        let (aligned, rest) = bytes.split_at(bytes.len() / ALIGNMENT * ALIGNMENT);
        self.direct.write_all_at(aligned, offset)?;
        self.buffered.write_all_at(rest, offset + aligned.len() as u64)
    }

    /// Writes the start of the disk, and waits until it is there.
    pub(super) fn write_first(&self, bytes: &[u8]) -> io::Result<()> {
        self.buffered.write_all_at(bytes, 0)?;
        self.sync()
    }

    /// Whether anything was written since it was opened, the destruction of old tables included.
    pub(super) fn is_touched(&self) -> bool {
        self.touched.load(Ordering::Relaxed)
    }

    /// Makes a range read as zeroes without sending any. False when the disk cannot, in which case nothing happened.
    pub(super) fn punch(&self, offset: u64, length: u64) -> io::Result<bool> {
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.direct, how, offset, length) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::NODEV) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Everything written so far is on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.direct.sync_all()?;
        self.buffered.sync_all()
    }

    /// Zeroes both ends, where partition tables and boot sectors are: the disk boots nothing after this.
    pub(super) fn destroy_tables(&self) -> io::Result<()> {
        self.touched.store(true, Ordering::Relaxed);
        let zeroes = vec![0; usize::try_from(EDGE).unwrap_or_default()];
        self.buffered.write_all_at(&zeroes, 0)?;
        self.buffered.write_all_at(&zeroes, self.size - EDGE)?;
        self.sync()
    }

    /// Forgets what the page cache holds, so that the next read is one of the disk.
    pub(super) fn forget_cached(&self) -> io::Result<()> {
        Ok(fadvise(&self.buffered, 0, None, Advice::DontNeed)?)
    }

    /// Lets the kernel see the new partitions.
    pub(super) fn reread_partitions(&self) -> io::Result<()> {
        if self.is_device { ioctl::reread_partition_table(&self.buffered) } else { Ok(()) }
    }
}
