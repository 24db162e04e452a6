//! Bodies that come compressed though nobody asked for it: HPE iLO serves its registries only so, and files named
//! `.json.gz` are what they are.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The body without compression (gzip, RFC 1952), at most `limit` bytes of it. What is not compressed is handed on: no
/// JSON begins with gzip's first two bytes, so the header that should announce it is not needed.
///
/// # Errors
/// When it is damaged, or larger than `limit`; in words.
pub(crate) fn plain(body: Bytes, limit: usize) -> Result<Bytes, String> {
    if !body.starts_with(&GZIP) {
        return Ok(body);
    }
    let mut out = Vec::new();
    let mut decoder = MultiGzDecoder::new(&*body).take(limit as u64 + 1);
    decoder.read_to_end(&mut out).map_err(|error| format!("the answer is damaged gzip: {error}"))?;
    if out.len() > limit {
        return Err(format!("the answer is larger than {limit} bytes when decompressed"));
    }
    Ok(out.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(bytes: &[u8]) -> Bytes {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    #[test]
    fn compressed_or_not() {
        assert_eq!(plain(Bytes::from_static(b"{}"), 10).unwrap(), "{}");
        assert_eq!(plain(packed(b"{\"a\":1}"), 10).unwrap(), "{\"a\":1}");
        assert_eq!(plain(Bytes::new(), 10).unwrap(), "");
    }

    #[test]
    fn a_small_body_does_not_become_a_large_one() {
        let bomb = packed(&vec![b' '; 1 << 20]);
        assert!(bomb.len() < 2000);
        assert!(plain(bomb, 4096).unwrap_err().contains("larger than 4096 bytes"));
    }

    #[test]
    fn damage_is_told() {
        let mut damaged = packed(b"{\"a\":1}").to_vec();
        damaged.truncate(damaged.len() - 3);
        assert!(plain(damaged.into(), 100).unwrap_err().contains("damaged gzip"));
    }
}
