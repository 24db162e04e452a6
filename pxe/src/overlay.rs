//! The files that one boot adds to the ramdisk, and for whom they are.

use std::net::IpAddr;

use bytes::Bytes;

/// What there is to fetch under a boot id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootFiles {
    /// No such boot: HTTP 404, except for the script and the UKI, in whose place something is served that asks again.
    Unknown,
    /// A live system that somebody else serves: the script that boots it, and nothing else.
    Live {
        /// Where; an `http` or `https` URL.
        url: String,
        /// As [`Overlay::addresses`].
        addresses: Vec<IpAddr>,
    },
    /// There was one; its overlay may not be fetched again: HTTP 410, with the same exception.
    Spent,
    /// The overlay, the same bytes each time. Without files for a boot that has no secrets (discovery).
    Ready(Overlay),
}

/// The files that one boot adds to the ramdisk.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Overlay {
    /// The files; directories above them are made where missing.
    pub files: Vec<OverlayFile>,
    /// Only these addresses may fetch anything of this boot. Those of subnets that another DHCP
    /// server serves do not count. Where there is none, the address that was heard or asks first may.
    pub addresses: Vec<IpAddr>,
    /// Kernel arguments of this boot alone, merged by key into [`crate::Ramdisk::kernel_args`].
    pub kernel_args: String,
    /// The operator's own script for this host, or the URL of one (see [`crate::CustomScript`]), in the place of ours. If
    /// it is wrong no script is served.
    pub script: Option<String>,
    /// This boot is by virtual media: its ISO is served, to whatever address the BMC has, and nothing else.
    pub media: bool,
}

impl std::fmt::Debug for Overlay {
    /// Names and sizes only: the contents are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Overlay").field("files", &self.files).field("addresses", &self.addresses).finish()
    }
}

/// One file of an [`Overlay`].
#[derive(Clone, PartialEq, Eq)]
pub struct OverlayFile {
    /// Path from the ramdisk's root, such as `etc/bessemer/agent.json`.
    pub path: String,
    /// Permission bits, such as `0o600`.
    pub mode: u32,
    /// The content.
    pub content: Bytes,
}

impl std::fmt::Debug for OverlayFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:o}, {} bytes)", self.path, self.mode, self.content.len())
    }
}
