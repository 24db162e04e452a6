//! A view of a part of the disk for crates that want a `Read + Write + Seek`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

/// Bytes at either end that are written last and destroyed first: they hold every partition table and boot sector.
pub(super) const EDGE: u64 = 1 << 20;

fn moved(position: u64, size: u64, to: SeekFrom) -> io::Result<u64> {
    let target = match to {
        SeekFrom::Start(offset) => Some(offset),
        SeekFrom::End(offset) => size.checked_add_signed(offset),
        SeekFrom::Current(offset) => position.checked_add_signed(offset),
    };
    target.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "seek before the start"))
}

fn clamp(position: u64, size: u64, wanted: usize) -> usize {
    usize::try_from(size.saturating_sub(position)).unwrap_or(usize::MAX).min(wanted)
}

/// A part of a disk that looks like a whole one.
#[derive(Debug)]
pub(in crate::ramdisk) struct Window<'a> {
    disk: &'a File,
    start: u64,
    size: u64,
    position: u64,
}

impl<'a> Window<'a> {
    /// `size` bytes from `start`.
    pub(in crate::ramdisk) fn new(disk: &'a File, start: u64, size: u64) -> Self {
        Self { disk, start, size, position: 0 }
    }
}

impl Read for Window<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = clamp(self.position, self.size, buffer.len());
        let room = buffer.get_mut(..length).unwrap_or_default();
        let read = self.disk.read_at(room, self.start + self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Write for Window<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = clamp(self.position, self.size, bytes.len());
        let written = self.disk.write_at(bytes.get(..length).unwrap_or_default(), self.start + self.position)?;
        self.position += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Window<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = moved(self.position, self.size, to)?;
        Ok(self.position)
    }
}
