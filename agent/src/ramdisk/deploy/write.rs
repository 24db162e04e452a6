//! Writing with large aligned writes on a thread of its own, so that decoding and the disk work at the same time.
//!
//! The first MiB of the disk stays in memory until the image has proved right, and what would come into its last MiB is dropped: there
//! the new partition table goes. Zeroes are not sent where the disk can make them itself.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::disk::{ALIGNMENT, Target};
use super::error::DeployError;
use super::region::EDGE;

/// Bytes of one write.
const BUFFER: usize = 4 << 20;

/// Buffers in flight. With the one that is being filled this is all the memory that writing takes, whatever the image's size.
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
    /// By the [`Gate`].
    #[error(transparent)]
    Refused(#[from] DeployError),
}

/// Looks at the first MiB of the image before anything is written.
pub(super) type Gate = Box<dyn FnOnce(&[u8]) -> Result<(), DeployError> + Send>;

/// An image of which everything is on the disk but its first MiB.
#[derive(Debug)]
pub(super) struct HeldImage {
    /// Bytes of the whole image.
    pub(super) length: u64,
    /// The first MiB of the disk-to-be.
    pub(super) head: Vec<u8>,
}

/// Memory for direct writes.
#[derive(Debug)]
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

    fn room(&mut self) -> &mut [u8] {
        self.memory.get_mut(self.start + self.length..self.start + BUFFER).unwrap_or_default()
    }
}

/// What the disk's thread is asked for.
#[derive(Debug)]
enum Order {
    Write(u64, Buffer),
    Zero(u64, u64),
}

/// Takes an image and writes it behind the caller's back.
pub(super) struct DiskWriter {
    capacity: u64,
    position: u64,
    length: u64,
    head: Vec<u8>,
    gate: Option<Gate>,
    filling: Buffer,
    filling_at: u64,
    orders: Option<SyncSender<Order>>,
    empty: Receiver<Buffer>,
    thread: Option<JoinHandle<io::Result<()>>>,
    beyond: [u8; 1],
}

impl DiskWriter {
    /// Starts the writing thread. `gate` is asked when the first MiB is complete, before anything is on the disk.
    pub(super) fn start(target: Arc<Target>, gate: Gate) -> io::Result<Self> {
        let (orders, to_do) = sync_channel::<Order>(IN_FLIGHT);
        let (written, empty) = sync_channel(IN_FLIGHT + 1);
        for _ in 0..IN_FLIGHT {
            let _ = written.try_send(Buffer::new());
        }
        let capacity = target.size();
        let thread = std::thread::Builder::new().name("disk".into()).spawn(move || {
            let mut may_punch = true;
            for order in to_do {
                match order {
                    Order::Write(offset, mut buffer) => {
                        write_sparse(&target, buffer.filled(), offset, &mut may_punch)?;
                        buffer.length = 0;
                        let _ = written.try_send(buffer);
                    }
                    Order::Zero(offset, length) => zero(&target, offset, length, &mut may_punch)?,
                }
            }
            Ok(())
        })?;
        Ok(Self {
            capacity,
            position: 0,
            length: 0,
            head: vec![0; usize::try_from(EDGE).unwrap_or_default()],
            gate: Some(gate),
            filling: Buffer::new(),
            filling_at: EDGE,
            orders: Some(orders),
            empty,
            thread: Some(thread),
            beyond: [0],
        })
    }

    /// Where the next bytes go; never empty. [`DiskWriter::advance`] says how many there are.
    pub(super) fn room(&mut self) -> &mut [u8] {
        let left = usize::try_from(self.capacity - self.position).unwrap_or(usize::MAX);
        if left == 0 {
            return &mut self.beyond;
        }
        let room = match usize::try_from(self.position) {
            Ok(position) if self.position < EDGE => self.head.get_mut(position..).unwrap_or_default(),
            _ => self.filling.room(),
        };
        let room_length = room.len().min(left);
        room.get_mut(..room_length).unwrap_or_default()
    }

    /// The first `amount` bytes of [`DiskWriter::room`] are the next ones of the image.
    pub(super) fn advance(&mut self, amount: usize) -> Result<(), WriteError> {
        if amount as u64 > self.capacity - self.position {
            return Err(WriteError::TooLong { capacity: self.capacity });
        }
        let in_head = self.position < EDGE;
        self.position += amount as u64;
        self.length = self.length.max(self.position);
        if in_head {
            if self.position == EDGE {
                self.pass_gate()?;
                self.filling_at = EDGE;
            }
            return Ok(());
        }
        self.filling.length += amount;
        if self.filling.length == BUFFER {
            self.turn_over()?;
        }
        Ok(())
    }

    /// Takes the next bytes of the image.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), WriteError> {
        while !bytes.is_empty() {
            let room = self.room();
            let (taken, rest) = bytes.split_at(bytes.len().min(room.len()));
            if let Some(room) = room.get_mut(..taken.len()) {
                room.copy_from_slice(taken);
            }
            self.advance(taken.len())?;
            bytes = rest;
        }
        Ok(())
    }

    /// The next bytes come at `offset`.
    pub(super) fn seek(&mut self, offset: u64) -> Result<(), WriteError> {
        if offset > self.capacity {
            return Err(WriteError::TooLong { capacity: self.capacity });
        }
        if offset != self.position {
            self.turn_over()?;
            self.position = offset;
            self.filling_at = offset.max(EDGE);
        }
        Ok(())
    }

    /// Makes a range read as zeroes, wherever the next bytes come.
    pub(super) fn zero(&mut self, offset: u64, length: u64) -> Result<(), WriteError> {
        let (start, end) = (offset.max(EDGE), (offset + length).min(self.capacity - EDGE));
        self.length = self.length.max(offset + length);
        if start < end { self.order(Order::Zero(start, end - start)) } else { Ok(()) }
    }

    /// Asks the gate now, as the start of the image is known already.
    pub(super) fn pass_gate_with(&mut self, head: &[u8]) -> Result<(), WriteError> {
        match self.gate.take() {
            Some(gate) => Ok(gate(head)?),
            None => Ok(()),
        }
    }

    fn pass_gate(&mut self) -> Result<(), WriteError> {
        match self.gate.take() {
            Some(gate) => Ok(gate(&self.head)?),
            None => Ok(()),
        }
    }

    fn turn_over(&mut self) -> Result<(), WriteError> {
        if self.filling.length == 0 {
            return Ok(());
        }
        let Ok(next) = self.empty.recv() else { return Err(self.reason().into()) };
        let mut full = std::mem::replace(&mut self.filling, next);
        let offset = self.filling_at;
        self.filling_at += full.length as u64;
        let before_edge = (self.capacity - EDGE).saturating_sub(offset);
        full.length = full.length.min(usize::try_from(before_edge).unwrap_or(usize::MAX));
        self.order(Order::Write(offset, full))
    }

    fn order(&mut self, order: Order) -> Result<(), WriteError> {
        match self.orders.as_ref().map(|orders| orders.send(order)) {
            Some(Ok(())) => Ok(()),
            _ => Err(self.reason().into()),
        }
    }

    /// Why the thread ended.
    fn reason(&mut self) -> io::Error {
        self.orders = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => error,
            _ => io::Error::other("the disk's thread ended"),
        }
    }

    /// Waits for the disk and gives out what was held back.
    pub(super) fn finish(mut self) -> Result<HeldImage, WriteError> {
        self.pass_gate()?;
        self.turn_over()?;
        self.orders = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result?,
            _ => return Err(io::Error::other("the disk's thread ended").into()),
        }
        Ok(HeldImage { length: self.length, head: std::mem::take(&mut self.head) })
    }
}

impl Drop for DiskWriter {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs of zeroes are made by the disk, everything else is sent in as few writes as there are runs.
fn write_sparse(target: &Target, bytes: &[u8], offset: u64, may_punch: &mut bool) -> io::Result<()> {
    let mut blocks = bytes.chunks(BLOCK).peekable();
    let mut start = 0;
    while let Some(first) = blocks.next() {
        let is_hole = *may_punch && is_zero(first);
        let mut length = first.len();
        while let Some(next) = blocks.next_if(|block| (*may_punch && is_zero(block)) == is_hole) {
            length += next.len();
        }
        let at = offset + start as u64;
        if is_hole {
            zero(target, at, length as u64, may_punch)?;
        } else {
            target.write(bytes.get(start..start + length).unwrap_or_default(), at)?;
        }
        start += length;
    }
    Ok(())
}

/// The disk makes the whole sectors of the range; what it cannot make is sent.
fn zero(target: &Target, offset: u64, length: u64, may_punch: &mut bool) -> io::Result<()> {
    let (unit, end) = (ALIGNMENT as u64, offset + length);
    let (first, last) = (offset.next_multiple_of(unit), end / unit * unit);
    if *may_punch && first < last {
        *may_punch = target.punch(first, last - first)?;
        if *may_punch {
            send_zeroes(target, offset, first)?;
            return send_zeroes(target, last, end);
        }
    }
    send_zeroes(target, offset, end)
}

fn send_zeroes(target: &Target, mut from: u64, to: u64) -> io::Result<()> {
    let mut zeroes = None;
    while from < to {
        let zeroes = zeroes.get_or_insert_with(|| {
            let mut buffer = Buffer::new();
            buffer.length = if to - from < BUFFER as u64 { BLOCK } else { BUFFER };
            buffer
        });
        let piece = usize::try_from(to - from).unwrap_or(usize::MAX).min(zeroes.length);
        target.write(zeroes.filled().get(..piece).unwrap_or_default(), from)?;
        from += piece as u64;
    }
    Ok(())
}

fn is_zero(block: &[u8]) -> bool {
    ZEROES.get(..block.len()) == Some(block)
}
