//! Streams in disk order: raw bytes, or what gzip, xz and zstd make of them.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use bessemer_image_formats::compression::Decoder;
use bessemer_image_formats::detect::Kind;

use super::chunks::Chunks;
use super::disk::Target;
use super::error::DeployError;
use super::write::{DiskWriter, Gate, HeldImage, WriteError};

/// Why there is no image on the disk.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The source ended early; it knows why.
    Cut,
    /// The bytes make no image. All of them were taken, so that their digest can tell whether they are the wanted ones.
    Undecodable(DeployError),
    /// Nothing more is of interest.
    Failed(DeployError),
}

/// Runs on a thread of its own until the chunks end.
pub(super) fn into_disk(
    mut chunks: Chunks,
    kind: Kind,
    target: &Arc<Target>,
    gate: Gate,
) -> Result<HeldImage, Stopped> {
    let name = target.name().to_owned();
    let writing = |error: &io::Error| Stopped::Failed(DeployError::disk(&name, "write", error));
    let mut writer = DiskWriter::start(Arc::clone(target), gate).map_err(|error| writing(&error))?;
    let copied = copy(&mut chunks, kind, &mut writer);
    let copied = copied.and_then(|()| writer.finish().map_err(CopyError::Writer));
    copied.map_err(|error| stopped(error, &mut chunks, &name))
}

/// Why copying ended.
pub(super) enum CopyError {
    /// The bytes.
    Source(String),
    /// The disk, or who watches over it.
    Writer(WriteError),
}

impl From<WriteError> for CopyError {
    fn from(error: WriteError) -> Self {
        Self::Writer(error)
    }
}

/// What an error means, given where the source is.
pub(super) fn stopped(error: CopyError, chunks: &mut Chunks, disk: &str) -> Stopped {
    let error = match error {
        CopyError::Source(error) => DeployError::BadImage(error),
        CopyError::Writer(WriteError::Refused(error @ DeployError::BadImage(_))) => error,
        CopyError::Writer(WriteError::Refused(error)) => return Stopped::Failed(error),
        CopyError::Writer(WriteError::Disk(error)) => return Stopped::Failed(DeployError::disk(disk, "write", &error)),
        CopyError::Writer(WriteError::TooLong { capacity }) => {
            return Stopped::Failed(DeployError::BadImage(format!("longer than {disk}, which has {capacity} bytes")));
        }
    };
    // An image that cannot be decoded is most likely not the wanted one: its digest says more than the decoder's complaint.
    chunks.drain();
    if chunks.is_cut() { Stopped::Cut } else { Stopped::Undecodable(error) }
}

fn copy(chunks: &mut Chunks, kind: Kind, writer: &mut DiskWriter) -> Result<(), CopyError> {
    let source = |error: io::Error| CopyError::Source(error.to_string());
    match Decoder::new(kind, &mut *chunks).map_err(source)? {
        Ok(mut decoder) => loop {
            match decoder.read(writer.room()) {
                Ok(0) => return Ok(()),
                Ok(length) => writer.advance(length)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(source(error)),
            }
        },
        Err(chunks) => loop {
            let piece = chunks.fill_buf().map_err(source)?;
            let length = piece.len();
            if length == 0 {
                return Ok(());
            }
            writer.write(piece)?;
            chunks.consume(length);
        },
    }
}
