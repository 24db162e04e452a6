//! The programs that hosts are given.

use bytes::Bytes;

/// The iPXE programs, by the machines that run them.
#[derive(Debug, Clone, Default)]
pub struct Ipxe {
    /// For x64 UEFI, served as `ipxe.efi`. Best the build that drives the card through the firmware's own driver
    /// (`snponly.efi`): it supports whatever the firmware booted from, starts some seconds sooner, and gives the card
    /// back when it exits. Debian's `ipxe.efi` hangs OVMF there.
    pub x64: Bytes,
    /// For BIOS (`undionly.kpxe`); without it BIOS firmware is left unanswered.
    pub bios: Option<Bytes>,
    /// For 64-bit ARM UEFI; without it such firmware is left unanswered.
    pub arm64: Option<Bytes>,
}

/// Kernel and ramdisk, the same for every host.
#[derive(Debug, Clone, Default)]
pub struct Ramdisk {
    /// The kernel.
    pub kernel: Bytes,
    /// One or more cpio archives, each possibly compressed.
    pub initrd: Bytes,
    /// The kernel's command line, such as `console=ttyS0`.
    pub kernel_args: String,
}
