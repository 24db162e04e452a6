//! A disk as something to read and to zero, with reads that come from the disk and not from memory.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::time::Instant;

use rustix::fs::{Advice, OFlags, fadvise, ioctl_blksszget};

use crate::ioctl;

/// How much is written or compared at once.
const PIECE: u64 = 1 << 20;

/// An open disk. Tests use a regular file.
#[derive(Debug)]
pub(super) struct Medium {
    file: File,
    size: u64,
    sector: u64,
    is_device: bool,
    deadline: Option<Instant>,
}

impl Medium {
    /// Opens a disk exclusively: it fails when anything on it is mounted or stacked.
    pub(super) fn open(path: &str) -> io::Result<Self> {
        let is_device = std::fs::metadata(path)?.file_type().is_block_device();
        let flags = if is_device { OFlags::EXCL | OFlags::CLOEXEC } else { OFlags::CLOEXEC };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
            .open(path)?;
        let sector = if is_device { u64::from(ioctl_blksszget(&file)?) } else { 512 };
        let size = (&file).seek(SeekFrom::End(0))?;
        Ok(Self { file, size, sector: sector.max(512), is_device, deadline: None })
    }

    /// From `deadline` on nothing more is zeroed or compared: a partition may be as large as the disk.
    pub(super) fn until(self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// In bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Logical sector size in bytes.
    pub(super) fn sector(&self) -> u64 {
        self.sector
    }

    /// The open device, for what is asked of the kernel.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Whether there is a kernel's device behind it.
    pub(super) fn is_device(&self) -> bool {
        self.is_device
    }

    /// The part of `range` that is on the disk.
    pub(super) fn clip(&self, range: Range<u64>) -> Range<u64> {
        range.start.min(self.size)..range.end.min(self.size)
    }

    /// `length` bytes at `offset`, fewer at the end of the disk.
    pub(super) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let range = self.clip(offset..offset.saturating_add(length as u64));
        let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes)
    }

    /// Writes zeroes over the part of `range` that is on the disk.
    pub(super) fn zero(&self, range: Range<u64>) -> io::Result<()> {
        self.pieces(range, |piece| {
            let length = usize::try_from(piece.end - piece.start).unwrap_or(0);
            self.file.write_all_at(ZEROES.get(..length).unwrap_or_default(), piece.start)
        })
    }

    /// Everything written so far is on the disk, and the next read is one of the disk.
    pub(super) fn settle(&self) -> io::Result<()> {
        self.file.sync_all()?;
        fadvise(&self.file, 0, None, Advice::DontNeed)?;
        Ok(())
    }

    /// Where in `range` the first byte is that is not zero.
    pub(super) fn first_nonzero(&self, range: Range<u64>) -> io::Result<Option<u64>> {
        let mut found = None;
        self.pieces(range, |piece| {
            if found.is_none() {
                let length = usize::try_from(piece.end - piece.start).unwrap_or(0);
                let bytes = self.read(piece.start, length)?;
                found = bytes.iter().position(|byte| *byte != 0).map(|at| piece.start + at as u64);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Lets the kernel see that there are no partitions any more.
    pub(super) fn reread_partitions(&self) -> io::Result<()> {
        match ioctl::reread_partition_table(&self.file) {
            // Some devices never have partitions, and regular files do not either.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput) || !self.is_device => Ok(()),
            other => other,
        }
    }

    fn pieces(&self, range: Range<u64>, mut each: impl FnMut(Range<u64>) -> io::Result<()>) -> io::Result<()> {
        let range = self.clip(range);
        let mut at = range.start;
        while at < range.end {
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, format!("the deadline passed at byte {at}")));
            }
            let next = range.end.min(at + PIECE);
            each(at..next)?;
            at = next;
        }
        Ok(())
    }
}

static ZEROES: [u8; PIECE as usize] = [0; PIECE as usize];
