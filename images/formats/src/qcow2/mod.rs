//! QEMU's copy-on-write format, versions 2 and 3, as far as an image that is to be written to a disk may use it.
//!
//! Clusters are not in guest order, so that a reader who wants each byte once first has to know the tables: [`Header`] says where the
//! first level is, [`MapBuilder`] takes both levels and checks them, and the [`Map`] lists what lies where in the order of the file.
//!
//! Source: `docs/interop/qcow2.txt` of QEMU.

mod cluster;
mod header;
mod map;

pub use cluster::ClusterDecoder;
pub use header::{Compression, Header, MOST_HEADER_BYTES};
pub use map::{Extent, Map, MapBuilder, Stored};

/// Why an image is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Qcow2Error {
    /// The file ends within the header, or the magic is another.
    #[error("no qcow2 header")]
    NotQcow2,
    /// 1 is older than 2008.
    #[error("qcow2 version {0} is not supported, only 2 and 3 are")]
    Version(u32),
    /// Not the whole image is in this file.
    #[error("qcow2 image has a backing file: flatten it with `qemu-img convert`")]
    BackingFile,
    /// The guest's bytes are in another file.
    #[error("qcow2 image keeps its data in another file: flatten it with `qemu-img convert`")]
    ExternalData,
    /// AES or LUKS.
    #[error("qcow2 image is encrypted: decrypt it with `qemu-img convert`")]
    Encrypted,
    /// Marked so by QEMU itself.
    #[error("qcow2 image is marked corrupt: repair it with `qemu-img check -r all`")]
    Corrupt,
    /// Features that this reader lacks.
    #[error("qcow2 image uses {0}, which is not supported: write it anew with `qemu-img convert`")]
    Feature(&'static str),
    /// A number that cannot be meant.
    #[error("qcow2 image claims {what} {value}")]
    Claim {
        /// Of what.
        what: &'static str,
        /// How much.
        value: u64,
    },
    /// Two things at the same place of the file.
    #[error("qcow2 image is damaged: two tables or clusters overlap at byte {0} of the file")]
    Overlap(u64),
    /// Something that the file is too short for.
    #[error("qcow2 image is truncated or damaged: {what} at byte {offset} is beyond its end")]
    Beyond {
        /// What should be there.
        what: &'static str,
        /// Where.
        offset: u64,
    },
    /// A compressed cluster that does not decode to a whole one.
    #[error("compressed cluster does not decode: {0}")]
    Cluster(String),
}

#[cfg(test)]
mod tests;
