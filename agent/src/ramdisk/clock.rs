//! The wall clock, which TLS needs: real machines come with dead batteries and clocks years behind.

use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
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
