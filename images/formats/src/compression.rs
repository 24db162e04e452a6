//! Decoders of gzip, xz and zstd as readers, with their windows limited so that a host with 512 MiB of memory can use them.
//!
//! All three may consist of several members or frames one after the other, and end only where one of them ends. A bomb is the
//! caller's to stop: what comes out is bounded by nothing but the disk.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

use crate::detect::Kind;

/// Largest zstd window, as a power of two: 128 MiB, what `zstd --long=27` makes.
pub const LARGEST_WINDOW: u32 = 27;

/// Most memory of the xz decoder in bytes: `xz -9` needs 65 MiB.
pub const XZ_MEMORY: u64 = 100 << 20;

/// A reader of what a compressed stream holds.
pub enum Decoder<R: BufRead> {
    /// RFC 1952.
    Gzip(Box<MultiGzDecoder<R>>),
    /// The .xz format.
    Xz(Box<XzDecoder<R>>),
    /// RFC 8878.
    Zstd(Box<zstd::stream::read::Decoder<'static, R>>),
}

impl<R: BufRead> Decoder<R> {
    /// A decoder for a compressed `kind`; the source comes back when it is none.
    ///
    /// # Errors
    /// The decoder's library has no memory.
    pub fn new(kind: Kind, source: R) -> io::Result<Result<Self, R>> {
        Ok(Ok(match kind {
            Kind::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(source))),
            Kind::Xz => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED).map_err(io::Error::other)?;
                Self::Xz(Box::new(XzDecoder::new_stream(source, stream)))
            }
            Kind::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(source)?;
                decoder.window_log_max(LARGEST_WINDOW)?;
                Self::Zstd(Box::new(decoder))
            }
            _ => return Ok(Err(source)),
        }))
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self {
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Xz(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        };
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), "compressed data ends in the middle"),
            _ => error,
        })
    }
}

/// How many bytes a compressed stream says that it holds, if it does at its start. Only zstd does, and only for its first frame: so this
/// may be too little, but never too much unless it lies.
#[must_use]
pub fn announced(kind: Kind, head: &[u8]) -> Option<u64> {
    match kind {
        Kind::Zstd => zstd::zstd_safe::get_frame_content_size(head).ok().flatten(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use super::*;
    use crate::detect::detect;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(bytes, 1).unwrap()
    }

    fn decode(bytes: &[u8], piece: usize) -> io::Result<Vec<u8>> {
        let source = BufReader::with_capacity(piece, bytes);
        let mut decoder = Decoder::new(detect(bytes), source)?.map_err(|_| io::Error::other("not compressed"))?;
        let mut out = Vec::new();
        decoder.read_to_end(&mut out)?;
        Ok(out)
    }

    fn sample() -> Vec<u8> {
        (0..300_000u32).flat_map(|number| (number / 7).to_le_bytes()).collect()
    }

    #[test]
    fn several_members_are_one_stream() {
        let sample = sample();
        let (first, second) = sample.split_at(100_001);
        for encode in [gzip, xz, zstd] {
            let mut bytes = encode(first);
            bytes.extend(encode(second));
            assert!(decode(&bytes, 4096).unwrap() == sample);
            assert!(decode(&bytes, 1).unwrap() == sample, "however it arrives");
        }
    }

    #[test]
    fn what_is_cut_or_has_garbage_behind_it_is_no_success() {
        let sample = sample();
        for encode in [gzip, xz, zstd] {
            let whole = encode(&sample);
            for cut in [1, 7, whole.len() / 2] {
                let error = decode(&whole[..whole.len() - cut], 4096);
                assert!(error.is_err(), "cut by {cut}");
            }
            let mut more = whole.clone();
            more.extend(b"garbage that is no member");
            assert!(decode(&more, 4096).is_err());
            let mut corrupt = whole.clone();
            let middle = corrupt.len() / 2;
            corrupt[middle] ^= 0x40;
            // zstd's bulk encoder writes no checksum: there the digest over all is what finds it.
            assert!(decode(&corrupt, 4096).map_or(true, |out| out != sample));
        }
    }

    #[test]
    fn windows_that_need_too_much_memory_are_refused() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(28).unwrap();
        encoder.include_contentsize(false).unwrap();
        encoder.write_all(&sample()).unwrap();
        assert!(decode(&encoder.finish().unwrap(), 4096).is_err());
        let mut options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
        options.dict_size(192 << 20);
        let mut filters = liblzma::stream::Filters::new();
        filters.lzma2(&options);
        let stream = Stream::new_stream_encoder(&filters, liblzma::stream::Check::Crc32).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(&sample()).unwrap();
        assert!(decode(&encoder.finish().unwrap(), 4096).is_err());
    }

    #[test]
    fn zstd_says_how_long_it_is() {
        assert_eq!(announced(Kind::Zstd, &zstd(&[7; 5000])), Some(5000));
        assert_eq!(announced(Kind::Zstd, b"\x28\xb5\x2f\xfd"), None);
        assert_eq!(announced(Kind::Gzip, &gzip(&[7; 5000])), None);
    }
}
