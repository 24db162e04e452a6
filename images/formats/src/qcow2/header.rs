//! The header and what it forbids.

use super::Qcow2Error;
use crate::field::{be32, be64};

/// Bytes that hold every header and its extensions that are looked at.
pub const MOST_HEADER_BYTES: usize = 4096;

/// QEMU's own limit of the first level, in bytes.
const MOST_L1_BYTES: u64 = 32 << 20;

/// How compressed clusters are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Raw deflate.
    Zlib,
    /// RFC 8878.
    Zstd,
}

/// What the header says, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// 2 or 3.
    pub version: u32,
    /// Log of the cluster size in bytes.
    pub cluster_bits: u32,
    /// Bytes of the guest's disk.
    pub size: u64,
    /// Entries of the first level that the size needs.
    pub l1_entries: u64,
    /// Where they are in the file.
    pub l1_offset: u64,
    /// For compressed clusters.
    pub compression: Compression,
}

/// Incompatible features, by bit.
const DIRTY: u64 = 1;
const CORRUPT: u64 = 1 << 1;
const EXTERNAL_DATA: u64 = 1 << 2;
const COMPRESSION_TYPE: u64 = 1 << 3;
const EXTENDED_L2: u64 = 1 << 4;

/// Header extensions, by type.
const EXTENSION_END: u32 = 0;
const EXTENSION_DATA_FILE: u32 = 0x4441_5441;
const EXTENSION_ENCRYPTION: u32 = 0x0537_be77;

impl Header {
    /// Reads the start of a file, [`MOST_HEADER_BYTES`] of it or all.
    ///
    /// # Errors
    /// It is no qcow2, or one that cannot or must not be written to a disk.
    pub fn parse(head: &[u8]) -> Result<Self, Qcow2Error> {
        let word = |offset| be32(head, offset).ok_or(Qcow2Error::NotQcow2);
        let long = |offset| be64(head, offset).ok_or(Qcow2Error::NotQcow2);
        if !head.starts_with(b"QFI\xfb") {
            return Err(Qcow2Error::NotQcow2);
        }
        let version = word(4)?;
        if !matches!(version, 2 | 3) {
            return Err(Qcow2Error::Version(version));
        }
        if long(8)? != 0 {
            return Err(Qcow2Error::BackingFile);
        }
        if word(32)? != 0 {
            return Err(Qcow2Error::Encrypted);
        }
        let (features, length) = if version == 3 { (long(72)?, word(100)?) } else { (0, 72) };
        for (bit, error) in [
            (CORRUPT, Qcow2Error::Corrupt),
            (EXTERNAL_DATA, Qcow2Error::ExternalData),
            (EXTENDED_L2, Qcow2Error::Feature("subclusters")),
            (
                !(DIRTY | CORRUPT | EXTERNAL_DATA | COMPRESSION_TYPE | EXTENDED_L2),
                Qcow2Error::Feature("unknown features"),
            ),
        ] {
            if features & bit != 0 {
                return Err(error);
            }
        }
        let compression = match head.get(104) {
            Some(kind) if features & COMPRESSION_TYPE != 0 && length > 104 => match kind {
                0 => Compression::Zlib,
                1 => Compression::Zstd,
                _ => return Err(Qcow2Error::Feature("an unknown compression")),
            },
            _ if features & COMPRESSION_TYPE != 0 => return Err(Qcow2Error::Feature("an unknown compression")),
            _ => Compression::Zlib,
        };
        check_extensions(head, length)?;
        let claim = |what, value: u64| Err(Qcow2Error::Claim { what, value });
        let (cluster_bits, size) = (word(20)?, long(24)?);
        if !(9..=21).contains(&cluster_bits) {
            return claim("clusters of two to the power of", u64::from(cluster_bits));
        }
        if size == 0 || size > 1 << 60 {
            return claim("a disk of bytes:", size);
        }
        // One entry of the first level stands for one cluster full of entries of the second.
        let l1_entries = size.div_ceil(1 << (2 * cluster_bits - 3));
        let (claimed, l1_offset) = (u64::from(word(36)?), long(40)?);
        if claimed < l1_entries {
            return claim("too few entries of its first level:", claimed);
        }
        if claimed * 8 > MOST_L1_BYTES {
            return claim("too many entries of its first level:", claimed);
        }
        if l1_offset == 0 || !l1_offset.is_multiple_of(1 << cluster_bits) {
            return claim("its first level at byte", l1_offset);
        }
        Ok(Self { version, cluster_bits, size, l1_entries, l1_offset, compression })
    }

    /// Bytes of a cluster.
    #[must_use]
    pub fn cluster(&self) -> u64 {
        1 << self.cluster_bits
    }

    /// Bytes of the first level that matter.
    #[must_use]
    pub fn l1_bytes(&self) -> u64 {
        self.l1_entries * 8
    }
}

/// Extensions may only add what this reader can do without.
fn check_extensions(head: &[u8], start: u32) -> Result<(), Qcow2Error> {
    let mut at = usize::try_from(start).unwrap_or(usize::MAX);
    if !(72..=MOST_HEADER_BYTES).contains(&at) {
        return Err(Qcow2Error::Claim { what: "a header of bytes:", value: u64::from(start) });
    }
    while let (Some(kind), Some(length)) = (be32(head, at), be32(head, at + 4)) {
        match kind {
            EXTENSION_END => break,
            EXTENSION_DATA_FILE => return Err(Qcow2Error::ExternalData),
            EXTENSION_ENCRYPTION => return Err(Qcow2Error::Encrypted),
            _ => {}
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let next = length.checked_next_multiple_of(8).and_then(|length| at.checked_add(8)?.checked_add(length));
        let Some(next) = next.filter(|next| *next <= MOST_HEADER_BYTES) else { break };
        at = next;
    }
    Ok(())
}
