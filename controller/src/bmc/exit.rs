//! How a command ended, in a number that scripts can tell apart.

use std::fmt;
use std::process::ExitCode;

use bessemer_bmc::BmcError;

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
/// As shells have it for Ctrl-C.
const INTERRUPTED: u8 = 130;

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

    /// Ctrl-C.
    pub(super) fn interrupted() -> Self {
        let words = "interrupted; what was asked of the bmc may still come about";
        Self { code: INTERRUPTED, words: words.to_owned() }
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
