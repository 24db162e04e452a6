//! What a boot server serves, and where.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

use crate::error::Error;
use crate::pool::Pool;

/// Limits of the TFTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TftpLimits {
    /// Transfers in flight; a request beyond it is dropped and the client asks again.
    pub transfers: usize,
    /// As `transfers`, for one address. Firmware asks for the size in a transfer of its own, and one that is reset leaves
    /// its transfers behind until they are given up.
    pub transfers_each: usize,
    /// Largest block size granted, in octets. 1468 fits an Ethernet frame with 1500 octets without fragments.
    pub block_size: u16,
    /// Wait for an acknowledgement before the block is sent again, unless the client asked for another.
    pub timeout: Duration,
    /// Sends of one block before the transfer is given up.
    pub attempts: u32,
    /// Longest that a whole transfer may take, however well it is acknowledged.
    pub whole: Duration,
}

impl Default for TftpLimits {
    fn default() -> Self {
        Self {
            transfers: 256,
            transfers_each: 8,
            block_size: 1468,
            timeout: Duration::from_secs(1),
            attempts: 6,
            whole: Duration::from_secs(300),
        }
    }
}

/// One boot server on one interface.
#[derive(Debug, Clone)]
pub struct Config {
    /// The interface towards the hosts, such as `br0`. DHCP is heard and answered on this one only.
    pub interface: String,
    /// The interface's (primary) address: DHCP server id, next server, and where TFTP and HTTP listen.
    pub address: Ipv4Addr,
    /// Length of the subnet's prefix.
    pub prefix: u8,
    /// Addresses for machines without a fixed one.
    pub pool: Pool,
    /// Default route told to the hosts.
    pub router: Option<Ipv4Addr>,
    /// Name servers told to the hosts.
    pub dns: Vec<Ipv4Addr>,
    /// Answer IPv6 router solicitations with "no router here", which saves each iPXE start 14 to 19 seconds where no
    /// router advertises. Configures nothing on anybody, and is silent once another router is heard; still, only for
    /// an interface that is meant for provisioning.
    pub answer_router_solicitations: bool,
    /// How long a lease lasts.
    pub lease_time: Duration,
    /// TCP port of the boot files; 0 takes a free one (see [`crate::BootServer::http_address`]).
    pub http_port: u16,
    /// Limits of the TFTP server.
    pub tftp: TftpLimits,
    /// iPXE for x64 UEFI, served as `ipxe.efi`. Best the build that drives the card through the firmware's own driver
    /// (`snponly.efi`): it supports whatever the firmware booted from, starts some seconds sooner, and gives the card
    /// back when it exits. Debian's `ipxe.efi` hangs OVMF there.
    pub ipxe_efi: Bytes,
    /// iPXE for BIOS; without it BIOS firmware is left unanswered.
    pub undionly: Option<Bytes>,
    /// The ramdisk's kernel.
    pub kernel: Bytes,
    /// The ramdisk: one or more cpio archives, each possibly compressed.
    pub ramdisk: Bytes,
    /// The kernel's command line, such as `console=ttyS0`.
    pub kernel_args: String,
    /// A directory of OS images served as `/images/<name>`: plain files, no sub-directories. Symbolic links in it are
    /// followed.
    pub images_dir: Option<PathBuf>,
}

impl Config {
    /// Time the directory has for one answer: less than a DHCP client's first retransmission.
    pub const DIRECTORY_DEADLINE: Duration = Duration::from_secs(3);

    /// # Errors
    /// [`Error::Pool`] or [`Error::KernelArgs`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.pool.check_subnet(self.address, self.prefix)?;
        // The command line becomes part of a script, where a line break would start the next command.
        if self.kernel_args.chars().any(char::is_control) {
            return Err(Error::KernelArgs);
        }
        Ok(())
    }
}
