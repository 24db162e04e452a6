//! The sender's side of one transfer, without a socket or a clock: what to send next, and what an acknowledgement or its
//! absence means.

use bytes::Bytes;

use super::packet::Packet;
use super::terms::Terms;

/// What to do after a message from the client, or none in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Send what [`Transfer::write`] writes and wait for its acknowledgement.
    Send,
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
    terms: Terms,
    attempts: u32,
    /// The option acknowledgement has not been acknowledged; it counts as block 0.
    negotiating: bool,
    /// Blocks acknowledged, which is the index of the first that is not.
    acknowledged: u64,
    /// Blocks sent at least once.
    sent: u64,
    /// Sends of what is unacknowledged now.
    tries: u32,
    sent_again: u64,
}

impl Transfer {
    /// A transfer that is given up after `attempts` sends of the same blocks.
    pub(super) fn new(file: Bytes, terms: Terms, attempts: u32) -> Self {
        let negotiating = !terms.granted.is_empty();
        Self { file, terms, attempts, negotiating, acknowledged: 0, sent: 0, tries: 0, sent_again: 0 }
    }

    /// The terms it is sent by.
    pub(super) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Octets of the file that the client has acknowledged.
    pub(super) fn octets_acknowledged(&self) -> u64 {
        (self.acknowledged * u64::from(self.terms.block_size)).min(self.file.len() as u64)
    }

    /// Messages that were sent more than once.
    pub(super) fn sent_again(&self) -> u64 {
        self.sent_again
    }

    /// True until the client acknowledges something.
    pub(super) fn is_fresh(&self) -> bool {
        self.acknowledged == 0 && (self.negotiating || self.terms.granted.is_empty())
    }

    /// The first message.
    pub(super) fn start(&mut self) -> Step {
        self.overdue()
    }

    /// The acknowledgement did not come in time.
    pub(super) fn overdue(&mut self) -> Step {
        if self.tries >= self.attempts {
            return Step::GaveUp;
        }
        self.tries += 1;
        Step::Send
    }

    /// What a message of the client means.
    pub(super) fn receive(&mut self, message: &[u8]) -> Step {
        match Packet::decode(message) {
            Ok(Packet::Ack { block }) => self.acknowledge(block),
            Ok(Packet::Error { code, message }) => Step::Ended { code, message },
            _ => Step::Wait,
        }
    }

    /// An acknowledgement of a block before the last one acknowledged, or of that one again, is a duplicate: answering it
    /// would double all traffic from then on (the Sorcerer's Apprentice, RFC 1123 section 4.2.3.1). One inside the
    /// window says that the rest was lost, and the next window starts behind it (RFC 7440, section 4).
    fn acknowledge(&mut self, block: u16) -> Step {
        if self.negotiating {
            if block != 0 {
                return Step::Wait;
            }
            self.negotiating = false;
        } else {
            let progress = u64::from(block.wrapping_sub(on_the_wire(self.acknowledged)));
            if progress == 0 || progress > self.sent - self.acknowledged {
                return Step::Wait;
            }
            self.acknowledged += progress;
        }
        if self.acknowledged == self.blocks() {
            return Step::Done;
        }
        self.tries = 1;
        Step::Send
    }

    /// Appends the messages to send now, one behind the other: all have the returned length, except the last, which may
    /// be shorter.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) -> usize {
        if self.negotiating {
            self.sent_again += u64::from(self.tries > 1);
            let message = Packet::OptionAck { options: self.terms.granted.clone() }.encode();
            out.extend_from_slice(&message);
            return message.len();
        }
        let end = (self.acknowledged + u64::from(self.terms.window)).min(self.blocks());
        for index in self.acknowledged..end {
            out.extend_from_slice(&[0, 3]);
            out.extend_from_slice(&on_the_wire(index + 1).to_be_bytes());
            out.extend_from_slice(self.block(index));
        }
        self.sent_again += self.sent.min(end) - self.acknowledged;
        self.sent = self.sent.max(end);
        usize::from(self.terms.block_size) + 4
    }

    /// The last block is the first that is not full, which may be empty.
    fn blocks(&self) -> u64 {
        self.file.len() as u64 / u64::from(self.terms.block_size) + 1
    }

    fn block(&self, index: u64) -> &[u8] {
        let start =
            usize::try_from(index * u64::from(self.terms.block_size)).unwrap_or(usize::MAX).min(self.file.len());
        let end = (start + usize::from(self.terms.block_size)).min(self.file.len());
        self.file.get(start..end).unwrap_or_default()
    }
}

/// Block numbers start at 1 and wrap to 0.
#[expect(clippy::cast_possible_truncation, reason = "wrapping is what the number does")]
fn on_the_wire(block: u64) -> u16 {
    block as u16
}

#[cfg(test)]
#[path = "transfer_tests.rs"]
mod tests;
