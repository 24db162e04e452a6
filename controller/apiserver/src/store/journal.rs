//! A journal: commits appended one after the other into blocks that the file already has, so that making one durable
//! is one write and one flush of data, without the file system's own bookkeeping. Knows frames of changes and which of
//! them are whole; what they mean is for [`Log`](super::log::Log).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Disk, File, LOCKED};
use super::record::Record;
use super::{Change, ChangeKind, Key, StoreError};

const TITLE: &[u8; 16] = b"bessemer journal";
const FORMAT: u64 = 1;
/// Frames begin here, after the title and the format.
const START: u64 = 512;
/// Blocks are added this many bytes at a time. Small in tests, so that they come to every turn of a journal's life.
const STEP: u64 = if cfg!(test) { 32 * 1024 } else { 1024 * 1024 };
/// A journal grows to this size.
pub(super) const CAPACITY: u64 = if cfg!(test) { 128 * 1024 } else { 8 * 1024 * 1024 };
const MARK: u32 = 0x4c4a_5342;
#[cfg(test)]
pub(super) const MARK_FOR_TESTS: [u8; 4] = MARK.to_le_bytes();
/// Frames begin at multiples of this.
const ALIGNMENT: usize = 64;
/// Mark, checksum, length, first version.
const HEAD: usize = 4 + 4 + 4 + 8;

/// One open journal.
pub(super) struct Journal {
    file: Arc<dyn File>,
    path: PathBuf,
    /// Where the next frame goes.
    end: u64,
    len: u64,
}

/// What a commit did to one object.
pub(super) type Written = (Key, Option<Arc<Record>>);

/// One commit as read back.
pub(super) struct Frame {
    pub(super) first: u64,
    pub(super) written: Vec<Written>,
}

/// What is in a journal.
#[derive(Default)]
pub(super) struct Contents {
    /// The whole frames from its start, up to the first that is not or does not follow.
    pub(super) frames: Vec<Frame>,
    /// The newest version of a whole frame behind those. One commit is in flight at a time, so that this is left from
    /// before the journal was last begun anew; unless it is newer than all else: then writes before it are damaged.
    pub(super) stray: u64,
}

impl Frame {
    pub(super) fn last(&self) -> u64 {
        self.first + (self.written.len() as u64).saturating_sub(1)
    }
}

impl Journal {
    /// Whether a journal was ever made at `path`.
    pub(super) fn is_made(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
        let file = disk.open(path)?;
        let mut title = [0; TITLE.len()];
        if file.len()? < title.len() as u64 {
            return Ok(false);
        }
        file.read(0, &mut title)?;
        Ok(title.iter().any(|byte| *byte != 0))
    }

    /// Opens or creates a journal, and reads what is in it.
    pub(super) fn open(disk: &dyn Disk, path: &Path) -> Result<(Self, Contents), StoreError> {
        let failed = |source: io::Error| match source.kind() {
            LOCKED => StoreError::InUse { path: path.to_owned() },
            io::ErrorKind::StorageFull => StoreError::NoSpace { path: path.to_owned() },
            _ => StoreError::Journal { path: path.to_owned(), what: source.to_string() },
        };
        let file = disk.open(path).map_err(failed)?;
        let len = file.len().map_err(failed)?;
        let mut bytes = vec![0; usize::try_from(len.min(4 * CAPACITY)).unwrap_or_default()];
        file.read(0, &mut bytes).map_err(failed)?;
        let mut journal = Self { file, path: path.to_owned(), end: START, len };
        let title = bytes.get(..TITLE.len()).unwrap_or_default();
        let contents = if title.iter().all(|byte| *byte == 0) {
            // New, or its making was cut short before anything could be in it.
            journal.create().map_err(failed)?;
            Contents::default()
        } else if title != TITLE {
            return Err(journal.damaged("it is no journal of this program"));
        } else {
            let format = number(&bytes, TITLE.len());
            if format > FORMAT {
                return Err(StoreError::NewerFormat { path: path.to_owned(), found: format, known: FORMAT });
            }
            Self::contents(&bytes)
        };
        Ok((journal, contents))
    }

    fn create(&mut self) -> io::Result<()> {
        self.grow(STEP)?;
        self.file.write(TITLE.len() as u64, &FORMAT.to_le_bytes())?;
        self.file.sync()?;
        // Last, so that a file with a title is a whole one.
        self.file.write(0, TITLE)?;
        self.file.sync()
    }

    /// Writes blocks of zeros up to `len`; holes would have to be filled at each commit.
    fn grow(&mut self, len: u64) -> io::Result<()> {
        let zeros = vec![0; usize::try_from(len.saturating_sub(self.len)).unwrap_or_default()];
        self.file.write(self.len, &zeros)?;
        self.file.sync()?;
        self.len = len.max(self.len);
        Ok(())
    }

    fn contents(bytes: &[u8]) -> Contents {
        let mut frames: Vec<Frame> = Vec::new();
        let mut at = usize::try_from(START).unwrap_or_default();
        while let Some((frame, size)) = decode(bytes.get(at..).unwrap_or_default()) {
            // What follows is left from before the journal was last begun anew.
            if frames.last().is_some_and(|before| before.last() + 1 != frame.first) {
                break;
            }
            frames.push(frame);
            at += size;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let marked = rest.chunks(ALIGNMENT).enumerate().filter(|(_, chunk)| chunk.starts_with(&MARK.to_le_bytes()));
        let stray = marked.filter_map(|(chunk, _)| decode(rest.get(chunk * ALIGNMENT..)?));
        let stray = stray.map(|(frame, _)| frame.first).max().unwrap_or_default();
        Contents { frames, stray }
    }

    /// The error of a journal that cannot be used.
    pub(super) fn damaged(&self, what: &str) -> StoreError {
        StoreError::Journal { path: self.path.clone(), what: what.to_owned() }
    }

    /// Whether a frame of this size can be appended, at most by growing.
    pub(super) fn has_room(&self, size: usize) -> bool {
        self.end + size as u64 <= CAPACITY
    }

    /// Appends a frame; on return it is durable. After an error of another kind than [`StoreError::Broken`] nothing of
    /// it counts, and the journal can be used on.
    pub(super) fn append(&mut self, frame: &[u8]) -> Result<(), StoreError> {
        let end = self.end + frame.len() as u64;
        if end > self.len {
            self.grow(end.div_ceil(STEP) * STEP).map_err(|source| self.failed(source))?;
        }
        self.file.write(self.end, frame).map_err(|source| self.failed(source))?;
        self.file.sync().map_err(|error| {
            StoreError::Broken(format!("cannot flush {} to the disk: {error}", self.path.display()))
        })?;
        self.end = end;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> StoreError {
        let path = self.path.clone();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::NoSpace { path },
            _ => StoreError::Commit { path, source },
        }
    }

    /// Begins anew: the frames in it are no longer needed, and will be overwritten.
    pub(super) fn restart(&mut self) {
        self.end = START;
    }
}

/// A commit as a frame.
pub(super) fn encode(changes: &[Arc<Change>]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(4096);
    frame.extend(MARK.to_le_bytes());
    frame.extend([0; HEAD - 4]);
    for change in changes {
        let key = change.key.encode();
        let record = if change.kind == ChangeKind::Deleted { &[] } else { change.record.bytes() };
        frame.extend(u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes());
        frame.extend(key.as_bytes());
        frame.extend(u32::try_from(record.len()).unwrap_or(u32::MAX).to_le_bytes());
        frame.extend(record);
    }
    let first = changes.first().map_or(0, |change| change.version);
    let len = u32::try_from(frame.len() - HEAD).unwrap_or(u32::MAX);
    set(&mut frame, 8, &len.to_le_bytes());
    set(&mut frame, 12, &first.to_le_bytes());
    let checksum = crc32fast::hash(frame.get(8..).unwrap_or_default());
    set(&mut frame, 4, &checksum.to_le_bytes());
    frame.resize(frame.len().next_multiple_of(ALIGNMENT), 0);
    frame
}

/// The frame at the start of `bytes` with its size, if there is a whole one.
fn decode(bytes: &[u8]) -> Option<(Frame, usize)> {
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    if word(0)? != MARK {
        return None;
    }
    let size = HEAD.checked_add(word(8)? as usize)?;
    let covered = bytes.get(8..size)?;
    if crc32fast::hash(covered) != word(4)? {
        return None;
    }
    let first = number(bytes, 12);
    let mut body = bytes.get(HEAD..size)?;
    let mut written = Vec::new();
    while !body.is_empty() {
        let key = Key::decode(std::str::from_utf8(part(&mut body)?).ok()?)?;
        let record = part(&mut body)?;
        written.push((key, if record.is_empty() { None } else { Some(Arc::new(Record::read(record)?)) }));
    }
    Some((Frame { first, written }, size.next_multiple_of(ALIGNMENT)))
}

/// Takes a length and as many bytes off `body`.
fn part<'a>(body: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = body.split_first_chunk()?;
    let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    *body = rest;
    Some(part)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default())
}

fn set(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}
