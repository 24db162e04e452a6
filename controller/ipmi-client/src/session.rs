//! An established session (§13.28–13.32): sealing what goes out, checking what comes in. No I/O, no clock.

use std::fmt;

use zeroize::Zeroizing;

use crate::crypto::{AesKey, matches};
use crate::message::RequestSequence;
use crate::packet::{self, PayloadType};
use crate::{CipherSuite, Malformed};

/// Length of the constants that K1 and K2 are made from (§13.32), whatever the hash.
const KEY_CONSTANT_LEN: usize = 20;

/// Keys and counters shared with a BMC. Dropping it wipes the keys.
pub struct Session {
    suite: &'static CipherSuite,
    console_session_id: u32,
    bmc_session_id: u32,
    k1: Zeroizing<Vec<u8>>,
    aes: AesKey,
    sent: u32,
    received: ReplayWindow,
    last_request: RequestSequence,
}

impl Session {
    pub(crate) fn new(suite: &'static CipherSuite, console_session_id: u32, bmc_session_id: u32, sik: &[u8]) -> Self {
        let k2 = suite.hash.hmac(sik, &[&[0x02; KEY_CONSTANT_LEN]]);
        Self {
            suite,
            console_session_id,
            bmc_session_id,
            k1: suite.hash.hmac(sik, &[&[0x01; KEY_CONSTANT_LEN]]),
            aes: AesKey::from_k2(&k2),
            sent: 0,
            received: ReplayWindow::default(),
            last_request: RequestSequence::new(0),
        }
    }

    /// The suite in use.
    #[must_use]
    pub fn suite(&self) -> &'static CipherSuite {
        self.suite
    }

    /// The BMC's id of this session, as Close Session names it.
    #[must_use]
    pub fn bmc_session_id(&self) -> u32 {
        self.bmc_session_id
    }

    /// A number for the next request.
    pub fn next_request(&mut self) -> RequestSequence {
        self.last_request = self.last_request.next();
        self.last_request
    }

    /// An IPMI message as a datagram, under the next session sequence number. `iv` must be random and fresh.
    ///
    /// A message sent again is sealed again: the BMC drops a session sequence number it has seen, and knows the
    /// repetition by its [`RequestSequence`].
    pub fn seal(&mut self, message: &[u8], iv: [u8; 16]) -> Vec<u8> {
        self.seal_as(PayloadType::Ipmi, message, iv)
    }

    /// Another payload than an IPMI message, as [`seal`](Self::seal) does it.
    pub fn seal_as(&mut self, kind: PayloadType, payload: &[u8], iv: [u8; 16]) -> Vec<u8> {
        // 0 means "outside a session": it is skipped when the count comes round.
        self.sent = self.sent.checked_add(1).unwrap_or(1);
        let encrypted = self.aes.encrypt(iv, payload);
        let (mut datagram, start) = packet::encode_sealed(kind, self.bmc_session_id, self.sent, &encrypted);
        let code = self.suite.hash.hmac(&self.k1, &[datagram.get(start..).unwrap_or_default()]);
        datagram.extend(code.iter().take(self.suite.integrity_len));
        datagram
    }

    /// The IPMI message inside a datagram of this session.
    ///
    /// # Errors
    /// When it is not of this session, not authentic, not encrypted, seen before, or not an IPMI message. None of
    /// these says anything about the session: anyone can send datagrams.
    pub fn open(&mut self, datagram: &[u8]) -> Result<Vec<u8>, Malformed> {
        match self.open_any(datagram)? {
            (PayloadType::Ipmi, message) => Ok(message),
            _ => Err(Malformed { what: "session packet", why: "is not an ipmi message" }),
        }
    }

    /// The payload of any kind inside a datagram of this session.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_any(&mut self, datagram: &[u8]) -> Result<(PayloadType, Vec<u8>), Malformed> {
        let fail = |why| Err(Malformed { what: "session packet", why });
        let packet = packet::decode(datagram)?;
        if packet.session_id != self.console_session_id {
            return fail("is of another session");
        }
        let Some(signed) = packet.signed else { return fail("is not authenticated") };
        let split = signed.len().checked_sub(self.suite.integrity_len);
        let Some((covered, code)) = split.and_then(|at| signed.split_at_checked(at)) else {
            return fail("is too short for its authentication code");
        };
        let expected = self.suite.hash.hmac(&self.k1, &[covered]);
        if !matches(&expected, code, self.suite.integrity_len) {
            return fail("has a wrong authentication code");
        }
        if !packet.encrypted {
            return fail("is not encrypted");
        }
        if !self.received.accept(packet.sequence) {
            return fail("was received before");
        }
        self.aes.decrypt(packet.payload).map(|payload| (packet.payload_type, payload))
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("suite", self.suite).field("sent", &self.sent).finish_non_exhaustive()
    }
}

/// Which of the latest sequence numbers have been seen: the newest, and a bit for each of the 64 up to it.
#[derive(Default)]
struct ReplayWindow {
    newest: u32,
    seen: u64,
}

impl ReplayWindow {
    /// Whether `sequence` is new and recent; if so it is remembered.
    fn accept(&mut self, sequence: u32) -> bool {
        if sequence == 0 {
            return false;
        }
        let ahead = sequence.wrapping_sub(self.newest);
        if self.seen == 0 {
            (self.newest, self.seen) = (sequence, 1);
            true
        } else if (1..=u32::MAX / 2).contains(&ahead) {
            self.seen = self.seen.checked_shl(ahead).unwrap_or(0) | 1;
            self.newest = sequence;
            true
        } else {
            let Some(bit) = 1u64.checked_shl(self.newest.wrapping_sub(sequence)) else { return false };
            let fresh = self.seen & bit == 0;
            self.seen |= bit;
            fresh
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SUITE_3, SUITE_17};

    /// A console and the BMC at its other end share the keys and swap the ids.
    fn pair(suite: &'static CipherSuite) -> (Session, Session) {
        (
            Session::new(suite, 0xa1, 0xb2, b"session integrity key"),
            Session::new(suite, 0xb2, 0xa1, b"session integrity key"),
        )
    }

    #[test]
    fn replays_and_old_packets_are_dropped() {
        let mut window = ReplayWindow::default();
        let accepted: Vec<bool> = [5, 5, 4, 6, 4, 0, 70, 6, 7, 7, 71].into_iter().map(|n| window.accept(n)).collect();
        assert_eq!(accepted, [true, false, true, true, false, false, true, false, true, false, true]);
        let mut window = ReplayWindow { newest: u32::MAX, seen: 1 };
        assert!(window.accept(1) && !window.accept(u32::MAX));
    }

    #[test]
    fn a_sealed_message_opens_once_at_the_other_end() {
        for suite in [&SUITE_3, &SUITE_17] {
            let (mut console, mut bmc) = pair(suite);
            let datagram = console.seal(b"message", [7; 16]);
            assert_eq!(bmc.open(&datagram).unwrap(), b"message");
            assert_eq!(bmc.open(&datagram).unwrap_err().why, "was received before");
            assert_eq!(console.open(&datagram).unwrap_err().why, "is of another session");
        }
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let (mut console, mut bmc) = pair(&SUITE_3);
        let datagram = console.seal(b"message", [7; 16]);
        // The RMCP header's reserved and sequence bytes are outside the code's cover.
        for position in (0..datagram.len()).filter(|position| ![1, 2].contains(position)) {
            let mut changed = datagram.clone();
            changed[position] ^= 0x40;
            assert!(bmc.open(&changed).is_err(), "byte {position}");
        }
        assert!(bmc.open(&datagram).is_ok());
    }

    #[test]
    fn debug_shows_no_key() {
        assert_eq!(format!("{:?}", pair(&SUITE_17).0), "Session { suite: CipherSuite(17), sent: 0, .. }");
    }

    proptest::proptest! {
        #[test]
        fn opening_anything_never_panics(mut datagram: Vec<u8>) {
            datagram.splice(0..0, [6, 0, 0xff, 7, 6, 0xc0, 0xb2, 0, 0, 0]);
            let _ = pair(&SUITE_3).1.open(&datagram);
        }
    }
}
