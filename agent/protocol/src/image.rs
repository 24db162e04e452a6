//! An operating system image: what its bytes are, and how one knows that they are the right ones.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An operating system image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// How to read it. The bytes must agree with it.
    pub format: ImageFormat,
    /// Covers the bytes as they are fetched, before any decompression.
    pub checksum: Checksum,
}

/// Image formats. Compression (gzip, xz, zstd) is recognised by its magic bytes, as the URL's name may say anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// Whichever of the others the bytes say.
    Auto,
    /// Bytes as on the disk, possibly compressed.
    Raw,
    /// QEMU's copy-on-write format, version 2 or 3, without a backing file. Its source must answer range requests.
    Qcow2,
}

/// Where the wanted digest is known from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "from")]
pub enum Checksum {
    /// It is known.
    Value(Digest),
    /// A file beside the image has it: a bare digest, `digest  name` lines or `ALGORITHM (name) = digest` lines.
    #[serde(rename_all = "camelCase")]
    File {
        /// `http://` or `https://`.
        url: String,
        /// Told from the digest's length when none is given.
        algorithm: Option<DigestAlgorithm>,
    },
    /// The image is an artefact of a registry, whose manifest has it. For `oci://` sources only.
    Registry,
}

impl From<Digest> for Checksum {
    fn from(digest: Digest) -> Self {
        Self::Value(digest)
    }
}

/// A checksum and how it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Digest {
    /// The function.
    pub algorithm: DigestAlgorithm,
    /// Lower-case hexadecimal.
    pub hex: String,
}

impl Digest {
    /// Reads hexadecimal digits of either case; without an algorithm the length tells. None if they are no digest.
    #[must_use]
    pub fn parse(hex: &str, algorithm: Option<DigestAlgorithm>) -> Option<Self> {
        let hex = hex.trim().to_ascii_lowercase();
        let algorithm = algorithm.or_else(|| DigestAlgorithm::of_length(hex.len()))?;
        let fits = hex.len() == algorithm.digits() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then_some(Self { algorithm, hex })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm, self.hex)
    }
}

/// Checksum functions that Metal3 allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DigestAlgorithm {
    /// MD5: finds accidents, protects against nobody.
    Md5,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl DigestAlgorithm {
    const ALL: [Self; 3] = [Self::Md5, Self::Sha256, Self::Sha512];

    /// Hexadecimal digits of a digest.
    #[must_use]
    pub fn digits(self) -> usize {
        match self {
            Self::Md5 => 32,
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }

    /// The one whose digests have so many hexadecimal digits.
    #[must_use]
    pub fn of_length(digits: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.digits() == digits)
    }
}

impl fmt::Display for DigestAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Md5 => "md5",
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_told_by_its_length() {
        for (hex, algorithm, expected) in [
            ("AB".repeat(32), None, Some(DigestAlgorithm::Sha256)),
            (format!(" {}\n", "ab".repeat(16)), None, Some(DigestAlgorithm::Md5)),
            ("ab".repeat(64), Some(DigestAlgorithm::Sha512), Some(DigestAlgorithm::Sha512)),
            ("ab".repeat(32), Some(DigestAlgorithm::Sha512), None),
            ("xy".repeat(32), None, None),
            (String::new(), None, None),
        ] {
            let digest = Digest::parse(&hex, algorithm);
            assert_eq!(digest.as_ref().map(|digest| digest.algorithm), expected, "{hex}");
            assert!(digest.is_none_or(|digest| digest.hex == hex.trim().to_lowercase()));
        }
    }
}
