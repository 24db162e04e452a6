//! The end of the agent's console for the controller, when something failed: what led to it is rarely in the failure's own sentence.

use std::time::{Duration, Instant};

use bessemer_protocol::{MAX_LOG_LINE, Report, Up};

use crate::mask::Masker;
use crate::{console, kernel_log};

/// The version of the protocol that brought [`Up::Log`].
const SINCE_VERSION: u32 = 2;

/// Least time between two of them.
const INTERVAL: Duration = Duration::from_secs(1);

/// When to say it.
#[derive(Debug, Default)]
pub(crate) struct LogTail {
    /// Something failed since it was last said.
    wanted: bool,
    /// The stream's version knows it.
    understood: bool,
    said: Option<Instant>,
}

impl LogTail {
    /// A new stream, whose version is not known yet.
    pub(crate) fn opened(&mut self) {
        self.understood = false;
    }

    /// The controller speaks `protocol`.
    pub(crate) fn welcomed(&mut self, protocol: u32) {
        self.understood = protocol >= SINCE_VERSION;
    }

    /// Something failed.
    pub(crate) fn failed(&mut self) {
        self.wanted = true;
    }

    /// What is to be said now: all lines since it was last said, of several failures together.
    pub(crate) fn due(&mut self) -> Option<Up> {
        if !self.wanted || !self.understood || self.said.is_some_and(|said| said.elapsed() < INTERVAL) {
            return None;
        }
        self.wanted = false;
        self.said = Some(Instant::now());
        let lines = plain(console::untold_tail());
        (!lines.is_empty()).then_some(Up::Log { lines })
    }
}

/// The answer to [`bessemer_protocol::Work::Collect`].
pub(crate) fn collected() -> Report {
    let kernel = kernel_log::tail().unwrap_or_else(|error| vec![format!("the kernel's log cannot be read: {error}")]);
    Report::Collected { agent: plain(console::whole_tail()), kernel: plain(kernel) }
}

/// Fit for the controller: nothing secret, nothing that moves a terminal's cursor, nothing too long.
fn plain(lines: Vec<String>) -> Vec<String> {
    let mut masker = Masker::default();
    let fit =
        |line: String| masker.mask(&line).chars().filter(|c| !c.is_control()).take(MAX_LOG_LINE).collect::<String>();
    lines.into_iter().map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_for_a_failure_to_a_controller_that_knows_it() {
        let mut log = LogTail::default();
        console::keep(b"[1] bessemer: LOGIN=abcdef.0123456789abcdef\x07 went wrong\n");
        log.failed();
        assert_eq!(log.due(), None, "not before the welcome");
        log.welcomed(1);
        assert_eq!(log.due(), None, "an old controller ends the stream for it");
        log.welcomed(2);
        let Some(Up::Log { lines }) = log.due() else { panic!("nothing") };
        assert!(lines.iter().any(|line| line == "[1] bessemer: LOGIN=*** went wrong"), "{lines:?}");
        console::keep(b"[2] later\n");
        assert_eq!(log.due(), None, "nothing failed since");
        log.failed();
        assert_eq!(log.due(), None, "at most one a second");
    }
}
