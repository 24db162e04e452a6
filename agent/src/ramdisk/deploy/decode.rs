//! From fetched chunks to bytes of the image: hashes what was fetched, recognises zstd by its magic, feeds the writer.

use std::io::{self, Read};
use std::sync::Arc;

use bessemer_protocol::{Digest, DigestAlgorithm};
use bytes::Bytes;
use ring::digest::{Context, SHA256, SHA512};
use tokio::sync::mpsc;

use super::disk::Target;
use super::write::{DiskWriter, HeldImage, WriteError};
use super::{Chunk, DeployError, disk_error};

/// RFC 8878, section 3.1.1.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Largest zstd window that is accepted, as a power of two: 128 MiB, what `zstd --long=27` makes.
const LARGEST_WINDOW: u32 = 27;

/// How much is decoded at once.
const PIECE: usize = 1 << 20;

/// Why there is no image on the disk.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The source ended early; it knows why, and another one may do.
    Cut,
    /// No other source can help.
    Failed(DeployError),
}

impl From<DeployError> for Stopped {
    fn from(error: DeployError) -> Self {
        Self::Failed(error)
    }
}

/// Runs on its own thread until the chunks end. What it returns is complete, and its digest is the wanted one.
pub(super) fn into_disk(
    chunks: mpsc::Receiver<Chunk>,
    target: &Arc<Target>,
    wanted: &Digest,
) -> Result<HeldImage, Stopped> {
    let name = target.name().to_owned();
    let writing = |error: &dyn std::fmt::Display| disk_error(&name, "write", error);
    let mut writer = DiskWriter::start(Arc::clone(target)).map_err(|error| writing(&error))?;
    let mut source = Hashing::new(chunks, wanted.algorithm);
    let decoded = copy(&mut source, &mut writer);
    if source.cut {
        return Err(Stopped::Cut);
    }
    // An image that cannot be decoded is most likely not the wanted one: its digest says more than the decoder's complaint.
    if let Err(CopyError::Source(_)) = &decoded {
        source.drain();
        if source.cut {
            return Err(Stopped::Cut);
        }
    }
    if let Err(CopyError::Writer(WriteError::Disk(error))) = &decoded {
        return Err(writing(error).into());
    }
    if let Err(CopyError::Writer(WriteError::TooLong { capacity })) = &decoded {
        return Err(DeployError::BadImage(format!("longer than {name}, which has {capacity} bytes")).into());
    }
    let got = hex(source.hash.finish().as_ref());
    if !got.eq_ignore_ascii_case(&wanted.hex) {
        let algorithm = match wanted.algorithm {
            DigestAlgorithm::Md5 => "md5",
            DigestAlgorithm::Sha256 => "sha256",
            DigestAlgorithm::Sha512 => "sha512",
        };
        return Err(DeployError::Digest { algorithm, got, wanted: wanted.hex.clone() }.into());
    }
    if let Err(CopyError::Source(error)) = decoded {
        return Err(DeployError::BadImage(format!("cannot be decoded although its digest is right: {error}")).into());
    }
    Ok(writer.finish().map_err(|error| writing(&error))?)
}

enum CopyError {
    Source(io::Error),
    Writer(WriteError),
}

fn copy(source: &mut Hashing, writer: &mut DiskWriter) -> Result<(), CopyError> {
    let magic = source.peek::<4>().map_err(CopyError::Source)?;
    if magic == ZSTD_MAGIC {
        let mut decoder = zstd::stream::read::Decoder::new(source).map_err(CopyError::Source)?;
        decoder.window_log_max(LARGEST_WINDOW).map_err(CopyError::Source)?;
        let mut piece = vec![0; PIECE];
        loop {
            let length = decoder.read(&mut piece).map_err(CopyError::Source)?;
            if length == 0 {
                return Ok(());
            }
            writer.write(piece.get(..length).unwrap_or_default()).map_err(CopyError::Writer)?;
        }
    }
    while let Some(chunk) = source.chunk().map_err(CopyError::Source)? {
        writer.write(&chunk).map_err(CopyError::Writer)?;
    }
    Ok(())
}

/// The chunks as a reader that hashes all that passes.
struct Hashing {
    chunks: mpsc::Receiver<Chunk>,
    current: Bytes,
    hash: Context,
    cut: bool,
}

impl Hashing {
    fn new(chunks: mpsc::Receiver<Chunk>, algorithm: DigestAlgorithm) -> Self {
        let hash = Context::new(match algorithm {
            DigestAlgorithm::Md5 | DigestAlgorithm::Sha256 => &SHA256,
            DigestAlgorithm::Sha512 => &SHA512,
        });
        Self { chunks, current: Bytes::new(), hash, cut: false }
    }

    /// The next bytes as they came; none at the end.
    fn chunk(&mut self) -> io::Result<Option<Bytes>> {
        if !self.current.is_empty() {
            return Ok(Some(std::mem::take(&mut self.current)));
        }
        match self.chunks.blocking_recv() {
            Some(Ok(chunk)) => {
                self.hash.update(&chunk);
                Ok(Some(chunk))
            }
            None => Ok(None),
            Some(Err(_)) => {
                self.cut = true;
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the source was cut"))
            }
        }
    }

    /// The first bytes, which stay to be read; zeroes beyond the end.
    fn peek<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut start = Vec::new();
        while start.len() < N {
            let Some(chunk) = self.chunk()? else { break };
            start.extend_from_slice(&chunk);
        }
        let mut first = [0; N];
        for (to, from) in first.iter_mut().zip(&start) {
            *to = *from;
        }
        self.current = start.into();
        Ok(first)
    }

    fn drain(&mut self) {
        while let Ok(Some(_)) = self.chunk() {}
    }
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.chunk()? {
                Some(chunk) => self.current = chunk,
                None => return Ok(0),
            }
        }
        let part = self.current.split_to(buffer.len().min(self.current.len()));
        buffer.iter_mut().zip(&part).for_each(|(to, from)| *to = *from);
        Ok(part.len())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
