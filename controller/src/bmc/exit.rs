//! How a command ended, in a number that scripts can tell apart.

use std::fmt;
use std::process::ExitCode;

use bessemer_bmc::BmcError;
use tokio::signal::unix::SignalKind;

/// Anything else.
const FAILED: u8 = 1;
/// As clap has it: the command line is wrong.
const USAGE: u8 = 2;
/// The BMC accepted it and had not done it in time.
const TIMED_OUT: u8 = 3;
/// Nobody answers.
const UNREACHABLE: u8 = 4;
/// User or password refused.
const LOCKED_OUT: u8 = 5;
/// This BMC cannot do that.
const UNSUPPORTED: u8 = 6;
/// The BMC accepted it and says something else.
const CONTRADICTED: u8 = 7;
/// The BMC cannot do it now.
const BUSY: u8 = 8;
/// What was asked for is wrong in itself.
const REFUSED: u8 = 9;
/// As shells have it for programs that a signal ended: 130 for Ctrl-C.
const SIGNALLED: u8 = 128;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(super) struct Failure {
    code: u8,
    words: String,
}

impl Failure {
    /// Something about the command line or the files it names.
    pub(super) fn usage(words: impl Into<String>) -> Self {
        Self { code: USAGE, words: words.into() }
    }

    /// Something about this machine.
    pub(super) fn here(words: impl Into<String>) -> Self {
        Self { code: FAILED, words: words.into() }
    }

    /// Waited for in vain.
    pub(super) fn timed_out(words: impl Into<String>) -> Self {
        Self { code: TIMED_OUT, words: words.into() }
    }

    /// Ctrl-C or another signal.
    pub(super) fn interrupted(signal: SignalKind) -> Self {
        let words = "interrupted; what was asked of the bmc may still come about";
        let number = u8::try_from(signal.as_raw_value()).unwrap_or_default();
        Self { code: SIGNALLED.saturating_add(number), words: words.to_owned() }
    }

    /// With what can be done about it on this command line.
    pub(super) fn with_remedy(mut self, remedy: &str) -> Self {
        self.words = format!("{}: {remedy}", self.words);
        self
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        self.code.into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl From<BmcError> for Failure {
    fn from(error: BmcError) -> Self {
        let code = match &error {
            BmcError::BadAddress { .. } => USAGE,
            BmcError::BadCredentials { .. } => LOCKED_OUT,
            BmcError::Unreachable { .. } => UNREACHABLE,
            BmcError::Busy { .. } => BUSY,
            BmcError::Unsupported { .. } => UNSUPPORTED,
            BmcError::Refused { .. } => REFUSED,
            BmcError::Contradicted { .. } => CONTRADICTED,
            BmcError::NotApplied { .. } | BmcError::Uncertain { .. } => TIMED_OUT,
            BmcError::Protocol { .. } => FAILED,
        };
        Self { code, words: error.to_string() }
    }
}
