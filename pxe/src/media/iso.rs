//! A virtual-media ISO with a slot for the overlay: a file in it that begins with [`SLOT_MAGIC`] and its own length. It
//! stays on disk; of an ISO of gigabytes, only the slot is ever in memory.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

/// What the slot begins with; a little-endian 64-bit number follows, the slot's length with this head.
pub const SLOT_MAGIC: [u8; 32] = *b"BESSEMER-OVERLAY-SLOT-1\0\0\0\0\0\0\0\0\0";

/// Files in an ISO begin at multiples of this.
const SECTOR: usize = 2048;
/// Read at once while the slot is looked for.
const CHUNK: usize = 512 * SECTOR;
/// "CD001" of the primary volume descriptor (ECMA-119, 8.4).
const DESCRIPTOR: u64 = 16 * SECTOR as u64 + 1;

/// An ISO whose slot was found.
#[derive(Debug, Clone)]
pub struct Iso {
    file: Arc<File>,
    len: u64,
    slot: Range<u64>,
    version: u64,
}

/// Why an ISO cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum IsoError {
    /// Not readable.
    #[error("{path} cannot be read: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// No volume descriptor.
    #[error("{0} is not an ISO 9660 image")]
    NotIso(PathBuf),
    /// Nowhere to put an overlay.
    #[error("{0} has no overlay slot (file BESSEMER.OVL): build it with `cargo xtask image iso`")]
    NoSlot(PathBuf),
    /// More than one slot.
    #[error("{0} has more than one overlay slot")]
    TwoSlots(PathBuf),
    /// The slot's length is not possible.
    #[error("{path}: the overlay slot says that it is {length} bytes long, which does not fit the image")]
    BadSlot {
        /// Which file.
        path: PathBuf,
        /// What it says.
        length: u64,
    },
    /// The overlay is larger than the slot.
    #[error("the overlay has {needed} bytes and the ISO's slot {slot}: build the ISO with a larger slot")]
    OverlayTooLarge {
        /// Of the overlay.
        needed: usize,
        /// Of the slot.
        slot: u64,
    },
}

/// A part of a served ISO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Octets of the file.
    Stored(Range<u64>),
    /// Octets in memory.
    Made(Bytes),
}

impl Iso {
    /// Opens an ISO and looks for its slot. Reads the whole file once.
    ///
    /// # Errors
    /// [`IsoError`] names the file and what is wrong with it.
    pub fn open(path: &Path) -> Result<Self, IsoError> {
        let file = File::open(path).map_err(|source| IsoError::Read { path: path.to_owned(), source })?;
        Self::find(path, file)
    }

    /// `path` is for errors.
    pub(super) fn find(path: &Path, file: File) -> Result<Self, IsoError> {
        let read = |source| IsoError::Read { path: path.to_owned(), source };
        let about = file.metadata().map_err(read)?;
        let len = about.len();
        let mut magic = [0; 5];
        let whole = file.read_exact_at(&mut magic, DESCRIPTOR);
        if whole.is_err() || magic != *b"CD001" {
            return Err(IsoError::NotIso(path.to_owned()));
        }
        let mut slot = None;
        let mut buffer = vec![0; CHUNK];
        let mut offset = 0;
        while offset < len {
            let got = read_some(&file, &mut buffer, offset).map_err(read)?;
            let chunk = buffer.get(..got).unwrap_or_default();
            for (index, sector) in chunk.chunks(SECTOR).enumerate() {
                let Some(length) = slot_length(sector) else { continue };
                let start = offset + (index * SECTOR) as u64;
                let end = start.checked_add(length).filter(|end| *end <= len && length > 40);
                let found = end.ok_or_else(|| IsoError::BadSlot { path: path.to_owned(), length })?;
                if slot.replace(start..found).is_some() {
                    return Err(IsoError::TwoSlots(path.to_owned()));
                }
            }
            if got == 0 {
                break;
            }
            offset += got as u64;
        }
        let slot = slot.ok_or_else(|| IsoError::NoSlot(path.to_owned()))?;
        let mut version = DefaultHasher::new();
        (about.ino(), len, about.mtime(), about.mtime_nsec()).hash(&mut version);
        Ok(Self { file: Arc::new(file), len, slot, version: version.finish() })
    }

    /// The file that [`Part::Stored`] is in.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Octets in all.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Never: an ISO has a slot.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Another number for another ISO.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The whole ISO with `overlay` at the start of its slot and zeros after it.
    ///
    /// # Errors
    /// [`IsoError::OverlayTooLarge`].
    pub fn with_overlay(&self, overlay: Bytes) -> Result<[Part; 4], IsoError> {
        let slot = self.slot.end - self.slot.start;
        let needed = overlay.len();
        let rest = slot.checked_sub(needed as u64).ok_or(IsoError::OverlayTooLarge { needed, slot })?;
        // Only as large as the slot, which the ISO's builder chose.
        let zeros = vec![0; usize::try_from(rest).unwrap_or_default()];
        Ok([
            Part::Stored(0..self.slot.start),
            Part::Made(overlay),
            Part::Made(zeros.into()),
            Part::Stored(self.slot.end..self.len),
        ])
    }
}

fn slot_length(sector: &[u8]) -> Option<u64> {
    sector.strip_prefix(&SLOT_MAGIC)?.first_chunk().map(|length| u64::from_le_bytes(*length))
}

/// Fills the buffer unless the file ends.
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut got = 0;
    while let Some(rest) = buffer.get_mut(got..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

#[cfg(test)]
#[path = "iso_tests.rs"]
mod tests;
