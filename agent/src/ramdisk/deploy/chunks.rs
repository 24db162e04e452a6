//! What is fetched, on its way from the network to a decoder's thread: bounded, in order, and never taken for complete when it was cut.

use std::io::{self, BufRead, Read};

use bytes::{Buf, Bytes};
use tokio::sync::mpsc;

/// Chunks that may wait: some megabytes, as the network gives them in pieces of up to some hundred KiB.
const WAITING: usize = 64;

/// Sent in place of a chunk when the source failed, so that nobody takes a cut for the end.
#[derive(Debug)]
pub(super) struct Cut;

/// Where chunks go: every one to the hash and to the decoder.
#[derive(Debug)]
pub(super) struct Sinks {
    decoder: mpsc::Sender<Result<Bytes, Cut>>,
    hash: mpsc::Sender<Bytes>,
}

/// The decoder stopped; it knows why.
#[derive(Debug)]
pub(super) struct NobodyReads;

impl Sinks {
    /// Both ends of both ways.
    pub(super) fn new() -> (Self, Chunks, mpsc::Receiver<Bytes>) {
        let (decoder, to_decode) = mpsc::channel(WAITING);
        let (hash, to_hash) = mpsc::channel(WAITING);
        (Self { decoder, hash }, Chunks { from: to_decode, current: Bytes::new(), cut: false, position: 0 }, to_hash)
    }

    /// Waits until both have room.
    pub(super) async fn send(&self, chunk: Bytes) -> Result<(), NobodyReads> {
        self.hash.send(chunk.clone()).await.map_err(|_| NobodyReads)?;
        self.decoder.send(Ok(chunk)).await.map_err(|_| NobodyReads)
    }

    /// Says that what came is not all.
    pub(super) async fn cut(self) {
        let _ = self.decoder.send(Err(Cut)).await;
    }
}

/// The chunks as a reader. Reading blocks: for threads only.
#[derive(Debug)]
pub(super) struct Chunks {
    from: mpsc::Receiver<Result<Bytes, Cut>>,
    current: Bytes,
    cut: bool,
    position: u64,
}

impl Chunks {
    /// Whether the source was cut. Then whatever else is wrong follows from that.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Bytes taken so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Takes the rest, so that the hash gets to see it.
    pub(super) fn drain(&mut self) {
        while let Ok(rest) = self.fill_buf() {
            let length = rest.len();
            if length == 0 {
                return;
            }
            self.consume(length);
        }
    }
}

impl BufRead for Chunks {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.current.is_empty() && !self.cut {
            match self.from.blocking_recv() {
                Some(Ok(chunk)) => self.current = chunk,
                Some(Err(Cut)) => self.cut = true,
                None => break,
            }
        }
        if self.cut {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the source was cut"))
        } else {
            Ok(&self.current)
        }
    }

    fn consume(&mut self, amount: usize) {
        let amount = amount.min(self.current.len());
        self.current.advance(amount);
        self.position += amount as u64;
    }
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let from = self.fill_buf()?;
        let length = from.len().min(buffer.len());
        buffer.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        self.consume(length);
        Ok(length)
    }
}
