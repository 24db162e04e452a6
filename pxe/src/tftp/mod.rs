//! TFTP (RFC 1350) with options (RFC 2347 to 2349), read-only and from memory: the boot programs that plain firmware
//! fetches, and nothing else.
//!
//! Any machine on the segment may read them; they are public binaries without secrets.

mod packet;
pub(crate) mod server;
mod transfer;

pub use packet::{DecodeError, Packet};

/// The files served, as DHCP names them.
pub(crate) mod names {
    pub(crate) const IPXE_EFI: &str = "ipxe.efi";
    /// Never served: firmware is sent here when it shall go on to its disk.
    pub(crate) const ABSENT: &str = "boot-from-disk";
    pub(crate) const UNDIONLY: &str = "undionly.kpxe";
}
