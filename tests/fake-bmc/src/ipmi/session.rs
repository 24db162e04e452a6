//! A session that is established (§13.28–§13.32).

use std::net::SocketAddr;

use rand::RngExt as _;
use tokio::time::Instant;

use super::crypto::{Suite, decrypt, encrypt};
use super::sol::Line;
use super::wire::{self, Packet};

/// Keys and counters of one console.
pub(super) struct Session {
    pub(super) suite: Suite,
    /// The console's id: what it is addressed by.
    pub(super) console: u32,
    pub(super) peer: SocketAddr,
    /// The highest privilege it may ask for, and the one it has.
    pub(super) privilege_max: u8,
    pub(super) privilege: u8,
    pub(super) heard: Instant,
    pub(super) line: Option<Line>,
    /// The last request's sequence number, function and command, and its answer: a repetition is answered and not
    /// carried out.
    pub(super) answered: Option<([u8; 3], Vec<u8>)>,
    /// The first sealed answer, for whoever wants to replay it.
    pub(super) first: Option<Vec<u8>>,
    k1: Vec<u8>,
    key: [u8; 16],
    sent: u32,
    newest: u32,
    /// The 32 before the newest.
    seen: u32,
}

impl Session {
    pub(super) fn new(suite: Suite, sik: &[u8], console: u32, peer: SocketAddr, privilege_max: u8) -> Self {
        let k2 = suite.hmac(sik, &[2; 20]);
        let mut key = [0; 16];
        key.iter_mut().zip(k2).for_each(|(to, from)| *to = from);
        Self {
            suite,
            console,
            peer,
            privilege_max,
            // §13.17: every session begins with the privilege of a user.
            privilege: privilege_max.min(2),
            heard: Instant::now(),
            line: None,
            answered: None,
            first: None,
            k1: suite.hmac(sik, &[1; 20]),
            key,
            sent: 0,
            newest: 0,
            seen: 0,
        }
    }

    /// What a packet carries; `None` when it is to be dropped.
    pub(super) fn unseal(&mut self, packet: &Packet<'_>) -> Option<Vec<u8>> {
        if !packet.authenticated || !packet.encrypted {
            return None;
        }
        let covered = packet.whole.len().checked_sub(self.suite.code_length())?;
        let (covered, code) = packet.whole.split_at_checked(covered)?;
        if !self.suite.hmac(&self.k1, covered).starts_with(code) || !self.is_new(packet.sequence) {
            return None;
        }
        self.heard = Instant::now();
        decrypt(&self.key, packet.payload)
    }

    pub(super) fn seal(&mut self, kind: u8, payload: &[u8]) -> Vec<u8> {
        self.sent = self.sent.wrapping_add(1).max(1);
        let encrypted = encrypt(&self.key, rand::rng().random(), payload);
        wire::sealed(kind, self.console, self.sent, &encrypted, |covered| {
            let mut code = self.suite.hmac(&self.k1, covered);
            code.truncate(self.suite.code_length());
            code
        })
    }

    /// §6.12.13: each number once, and none too old.
    fn is_new(&mut self, sequence: u32) -> bool {
        if sequence == 0 {
            return false;
        }
        if sequence > self.newest {
            let ahead = sequence - self.newest;
            self.seen = if ahead > 31 { 0 } else { self.seen << ahead | 1 << (ahead - 1) };
            self.newest = sequence;
            return true;
        }
        let behind = self.newest - sequence;
        if behind == 0 || behind > 32 {
            return false;
        }
        let bit = 1 << (behind - 1);
        let new = self.seen & bit == 0;
        self.seen |= bit;
        new
    }
}
