//! What is printed while something runs: one line per happening, each with the time since the start.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

static START: OnceLock<Instant> = OnceLock::new();

/// Starts the clock.
pub(crate) fn start() {
    START.get_or_init(Instant::now);
}

/// Since the start.
pub(crate) fn elapsed() -> Duration {
    START.get_or_init(Instant::now).elapsed()
}

/// Prints one line.
pub(crate) fn say(what: impl AsRef<str>) {
    let seconds = elapsed().as_secs_f64();
    println!("{:>4}:{:04.1}  {}", (seconds / 60.0) as u64, seconds % 60.0, what.as_ref());
}
