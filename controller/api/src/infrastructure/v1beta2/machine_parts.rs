//! Parts of a Metal3Machine.

use std::collections::BTreeMap;

use bessemer_api_macros::api;

use crate::metal3::{ChecksumType, DiskFormat};

/// An image, in the words of this group.
#[api]
#[derive(Eq)]
pub struct InfraImage {
    /// Where it is.
    #[text(1..=512)]
    #[schemars(extend("format" = "uri"))]
    pub url: String,
    /// Digest of the bytes at that URL, or the URL of a file with it; none for OCI images.
    #[text(0..=512)]
    pub checksum: Option<String>,
    /// How that digest was made.
    #[words("md5", "sha256", "sha512")]
    pub checksum_type: Option<ChecksumType>,
    /// What the bytes are.
    pub disk_format: Option<DiskFormat>,
}

/// A deployment that is not the writing of an image.
#[api]
#[derive(Eq)]
pub struct CustomDeploy {
    /// Its name, which the ramdisk must know.
    #[text(1..=512)]
    pub method: String,
}

/// Which hosts may be chosen.
#[api]
#[derive(Eq)]
pub struct HostSelector {
    /// Labels that the host must carry.
    pub match_labels: BTreeMap<String, String>,
    /// What else must hold of its labels.
    #[list(map(key), 1..=512)]
    pub match_expressions: Vec<HostRequirement>,
}

/// What must hold of one label of a host.
#[api]
#[derive(Eq)]
pub struct HostRequirement {
    /// Key.
    #[text(1..=512)]
    pub key: String,
    /// A selection operator: `in`, `notin`, `exists`, `!`, `=`, `==`, `!=`, `gt` or `lt`.
    pub operator: String,
    /// Values it is about.
    #[required]
    #[list(set, ..=512, each(1..=512))]
    pub values: Vec<String>,
}
