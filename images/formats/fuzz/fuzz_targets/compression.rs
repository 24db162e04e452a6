//! Front ends of the decoders: what a stream is, and what comes out of it, up to a limit.

#![no_main]

use std::io::{BufReader, Read};

use bessemer_image_formats::compression::{Decoder, announced};
use bessemer_image_formats::detect::{Kind, detect};
use libfuzzer_sys::fuzz_target;

const LIMIT: u64 = 16 << 20;

fuzz_target!(|bytes: &[u8]| {
    let kind = detect(bytes);
    let _ = announced(kind, bytes);
    for kind in [kind, Kind::Gzip, Kind::Xz, Kind::Zstd] {
        let Ok(Ok(decoder)) = Decoder::new(kind, BufReader::with_capacity(97, bytes)) else { continue };
        let _ = std::io::copy(&mut decoder.take(LIMIT), &mut std::io::sink());
    }
});
