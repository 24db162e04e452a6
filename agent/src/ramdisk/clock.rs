//! The clocks: the machine's own, which TLS needs, and the controller's, by which deadlines are judged. Real machines come with dead
//! batteries and clocks years behind, and with clocks that keep local time and are hours ahead.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use tokio::time::Instant;
use tracing::{info, warn};

/// Sets the clock to `overlay` (seconds since the epoch) unless it is later already, as the kernel read it from the RTC.
pub(super) fn advance_to(overlay: i64) {
    let now = clock_gettime(ClockId::Realtime).tv_sec;
    if now >= overlay {
        return;
    }
    match clock_settime(ClockId::Realtime, Timespec { tv_sec: overlay, tv_nsec: 0 }) {
        Ok(()) => info!("clock was {} s behind the controller and is set", overlay - now),
        Err(error) => warn!("clock is {} s behind the controller and cannot be set: {error}", overlay - now),
    }
}

/// The controller's time as this boot knows it: what the overlay said and then each stream, and what passed since. The machine's own clock has no
/// part in it. Until the first stream it is behind by the time from the overlay's making to the agent's start.
#[derive(Debug, Clone)]
pub(super) struct ControllerTime {
    start: Instant,
    /// Seconds since the epoch.
    at_start: Arc<AtomicI64>,
}

impl ControllerTime {
    /// It is `overlay` (seconds since the epoch) now.
    pub(super) fn starting_at(overlay: i64) -> Self {
        Self { start: Instant::now(), at_start: Arc::new(AtomicI64::new(overlay)) }
    }

    /// The controller says that it is `now` (seconds since the epoch).
    pub(super) fn told(&self, now: i64) {
        self.at_start.store(now.saturating_sub(self.passed()), Ordering::Relaxed);
    }

    fn passed(&self) -> i64 {
        i64::try_from(self.start.elapsed().as_secs()).unwrap_or(i64::MAX)
    }

    /// Seconds since the epoch.
    pub(super) fn now(&self) -> i64 {
        self.at_start.load(Ordering::Relaxed).saturating_add(self.passed())
    }

    /// When it is `deadline` (seconds since the epoch); at once if that has passed.
    pub(super) fn instant_of(&self, deadline: i64) -> Instant {
        /// So that a deadline at the end of time does not overflow.
        const LONGEST: u64 = 7 * 24 * 3600;
        let left = u64::try_from(deadline.saturating_sub(self.now())).unwrap_or(0);
        Instant::now() + Duration::from_secs(left.min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_are_the_controllers_whatever_the_machines_clock_says() {
        // Decades before and after what this machine's clock says.
        for overlay in [1_000_000, 9_000_000_000] {
            let start = Instant::now() - Duration::from_secs(60);
            let time = ControllerTime { at_start: Arc::new(AtomicI64::new(overlay - 60)), start };
            let now = Instant::now();
            assert!((overlay..overlay + 10).contains(&time.now()));
            assert!((80..=90).contains(&(time.instant_of(overlay + 90) - now).as_secs()));
            assert!((time.instant_of(overlay - 1) - now).as_secs() < 10);
            // The firmware took ten minutes after the overlay was made.
            time.told(overlay + 600);
            assert!((overlay + 600..overlay + 610).contains(&time.now()));
            assert!((time.instant_of(overlay + 90) - now).as_secs() < 10, "too late already");
            let _ = (time.instant_of(i64::MAX), time.instant_of(i64::MIN));
        }
    }
}
