//! Sequential writing with large aligned writes on a thread of its own, so that decoding and the disk work at the same time.
//!
//! The first MiB and the last buffers stay in memory until the image has proved right: they hold both partition tables when the image
//! is as long as the disk. Zeroes are not sent where the disk can make them itself.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::disk::{ALIGNMENT, Target};
use super::region::EDGE;

/// Bytes of one write.
const BUFFER: usize = 4 << 20;

/// Buffers in flight. With the two that are held back this is all the memory that a deploy takes, whatever the image's size.
const IN_FLIGHT: usize = 2;

/// Granularity of looking for zeroes.
const BLOCK: usize = 64 << 10;

static ZEROES: [u8; BLOCK] = [0; BLOCK];

/// Why the disk did not take the image.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// From the kernel.
    #[error(transparent)]
    Disk(#[from] io::Error),
    /// More bytes than the disk has.
    #[error("longer than the disk's {capacity} bytes")]
    TooLong {
        /// In bytes.
        capacity: u64,
    },
}

/// An image of which everything is on the disk but its two ends.
#[derive(Debug)]
pub(super) struct HeldImage {
    /// Bytes of the whole image.
    pub(super) length: u64,
    /// The first MiB of the disk-to-be.
    pub(super) head: Vec<u8>,
    /// What comes at the end, with its offsets.
    tail: Vec<(u64, Buffer)>,
}

impl HeldImage {
    /// Writes the end of the image, aligned with zeroes. The head is the caller's to write, last of all.
    pub(super) fn write_tail(&mut self, target: &Target) -> io::Result<()> {
        for (offset, mut buffer) in std::mem::take(&mut self.tail) {
            let sector = usize::try_from(target.sector()).unwrap_or(ALIGNMENT);
            buffer.length = buffer.length.next_multiple_of(sector);
            write_buffer(target, &buffer, offset, &mut true)?;
        }
        Ok(())
    }
}

/// Memory for direct writes; the default has none.
#[derive(Debug, Default)]
struct Buffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    fn new() -> Self {
        let memory = vec![0; BUFFER + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { memory, start, length: 0 }
    }

    fn filled(&self) -> &[u8] {
        self.memory.get(self.start..self.start + self.length).unwrap_or_default()
    }

    /// Takes what fits and returns the rest.
    fn take<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(bytes.len().min(BUFFER - self.length));
        if let Some(room) = self.memory.get_mut(self.start + self.length..self.start + self.length + taken.len()) {
            room.copy_from_slice(taken);
            self.length += taken.len();
        }
        rest
    }

    /// The bytes after the filled part are zero again, as padding relies on it.
    fn clear(&mut self) {
        if let Some(filled) = self.memory.get_mut(self.start..self.start + self.length) {
            filled.fill(0);
        }
        self.length = 0;
    }
}

/// Takes an image in order and writes it behind the caller's back.
#[derive(Debug)]
pub(super) struct DiskWriter {
    capacity: u64,
    position: u64,
    head: Vec<u8>,
    filling: Buffer,
    held: Option<(u64, Buffer)>,
    full: Option<SyncSender<(u64, Buffer)>>,
    empty: Receiver<Buffer>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl DiskWriter {
    /// Starts the writing thread.
    pub(super) fn start(target: Arc<Target>) -> io::Result<Self> {
        let (full, to_write) = sync_channel::<(u64, Buffer)>(IN_FLIGHT);
        let (written, empty) = sync_channel(IN_FLIGHT + 2);
        for _ in 0..IN_FLIGHT {
            let _ = written.try_send(Buffer::new());
        }
        let capacity = target.size();
        let thread = std::thread::Builder::new().name("disk".into()).spawn(move || {
            let mut may_punch = true;
            for (offset, mut buffer) in to_write {
                write_buffer(&target, &buffer, offset, &mut may_punch)?;
                buffer.clear();
                let _ = written.try_send(buffer);
            }
            Ok(())
        })?;
        Ok(Self {
            capacity,
            position: 0,
            head: Vec::new(),
            filling: Buffer::new(),
            held: None,
            full: Some(full),
            empty,
            thread: Some(thread),
        })
    }

    /// Takes the next bytes of the image.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        if bytes.len() as u64 > self.capacity - self.position {
            return Err(WriteError::TooLong { capacity: self.capacity });
        }
        self.position += bytes.len() as u64;
        let edge = usize::try_from(EDGE).unwrap_or_default();
        let (head, mut rest) = bytes.split_at(bytes.len().min(edge - self.head.len()));
        self.head.extend_from_slice(head);
        while !rest.is_empty() {
            rest = self.filling.take(rest);
            if self.filling.length == BUFFER {
                self.turn_over(rest.len() as u64)?;
            }
        }
        Ok(())
    }

    /// The full buffer is held back, the one that was held goes to the disk.
    fn turn_over(&mut self, not_taken: u64) -> io::Result<()> {
        let offset = self.position - not_taken - BUFFER as u64;
        let Ok(next) = self.empty.recv() else { return Err(self.reason()) };
        let full = std::mem::replace(&mut self.filling, next);
        if let Some(held) = self.held.replace((offset, full)) {
            let sent = self.full.as_ref().map(|disk| disk.send(held));
            if !matches!(sent, Some(Ok(()))) {
                return Err(self.reason());
            }
        }
        Ok(())
    }

    /// Why the thread ended.
    fn reason(&mut self) -> io::Error {
        self.full = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => error,
            _ => io::Error::other("the disk's thread ended"),
        }
    }

    /// Waits for the disk and gives out what was held back.
    pub(super) fn finish(mut self) -> io::Result<HeldImage> {
        self.full = None;
        if let Some(thread) = self.thread.take() {
            thread.join().map_err(|_| io::Error::other("the disk's thread ended"))??;
        }
        let mut tail: Vec<(u64, Buffer)> = self.held.take().into_iter().collect();
        let filling = std::mem::take(&mut self.filling);
        if filling.length > 0 {
            tail.push((self.position - filling.length as u64, filling));
        }
        Ok(HeldImage { length: self.position, head: std::mem::take(&mut self.head), tail })
    }
}

/// After a failure, too, nothing is written once the writer is gone: the disk is about to be scrubbed.
impl Drop for DiskWriter {
    fn drop(&mut self) {
        self.full = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs of zeroes are made by the disk, everything else is sent in as few writes as there are runs.
fn write_buffer(target: &Target, buffer: &Buffer, offset: u64, may_punch: &mut bool) -> io::Result<()> {
    let bytes = buffer.filled();
    let mut blocks = bytes.chunks(BLOCK).peekable();
    let mut start = 0;
    while let Some(first) = blocks.next() {
        let zero = is_zero(first);
        let mut length = first.len();
        while let Some(next) = blocks.next_if(|block| is_zero(block) == zero) {
            length += next.len();
        }
        let at = offset + start as u64;
        let made = zero && *may_punch && target.punch(at, length as u64)?;
        if zero && !made {
            *may_punch = false;
        }
        if !made {
            target.write_direct(bytes.get(start..start + length).unwrap_or_default(), at)?;
        }
        start += length;
    }
    Ok(())
}

fn is_zero(block: &[u8]) -> bool {
    ZEROES.get(..block.len()) == Some(block)
}
