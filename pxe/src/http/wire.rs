//! Octets to and from a client: pieces of memory in one system call for many, files by `sendfile` without a copy.

use std::collections::VecDeque;
use std::fs::File;
use std::future::Future;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::AsFd;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::content::Piece;

/// Pieces in one system call.
const MOST_SLICES: usize = 16;
/// Of a file in one system call: a worker is not kept from the other connections for longer.
const CHUNK: u64 = 2 * 1024 * 1024;

/// After a short `sendfile`.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A connection.
pub(super) trait Wire: Send {
    /// Appends what comes next to `buffer`; zero at the end.
    fn read(&mut self, buffer: &mut Vec<u8>) -> impl Future<Output = io::Result<usize>> + Send;

    /// Sends all pieces, counting the octets sent; an error if nothing moves for `stall`.
    fn write(
        &mut self,
        pieces: VecDeque<Piece>,
        stall: Duration,
        sent: &mut u64,
    ) -> impl Future<Output = io::Result<()>> + Send;

    /// Says that nothing follows.
    fn finish(&mut self) -> impl Future<Output = ()> + Send;
}

impl Wire for TcpStream {
    async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        self.read_buf(buffer).await
    }

    async fn write(&mut self, mut pieces: VecDeque<Piece>, stall: Duration, sent: &mut u64) -> io::Result<()> {
        let mut memory = VecDeque::new();
        loop {
            while let Some(Piece::Made(_)) = pieces.front() {
                if let Some(Piece::Made(octets)) = pieces.pop_front() {
                    memory.push_back(octets);
                }
            }
            // A head goes out with the first octets of the file behind it.
            let more = !pieces.is_empty();
            write_memory(self, &mut memory, more, stall, sent).await?;
            match pieces.pop_front() {
                Some(Piece::Stored(file, part)) => send_file(self, &file, part, stall, sent).await?,
                Some(Piece::Made(octets)) => memory.push_back(octets),
                None => return Ok(()),
            }
        }
    }

    async fn finish(&mut self) {
        // The client may be gone already.
        let _ = self.shutdown().await;
    }
}

async fn write_memory(
    stream: &mut TcpStream,
    memory: &mut VecDeque<Bytes>,
    more: bool,
    stall: Duration,
    sent: &mut u64,
) -> io::Result<()> {
    loop {
        memory.retain(|octets| !octets.is_empty());
        let written = match memory.front() {
            None => return Ok(()),
            Some(only) if more && memory.len() == 1 => {
                let send = || rustix::net::send(&*stream, only, rustix::net::SendFlags::MORE | NO_SIGNAL);
                in_time(stall, stream.async_io(Interest::WRITABLE, || Ok(send()?))).await?
            }
            Some(_) => {
                let slices: Vec<_> = memory.iter().take(MOST_SLICES).map(|octets| IoSlice::new(octets)).collect();
                in_time(stall, stream.write_vectored(&slices)).await?
            }
        };
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        *sent += written as u64;
        let mut left = written;
        for octets in memory.iter_mut() {
            let of_this = left.min(octets.len());
            octets.advance(of_this);
            left -= of_this;
        }
    }
}

const NO_SIGNAL: rustix::net::SendFlags = rustix::net::SendFlags::NOSIGNAL;

async fn send_file(
    stream: &TcpStream,
    file: &File,
    part: Range<u64>,
    stall: Duration,
    sent: &mut u64,
) -> io::Result<()> {
    let mut offset = part.start;
    while offset < part.end {
        let count = usize::try_from((part.end - offset).min(CHUNK)).unwrap_or(usize::MAX);
        let mut send = || Ok(rustix::fs::sendfile(stream.as_fd(), file.as_fd(), Some(&mut offset), count)?);
        let written = in_time(stall, stream.async_io(Interest::WRITABLE, &mut send)).await?;
        if written == 0 {
            // Cut while it is sent: the client must see a short answer, never a whole one with other octets.
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was sent"));
        }
        *sent += written as u64;
        if written < count {
            wait_for_room(stream).await;
        }
    }
    Ok(())
}

/// The socket is full, and asking it for that once more would cost the kernel as much as sending. Should it have been
/// short for another reason (a signal), no event tells of room, hence the time.
async fn wait_for_room(stream: &TcpStream) {
    let full = || Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock));
    if stream.try_io(Interest::WRITABLE, full).is_err() {
        let _ = timeout(LOOK_AGAIN, stream.writable()).await;
    }
}

pub(super) async fn in_time<T>(stall: Duration, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match timeout(stall, step).await {
        Ok(done) => done,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
