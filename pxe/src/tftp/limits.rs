//! What a TFTP server allows.

use std::time::Duration;

/// Limits of the TFTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TftpLimits {
    /// Transfers in flight; a request beyond it is dropped and the client asks again.
    pub transfers: usize,
    /// As `transfers`, for one address. Firmware asks for the size in a transfer of its own, and one that is reset leaves
    /// its transfers behind until they are given up.
    pub transfers_each: usize,
    /// Largest block size granted, in octets, and never more than fits the interface's MTU without fragments. 1468 fits
    /// an Ethernet frame of 1500 octets.
    pub block_size: u16,
    /// Largest window granted (RFC 7440), in blocks. 64 blocks of 1468 octets fit the receive buffer of any client that
    /// asks for so many.
    pub window_size: u16,
    /// Wait for an acknowledgement before a window is sent again, unless the client asked for another.
    pub timeout: Duration,
    /// Sends of one window before the transfer is given up.
    pub attempts: u32,
    /// Longest that a whole transfer may take, however well it is acknowledged.
    pub whole: Duration,
    /// Answer from port 69 itself instead of a port for each transfer: for firewalls that let only that one through. It
    /// is not what RFC 1350 says, but clients take the port that answers.
    pub single_port: bool,
}

impl Default for TftpLimits {
    fn default() -> Self {
        Self {
            transfers: 1024,
            transfers_each: 8,
            block_size: 1468,
            window_size: 64,
            timeout: Duration::from_secs(1),
            attempts: 6,
            whole: Duration::from_secs(300),
            single_port: false,
        }
    }
}
