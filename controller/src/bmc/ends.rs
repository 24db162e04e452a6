//! Signals that end a command.

use std::fs;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::Failure;

/// Ctrl-C, a polite kill, and the end of the terminal, listened to from the time this is made: from then on none of them
/// ends the program by itself.
pub(super) struct Ends {
    interrupt: Signal,
    terminate: Signal,
    /// None under `nohup`, which means that the terminal's end is none of ours.
    hang_up: Option<Signal>,
}

impl Ends {
    pub(super) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::here(format!("cannot listen for signals: {error}")));
        let hang_up = (!is_hang_up_ignored()).then(|| listen(SignalKind::hangup())).transpose()?;
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())?, hang_up })
    }

    /// The next one's number.
    pub(super) async fn next(&mut self) -> SignalKind {
        let Self { interrupt, terminate, hang_up } = self;
        let hang_up = async {
            match hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
            _ = hang_up => SignalKind::hangup(),
        }
    }
}

fn is_hang_up_ignored() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_first(&status))
}

/// Whether the first signal, which is SIGHUP, is in the mask of those ignored (proc_pid_status(5)).
fn ignores_first(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nohup_is_seen() {
        for (status, ignored) in [
            ("Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n", true),
            ("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n", false),
            ("", false),
        ] {
            assert_eq!(ignores_first(status), ignored, "{status}");
        }
    }
}
