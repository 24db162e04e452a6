//! What the agent says: plain lines with the machine's uptime, on the console in the ramdisk and in the journal of an installed host.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bessemer_protocol::MAX_LOG_LINE;
use rustix::time::{ClockId, clock_gettime};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// Most of it that is kept for the controller, in bytes.
const LONGEST_TAIL: usize = 16 << 10;

/// The newest lines.
#[derive(Debug)]
struct Tail {
    lines: VecDeque<String>,
    /// Of these, from the newest on, so many the controller was not told.
    untold: usize,
}

static TAIL: Mutex<Tail> = Mutex::new(Tail { lines: VecDeque::new(), untold: 0 });

/// Standard output, of which the end is kept.
struct Kept;

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        keep(bytes);
        io::stdout().write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

/// Keeps whole lines, the newest that fit.
pub(crate) fn keep(bytes: &[u8]) {
    let mut tail = tail();
    for line in String::from_utf8_lossy(bytes).lines() {
        tail.lines.push_back(line.chars().take(MAX_LOG_LINE).collect());
        tail.untold += 1;
    }
    let mut length: usize = tail.lines.iter().map(|line| line.len() + 1).sum();
    while length > LONGEST_TAIL {
        length -= tail.lines.pop_front().map_or(length, |line| line.len() + 1);
    }
    tail.untold = tail.untold.min(tail.lines.len());
}

/// What was said since this was last called, oldest first, as far as it was kept.
pub(crate) fn untold_tail() -> Vec<String> {
    let mut tail = tail();
    let told = tail.lines.len() - std::mem::take(&mut tail.untold);
    tail.lines.iter().skip(told).cloned().collect()
}

/// What was said last, oldest first, whether the controller was told or not.
pub(crate) fn whole_tail() -> Vec<String> {
    tail().lines.iter().cloned().collect()
}

fn tail() -> MutexGuard<'static, Tail> {
    TAIL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds since the kernel started; the wall clock of a fresh machine may be anything.
struct SinceBoot;

impl FormatTime for SinceBoot {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let uptime = clock_gettime(ClockId::Boottime);
        write!(writer, "[{:5}.{:03}] bessemer:", uptime.tv_sec, uptime.tv_nsec / 1_000_000)
    }
}

/// Sends what is traced from here on to standard output. A second call changes nothing.
pub(crate) fn start() {
    let lines = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_target(false)
        .with_level(false)
        .with_max_level(tracing::Level::INFO)
        .with_timer(SinceBoot)
        .with_writer(|| Kept);
    // Only fails when a subscriber is there already, which then does the same.
    let _ = lines.try_init();
}
