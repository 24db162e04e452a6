//! How much the TFTP server does at once.

use std::time::Duration;

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
