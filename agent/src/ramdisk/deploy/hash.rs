//! Hashing on a thread of its own, so that decoding and hashing work at the same time.

use bessemer_protocol::{Digest, DigestAlgorithm};
use bytes::Bytes;
use md5::Digest as _;
use ring::digest::{Context, SHA256, SHA512};
use tokio::sync::mpsc;

/// A running hash.
enum Running {
    Md5(Box<md5::Md5>),
    Sha(Box<Context>),
}

/// The digest of all that comes through `chunks`.
pub(super) fn all(mut chunks: mpsc::Receiver<Bytes>, algorithm: DigestAlgorithm) -> Digest {
    let mut hash = Running::new(algorithm);
    while let Some(chunk) = chunks.blocking_recv() {
        hash.update(&chunk);
    }
    Digest { algorithm, hex: hash.hex() }
}

/// The digest of `bytes`.
pub(super) fn of(bytes: &[u8], algorithm: DigestAlgorithm) -> Digest {
    let mut hash = Running::new(algorithm);
    hash.update(bytes);
    Digest { algorithm, hex: hash.hex() }
}

impl Running {
    fn new(algorithm: DigestAlgorithm) -> Self {
        match algorithm {
            DigestAlgorithm::Md5 => Self::Md5(Box::default()),
            DigestAlgorithm::Sha256 => Self::Sha(Box::new(Context::new(&SHA256))),
            DigestAlgorithm::Sha512 => Self::Sha(Box::new(Context::new(&SHA512))),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Md5(hash) => hash.update(bytes),
            Self::Sha(hash) => hash.update(bytes),
        }
    }

    fn hex(self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Md5(hash) => hex(&hash.finalize()),
            Self::Sha(hash) => hex(hash.finish().as_ref()),
        }
    }
}
