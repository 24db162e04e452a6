//! A view of a part of a disk for crates that want a `Read + Write + Seek`.
//!
//! What is read through it may lie. A file system can hold a chain of blocks that never ends, which a reader of it would follow for ever:
//! after so many reads there are no more.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

/// Reads of one view. A kernel and a ramdisk out of the smallest blocks take less than half; a chain without end has used them up in seconds.
const MOST_READS: u32 = 4 << 20;

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
pub(crate) struct Window<'a> {
    disk: &'a File,
    start: u64,
    size: u64,
    position: u64,
    reads_left: u32,
}

impl<'a> Window<'a> {
    /// `size` bytes from `start`.
    pub(crate) fn new(disk: &'a File, start: u64, size: u64) -> Self {
        Self { disk, start, size, position: 0, reads_left: MOST_READS }
    }
}

impl Read for Window<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.reads_left.checked_sub(1);
        self.reads_left =
            left.ok_or_else(|| io::Error::other("it is read without end: a file system with a cycle in it"))?;
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

#[cfg(test)]
mod tests {
    use fatfs::{FileSystem, FormatVolumeOptions, FsOptions, format_volume};

    use super::*;

    #[test]
    fn a_folder_that_goes_on_in_a_circle_is_read_to_a_reason() {
        const SIZE: u64 = 4 << 20;
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        format_volume(Window::new(&file, 0, SIZE), FormatVolumeOptions::new()).unwrap();
        let volume = FileSystem::new(Window::new(&file, 0, SIZE), FsOptions::new()).unwrap();
        assert_eq!(volume.fat_type(), fatfs::FatType::Fat12);
        let folder = volume.root_dir().create_dir("EFI").unwrap();
        // Its cluster is full of names, so that its end is not within it.
        (0..200).for_each(|number| drop(folder.create_file(&format!("{number}.EFI")).unwrap()));
        drop(folder);
        volume.unmount().unwrap();
        // The folder's first cluster is 2, and the entry of that is the third of 12 bits: it leads to itself.
        let mut boot = [0; 512];
        file.read_exact_at(&mut boot, 0).unwrap();
        let fat = u64::from(u16::from_le_bytes([boot[14], boot[15]])) * 512;
        let copies = u64::from(boot[16]);
        let length = u64::from(u16::from_le_bytes([boot[22], boot[23]])) * 512;
        for copy in 0..copies {
            let at = fat + copy * length + 3;
            let mut bytes = [0; 2];
            file.read_exact_at(&mut bytes, at).unwrap();
            file.write_all_at(&[2, bytes[1] & 0xf0], at).unwrap();
        }
        let volume = FileSystem::new(Window::new(&file, 0, SIZE), FsOptions::new()).unwrap();
        let error = volume.root_dir().open_dir("EFI").unwrap().open_file("NONE.EFI").err().unwrap();
        assert!(error.to_string().contains("without end"), "{error}");
    }
}
