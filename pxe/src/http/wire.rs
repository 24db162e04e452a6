//! Octets to and from a client: pieces of memory in one system call for many, files by `sendfile` without a copy.

use std::collections::VecDeque;
use std::fs::File;
use std::future::Future;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::content::Piece;

/// Pieces in one system call.
const MOST_SLICES: usize = 16;
/// Of a file in one system call: a worker is not kept from the other connections for longer.
const CHUNK: u64 = 2 * 1024 * 1024;

/// A `sendfile` that was short for another reason than a full socket (a signal) is followed by no event.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

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

/// Until the socket is full, which a short `sendfile` says: asking it once more would cost the kernel as much as sending.
/// Such an answer counts as "would block" while it is still known how ready the socket was before, so that room that is
/// made in the meantime is never forgotten.
async fn send_file(
    stream: &TcpStream,
    file: &File,
    part: Range<u64>,
    stall: Duration,
    sent: &mut u64,
) -> io::Result<()> {
    let (mut offset, mut moved, mut must_be_ready) = (part.start, Instant::now(), true);
    while offset < part.end {
        let before = offset;
        let count = usize::try_from((part.end - offset).min(CHUNK)).unwrap_or(usize::MAX);
        let mut send = || match rustix::fs::sendfile(stream.as_fd(), file.as_fd(), Some(&mut offset), count)? {
            // Cut while it is sent: the client must see a short answer, never a whole one with other octets.
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was sent")),
            written if written < count => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        };
        let done = if must_be_ready { stream.try_io(Interest::WRITABLE, send) } else { send() };
        *sent += offset - before;
        match done {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ if offset > before => moved = Instant::now(),
            _ if moved.elapsed() >= stall => return Err(io::ErrorKind::TimedOut.into()),
            _ => {}
        }
        must_be_ready = match done {
            Err(_) if offset < part.end => timeout(LOOK_AGAIN.min(stall), stream.writable()).await.is_ok(),
            // Others of this thread have a turn.
            _ => {
                tokio::task::consume_budget().await;
                true
            }
        };
    }
    Ok(())
}

pub(super) async fn in_time<T>(stall: Duration, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match timeout(stall, step).await {
        Ok(done) => done,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::sync::Arc;

    use super::*;

    /// The clients make room while the server still believes that there is none, thousands of times: the event of it
    /// comes once, on another thread.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn room_made_while_a_file_is_sent_is_not_forgotten() {
        const LEN: u64 = 64 << 20;
        let file = Arc::new(tempfile::tempfile().unwrap());
        file.set_len(LEN).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut both = Vec::new();
        for _ in 0..8 {
            let reader = std::thread::spawn(move || {
                let mut stream = std::net::TcpStream::connect(address).unwrap();
                let (mut buffer, mut all) = (vec![0; 1 << 20], 0);
                loop {
                    match stream.read(&mut buffer).unwrap() {
                        0 => return all,
                        more => all += more as u64,
                    }
                }
            });
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            socket2::SockRef::from(&stream).set_send_buffer_size(128 * 1024).unwrap();
            let file = file.clone();
            let sending = tokio::spawn(async move {
                let mut sent = 0;
                (send_file(&stream, &file, 0..LEN, Duration::from_secs(5), &mut sent).await, sent)
            });
            both.push((sending, reader));
        }
        for (sending, reader) in both {
            let (done, sent) = sending.await.unwrap();
            assert!(done.is_ok(), "{done:?} after {sent} octets");
            assert_eq!((sent, reader.join().unwrap()), (LEN, LEN));
        }
    }
}
