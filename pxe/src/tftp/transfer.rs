//! One transfer, without a socket: which block to send next, and what an acknowledgement means.

use std::time::Duration;

use bytes::Bytes;

use super::packet::Packet;
use crate::config::TftpLimits;

const DEFAULT_BLOCK_SIZE: u16 = 512;
/// Seconds a client may ask for: RFC 2349 allows 255, which would hold a transfer's place for half an hour.
const TIMEOUTS: std::ops::RangeInclusive<u8> = 1..=10;

/// What to do after a message from the client, or none in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Send this and wait for its acknowledgement.
    Send(Vec<u8>),
    /// Keep waiting.
    Wait,
    /// All blocks are acknowledged.
    Done,
    /// The client ended it.
    Ended { code: u16, message: String },
    /// The client does not answer.
    GaveUp,
}

/// The sender's side of one file.
#[derive(Debug)]
pub(super) struct Transfer {
    file: Bytes,
    block_size: u16,
    timeout: Duration,
    attempts: u32,
    granted: Vec<(String, String)>,
    /// Blocks acknowledged so far; the option acknowledgement counts as block 0, before any.
    next: Next,
    sent: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    OptionAck,
    /// Index of the block from 0; on the wire it is this plus one, wrapping.
    Block(u64),
}

impl Transfer {
    /// A transfer with the options of the request that are known and sensible; others are left out of the
    /// acknowledgement, which refuses them (RFC 2347).
    pub(super) fn new(file: Bytes, asked: &[(String, String)], limits: TftpLimits) -> Self {
        let mut transfer = Self {
            block_size: DEFAULT_BLOCK_SIZE,
            timeout: limits.timeout,
            attempts: limits.attempts,
            granted: Vec::new(),
            next: Next::Block(0),
            sent: 0,
            file,
        };
        for (name, value) in asked {
            let name = name.to_ascii_lowercase();
            let answer = match name.as_str() {
                "blksize" => value.parse::<u16>().ok().filter(|size| *size >= 8).map(|size| {
                    transfer.block_size = size.min(limits.block_size);
                    transfer.block_size.to_string()
                }),
                "tsize" => Some(transfer.file.len().to_string()),
                "timeout" => value.parse::<u8>().ok().filter(|seconds| TIMEOUTS.contains(seconds)).map(|seconds| {
                    transfer.timeout = Duration::from_secs(seconds.into());
                    value.clone()
                }),
                _ => None,
            };
            if let Some(answer) = answer.filter(|_| transfer.granted.iter().all(|(granted, _)| *granted != name)) {
                transfer.granted.push((name, answer));
            }
        }
        if !transfer.granted.is_empty() {
            transfer.next = Next::OptionAck;
        }
        transfer
    }

    /// How long to wait for an acknowledgement.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Octets of the file that the client has acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        match self.next {
            Next::OptionAck => 0,
            Next::Block(index) => (index * u64::from(self.block_size)).min(self.file.len() as u64),
        }
    }

    /// The first message, or the same one again when its acknowledgement is overdue.
    pub(super) fn send(&mut self) -> Step {
        if self.sent == self.attempts {
            return Step::GaveUp;
        }
        self.sent += 1;
        Step::Send(match self.next {
            Next::OptionAck => Packet::OptionAck { options: self.granted.clone() }.encode(),
            Next::Block(index) => {
                let data = self.block(index);
                let mut message = Vec::with_capacity(4 + data.len());
                message.extend_from_slice(&[0, 3]);
                message.extend_from_slice(&wire_number(index).to_be_bytes());
                message.extend_from_slice(data);
                message
            }
        })
    }

    /// What a message of the client means. An acknowledgement of an earlier block is a duplicate: answering it would
    /// double all traffic from then on (the Sorcerer's Apprentice, RFC 1123 section 4.2.3.1).
    pub(super) fn receive(&mut self, message: &[u8]) -> Step {
        let block = match Packet::decode(message) {
            Ok(Packet::Ack { block }) => block,
            Ok(Packet::Error { code, message }) => return Step::Ended { code, message },
            _ => return Step::Wait,
        };
        let following = match self.next {
            Next::OptionAck if block == 0 => 0,
            Next::Block(index) if block == wire_number(index) => index + 1,
            _ => return Step::Wait,
        };
        let was_last =
            matches!(self.next, Next::Block(index) if self.block(index).len() < usize::from(self.block_size));
        self.next = Next::Block(following);
        self.sent = 0;
        if was_last { Step::Done } else { self.send() }
    }

    /// The last block is the first that is not full, which may be empty.
    fn block(&self, index: u64) -> &[u8] {
        let start = usize::try_from(index * u64::from(self.block_size)).unwrap_or(usize::MAX).min(self.file.len());
        let end = (start + usize::from(self.block_size)).min(self.file.len());
        self.file.get(start..end).unwrap_or_default()
    }
}

/// Block numbers start at 1 and wrap to 0.
#[expect(clippy::cast_possible_truncation, reason = "wrapping is what the number does")]
fn wire_number(index: u64) -> u16 {
    index.wrapping_add(1) as u16
}

#[cfg(test)]
#[path = "transfer_tests.rs"]
mod tests;
