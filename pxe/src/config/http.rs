//! How boot files are served over HTTP, and what media there are besides kernel and ramdisk.

use std::fmt;
use std::path::PathBuf;

use bytes::Bytes;

use super::Ramdisk;

pub use crate::breaker::LoopLimits;
pub use crate::http::HttpLimits;

/// The HTTP server.
#[derive(Debug, Clone, Default)]
pub struct Http {
    /// What one client, and all of them, may take.
    pub limits: HttpLimits,
    /// When a boot that never ends is stopped.
    pub loops: LoopLimits,
    /// TLS for firmware, which is old TLS: only with this crate's feature `firmware-tls`. Boot files alone are served
    /// there.
    pub tls: Option<FirmwareTls>,
}

/// TLS for firmware that has our authority's certificate.
#[derive(Clone)]
pub struct FirmwareTls {
    /// TCP port; firmware takes any that the URL names.
    pub port: u16,
    /// The certificate with those above it, PEM. Of an RSA key: OVMF knows no other.
    pub certificate: String,
    /// Its key, PEM. RSA with 3,072 bits or more.
    pub key: String,
    /// Our iPXE programs have HTTPS and the authority built in: they are sent to TLS too. Without it they fetch over
    /// plain HTTP whatever firmware did before. An iPXE in a card's ROM cannot be told apart, and must have both as well.
    pub ipxe: bool,
}

impl fmt::Debug for FirmwareTls {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirmwareTls").field("port", &self.port).finish_non_exhaustive()
    }
}

/// Kernel and ramdisk in other forms.
#[derive(Debug, Clone, Default)]
pub struct Media {
    /// A unified kernel image: UEFI firmware that boots over HTTP gets it without iPXE and without TFTP. Its last section
    /// must be `.initrd`, where the overlay is added, unless it is signed.
    pub uki: Option<Bytes>,
    /// Kernel and ramdisk for 64-bit ARM; such machines are left unanswered without it and [`crate::Ipxe::arm64`].
    pub arm64: Option<Ramdisk>,
    /// An ISO for virtual media with an overlay slot.
    pub iso: Option<PathBuf>,
}
