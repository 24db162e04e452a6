//! Decoding of one compressed cluster.

use std::fmt;

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::{Compression, Qcow2Error};

/// Log of the largest cluster. A frame of one has no use for more of a window, but could claim one of 128 MiB in each decoder.
const WINDOW_LOG: u32 = 21;

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
            Compression::Zstd => {
                let mut decoder = Decoder::new().map_err(failed)?;
                decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)).map_err(failed)?;
                Ok(Self::Zstd(Box::new(decoder)))
            }
        }
    }

    /// Fills `cluster` from `compressed`, behind which there may be bytes of something else.
    ///
    /// # Errors
    /// The bytes are damaged, give less than a cluster, or want more memory than a cluster can.
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

#[cfg(test)]
mod tests {
    use zstd::stream::raw::{CParameter, Encoder};

    use super::*;

    fn frame(window_log: u32, plain: &[u8]) -> Vec<u8> {
        let mut encoder = Encoder::new(1).unwrap();
        encoder.set_parameter(CParameter::WindowLog(window_log)).unwrap();
        let mut compressed = vec![0; plain.len() + 1024];
        let mut input = InBuffer::around(plain);
        let mut output = OutBuffer::around(&mut compressed[..]);
        // In pieces, so that the window cannot be made as small as what is there.
        encoder.run(&mut input, &mut output).unwrap();
        encoder.flush(&mut output).unwrap();
        encoder.finish(&mut output, true).unwrap();
        let length = output.pos();
        compressed.truncate(length);
        compressed
    }

    #[test]
    fn a_frame_with_a_window_larger_than_any_cluster_is_refused() {
        let plain: Vec<u8> = (0..65_536u32).map(|number| (number / 7) as u8).collect();
        let mut cluster = vec![0; plain.len()];
        for (window_log, fits) in [(16, true), (21, true), (22, false), (27, false)] {
            let mut decoder = ClusterDecoder::new(Compression::Zstd).unwrap();
            let decoded = decoder.decode(&frame(window_log, &plain), &mut cluster);
            assert_eq!(decoded.is_ok(), fits, "{window_log}: {decoded:?}");
        }
        assert!(cluster == plain);
    }
}
