//! Decoding of compressed clusters on several threads, in the order in which they came.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bessemer_image_formats::qcow2::{ClusterDecoder, Compression, Qcow2Error};

use super::decode::CopyError;
use super::write::DiskWriter;

/// Most threads; more than this no disk keeps up with.
const MOST_WORKERS: usize = 8;

/// Clusters that may wait for each thread.
const DEPTH: usize = 4;

/// Bytes of clusters that may be in hand in all, decoded: of the largest ones few threads are enough, and memory is not.
const IN_HAND: usize = 16 << 20;

/// A decoded cluster, or why it is none.
type Decoded = Result<Vec<u8>, Qcow2Error>;

struct Worker {
    stored: SyncSender<Vec<u8>>,
    decoded: Receiver<Decoded>,
}

/// The threads and what they have in hand. They end when this is dropped.
pub(super) struct Pool {
    workers: Vec<Worker>,
    /// Places on the guest's disk, the oldest first.
    waiting: VecDeque<u64>,
    /// How many of them at most.
    most: usize,
    next_in: usize,
    next_out: usize,
    size: u64,
}

impl Pool {
    /// `size` is that of the guest's disk, which may end in the middle of a cluster.
    pub(super) fn start(compression: Compression, cluster: usize, size: u64) -> Result<Self, String> {
        let some = (IN_HAND / cluster.max(1)).max(1);
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_WORKERS).min(some);
        let worker = |_| {
            let (stored, to_decode) = sync_channel::<Vec<u8>>(DEPTH);
            let (done, decoded) = sync_channel::<Decoded>(DEPTH);
            let mut decoder = ClusterDecoder::new(compression).map_err(|error| error.to_string())?;
            let work = move || {
                for stored in to_decode {
                    let mut bytes = vec![0; cluster];
                    let result = decoder.decode(&stored, &mut bytes).map(|()| bytes);
                    if done.send(result).is_err() {
                        return;
                    }
                }
            };
            std::thread::Builder::new().name("cluster".into()).spawn(work).map_err(|error| error.to_string())?;
            Ok(Worker { stored, decoded })
        };
        let workers = (0..count).map(worker).collect::<Result<_, String>>()?;
        Ok(Self { workers, waiting: VecDeque::new(), most: some.min(count * DEPTH), next_in: 0, next_out: 0, size })
    }

    /// Takes a compressed cluster; writes the oldest one when all threads have enough.
    pub(super) fn decode(&mut self, guest: u64, stored: Vec<u8>, writer: &mut DiskWriter) -> Result<(), CopyError> {
        if self.waiting.len() >= self.most {
            self.write_oldest(writer)?;
        }
        let sent = self.workers.get(self.next_in).map(|worker| worker.stored.send(stored));
        if !matches!(sent, Some(Ok(()))) {
            return Err(CopyError::Source("a decoding thread ended".to_owned()));
        }
        self.next_in = (self.next_in + 1) % self.workers.len();
        self.waiting.push_back(guest);
        Ok(())
    }

    fn write_oldest(&mut self, writer: &mut DiskWriter) -> Result<(), CopyError> {
        let Some(guest) = self.waiting.pop_front() else { return Ok(()) };
        let decoded = self.workers.get(self.next_out).map(|worker| worker.decoded.recv());
        self.next_out = (self.next_out + 1) % self.workers.len();
        let Some(Ok(decoded)) = decoded else {
            return Err(CopyError::Source("a decoding thread ended".to_owned()));
        };
        let bytes = decoded.map_err(|error| CopyError::Source(error.to_string()))?;
        let length = usize::try_from(self.size - guest).unwrap_or(usize::MAX).min(bytes.len());
        writer.seek(guest)?;
        Ok(writer.write(bytes.get(..length).unwrap_or_default())?)
    }

    /// Writes what is still in hand.
    pub(super) fn finish(mut self, writer: &mut DiskWriter) -> Result<(), CopyError> {
        while !self.waiting.is_empty() {
            self.write_oldest(writer)?;
        }
        Ok(())
    }
}
