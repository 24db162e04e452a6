//! Operating system images, and what may take their place.

use bessemer_api_macros::api;

/// An operating system image.
#[api]
#[derive(Eq)]
pub struct Image {
    /// Where it is: `http`, `https`, `file` or `oci`.
    pub url: String,
    /// Digest of the bytes at that URL, or the URL of a file with it.
    pub checksum: Option<String>,
    /// How that digest was made.
    pub checksum_type: Option<ChecksumType>,
    /// What the bytes are.
    pub format: Option<DiskFormat>,
    /// Secret of type `kubernetes.io/dockerconfigjson` with which an `oci` image is pulled.
    pub oci_auth_secret_name: Option<String>,
}

/// How a digest was made.
#[api]
pub enum ChecksumType {
    /// MD5.
    #[serde(rename = "md5")]
    Md5,
    /// SHA-256.
    #[serde(rename = "sha256")]
    Sha256,
    /// SHA-512.
    #[serde(rename = "sha512")]
    Sha512,
    /// Told from the digest's length.
    #[serde(rename = "auto")]
    Auto,
}

/// What the bytes of an image are.
#[api]
pub enum DiskFormat {
    /// A disk, byte for byte.
    #[serde(rename = "raw")]
    Raw,
    /// QEMU's copy-on-write format, version 2 or 3.
    #[serde(rename = "qcow2")]
    Qcow2,
    /// VirtualBox's.
    #[serde(rename = "vdi")]
    Vdi,
    /// VMware's.
    #[serde(rename = "vmdk")]
    Vmdk,
    /// A CD to boot from, never written to the disk.
    #[serde(rename = "live-iso")]
    LiveIso,
}

/// A deployment that is not the writing of an image.
#[api]
#[derive(Eq)]
pub struct CustomDeploy {
    /// Its name, which the ramdisk must know.
    pub method: String,
}
