//! Where a controller misbehaves. All of it can be changed while it runs; counts are used up.

use std::time::Duration;

/// A completion code instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Network function of the request.
    pub function: u8,
    /// Command of the request.
    pub command: u8,
    /// First byte of the request's data, where only one kind of request is meant.
    pub first: Option<u8>,
    /// The code.
    pub code: u8,
    /// How many requests meet it.
    pub times: u32,
}

/// A controller that cannot bear haste.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// More requests than this
    pub requests: usize,
    /// within this time
    pub within: Duration,
    /// make it deaf for so long.
    pub deaf_for: Duration,
}

/// What goes wrong. The default is: nothing.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Datagrams from consoles that get lost.
    pub lose_requests: u32,
    /// Answers that get lost.
    pub lose_answers: u32,
    /// Answers that are held back until the next one has gone, and so come late and out of order.
    pub hold_answers: u32,
    /// Answers that come twice.
    pub double_answers: u32,
    /// Answers before which the session's first answer is sent once more, as an attacker would.
    pub replay_answers: u32,
    /// Answers whose message has a wrong checksum, under a right authentication code.
    pub break_checksums: u32,
    /// Answers with a wrong authentication code, before the right one.
    pub forge_answers: u32,
    /// Answers without authentication and encryption, before the right one.
    pub bare_answers: u32,
    /// Answers before which random bytes come.
    pub garbage: u32,
    /// Answers cut to this many bytes of data.
    pub cut_answers: Option<usize>,
    /// Completion codes instead of answers, the first that fits.
    pub verdicts: Vec<Verdict>,
    /// How much data an answer may have; requests for more are refused with 0xCA.
    pub answer_max: Option<usize>,
    /// Reads of SDR, SEL and the like that find their reservation lost.
    pub lose_reservations: u32,
    /// The event log's last entry names the first one as the next.
    pub log_goes_round: bool,
    /// Boot flags are kept and read back as valid without lifetime and firmware interface.
    pub boot_flags_without_bits: bool,
    /// How much haste is borne.
    pub burst: Option<Burst>,
    /// How long each answer takes.
    pub latency: Duration,
    /// Wrong check values in RAKP messages 2, as from somebody who does not know the password.
    pub wrong_rakp2: bool,
    /// Wrong check values in RAKP messages 4.
    pub wrong_rakp4: bool,
    /// Refuse more sessions than this with "insufficient resources".
    pub sessions_max: Option<usize>,
    /// Network function and command of one request that is carried out and whose answer gets lost.
    pub lose_answer_to: Option<(u8, u8)>,
    /// Proposals of an unknown cipher suite are dropped instead of refused.
    pub drops_unknown_suites: bool,
    /// Chassis controls that are accepted and not carried out.
    pub ignore_power: bool,
}

/// Whether a counted fault happens now; uses it up.
pub(super) fn due(count: &mut u32) -> bool {
    let happens = *count > 0;
    *count = count.saturating_sub(1);
    happens
}
