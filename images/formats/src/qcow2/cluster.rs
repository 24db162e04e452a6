//! Decoding of one compressed cluster.

use std::fmt;

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::{Compression, Qcow2Error};

/// Keeps a decoder's memory from one cluster to the next.
pub enum ClusterDecoder {
    /// Raw deflate.
    Zlib(Box<Decompress>),
    /// A zstd frame.
    Zstd(Box<Decoder<'static>>),
}

impl fmt::Debug for ClusterDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zlib(_) => "ClusterDecoder::Zlib",
            Self::Zstd(_) => "ClusterDecoder::Zstd",
        })
    }
}

impl ClusterDecoder {
    /// A decoder of clusters.
    ///
    /// # Errors
    /// No memory.
    pub fn new(compression: Compression) -> Result<Self, Qcow2Error> {
        match compression {
            Compression::Zlib => Ok(Self::Zlib(Box::new(Decompress::new(false)))),
            Compression::Zstd => Decoder::new().map(|decoder| Self::Zstd(Box::new(decoder))).map_err(failed),
        }
    }

    /// Fills `cluster` from `compressed`, behind which there may be bytes of something else.
    ///
    /// # Errors
    /// The bytes are damaged or give less than a cluster.
    pub fn decode(&mut self, compressed: &[u8], cluster: &mut [u8]) -> Result<(), Qcow2Error> {
        let filled = match self {
            Self::Zlib(decoder) => {
                decoder.reset(false);
                let status = decoder.decompress(compressed, cluster, FlushDecompress::Finish).map_err(failed)?;
                let filled = usize::try_from(decoder.total_out()).unwrap_or(0);
                if status == Status::BufError && filled < cluster.len() { 0 } else { filled }
            }
            Self::Zstd(decoder) => {
                decoder.reinit().map_err(failed)?;
                let (mut input, mut output) = (InBuffer::around(compressed), OutBuffer::around(&mut *cluster));
                loop {
                    let before = (input.pos(), output.pos());
                    let hint = decoder.run(&mut input, &mut output).map_err(failed)?;
                    if hint == 0 || output.pos() == output.capacity() || (input.pos(), output.pos()) == before {
                        break output.pos();
                    }
                }
            }
        };
        if filled == cluster.len() {
            Ok(())
        } else {
            Err(Qcow2Error::Cluster(format!("{filled} of {} bytes came out", cluster.len())))
        }
    }
}

fn failed(error: impl fmt::Display) -> Qcow2Error {
    Qcow2Error::Cluster(error.to_string())
}
