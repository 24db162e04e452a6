//! What the agent says: plain lines with the machine's uptime, on the console in the ramdisk and in the journal of an installed host.

use std::fmt;

use rustix::time::{ClockId, clock_gettime};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

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
        .with_timer(SinceBoot);
    // Only fails when a subscriber is there already, which then does the same.
    let _ = lines.try_init();
}
