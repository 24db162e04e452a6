//! A block device before something is made on it: what it holds, by the same list that erasing goes by, and whether anybody uses it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use bessemer_image_formats::signatures::{self, Found};
use rustix::fs::OFlags;

/// Bytes of a device or file.
pub(crate) fn size(path: &Path) -> io::Result<u64> {
    File::open(path)?.seek(SeekFrom::End(0))
}

/// What is known of a device or file, at its start as at its end.
pub(crate) fn holds(path: &Path) -> io::Result<Vec<Found>> {
    let mut file = File::open(path)?;
    let size = file.seek(SeekFrom::End(0))?;
    signatures::find(size, |at, length| {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    })
}

/// Fails for a device that is mounted, or of which something is made up: programs that are told to go on regardless would.
pub(crate) fn is_free(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.file_type().is_block_device() {
        let flags = i32::try_from((OFlags::EXCL | OFlags::CLOEXEC).bits()).unwrap_or(0);
        OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    }
    Ok(())
}
