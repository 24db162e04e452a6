//! How a client behaves, and what it may report of a BMC's cipher suites.

use std::time::Duration;

use crate::{CipherSuite, SUITE_3, SUITE_17};

/// How patient a [`Client`](crate::Client) is, and what it may speak.
#[derive(Clone, Debug)]
pub struct Options {
    /// For a whole command, setting up a session included.
    pub deadline: Duration,
    /// Until a datagram is sent a second time; later pauses grow.
    pub retransmit_after: Duration,
    /// Silence after which a session, or a half-finished setup, is taken for lost and begun anew.
    pub give_up_session_after: Duration,
    /// Pause between two commands at least. BMCs exist that stop answering after a burst.
    pub pace: Duration,
    /// How long a BMC that says "busy" or "starting" is asked again, within the deadline.
    pub ask_again_for: Duration,
    /// The cipher suites allowed, the preferred one first.
    pub suites: Vec<&'static CipherSuite>,
    /// The suite this BMC used when it was last talked to, by whoever remembers: it is tried first, and refusing it is
    /// a [`Downgrade`].
    pub known_suite: Option<&'static CipherSuite>,
}

impl Default for Options {
    /// 15 s a command, 1 s to the second transmission, 5 s to a new session, 10 ms between commands, 10 s for a busy
    /// BMC; suite 17, then 3.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(15),
            retransmit_after: Duration::from_secs(1),
            give_up_session_after: Duration::from_secs(5),
            pace: Duration::from_millis(10),
            ask_again_for: Duration::from_secs(10),
            suites: vec![&SUITE_17, &SUITE_3],
            known_suite: None,
        }
    }
}

/// A BMC now refuses a better cipher suite than the one it accepts, which it used before. BMCs do not unlearn: it was
/// reset or replaced, or somebody answers in its stead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Downgrade {
    /// The suite it used.
    pub from: &'static CipherSuite,
    /// The suite it uses now.
    pub to: &'static CipherSuite,
}
