//! How much one source may ask: a fixed table, whatever strangers send, in which each source has its own rate.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Sources that fall on the same one share its rate; a forger of addresses fills others' only by chance.
const SLOTS: usize = 4096;
/// A boot is some ten requests; a client that repeats each millisecond is broken.
const EACH: Duration = Duration::from_millis(10);
/// Requests that may come at once after a pause.
const BURST: u32 = 100;

/// The rates of all sources.
pub(crate) struct Sources {
    start: Instant,
    /// For each slot, when its requests so far are paid for, in microseconds since the start.
    paid: Box<[AtomicU64]>,
}

impl Sources {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), paid: (0..SLOTS).map(|_| AtomicU64::new(0)).collect() }
    }

    /// True if one more request of the source with this hash is to be looked at.
    pub(crate) fn admit(&self, source: u64, now: Instant) -> bool {
        let index = usize::try_from(source % SLOTS as u64).unwrap_or(0);
        let Some(slot) = self.paid.get(index) else { return true };
        let now = micros(now.saturating_duration_since(self.start));
        let (each, ahead) = (micros(EACH), micros(EACH * BURST));
        slot.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |paid| {
            let paid = paid.max(now) + each;
            (paid <= now + ahead).then_some(paid)
        })
        .is_ok()
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_to_its_rate_and_others_are_not() {
        let sources = Sources::new();
        let (loud, quiet) = (7, 8);
        let now = sources.start + Duration::from_secs(5);
        let admitted = |source, now| (0..1000).filter(|_| sources.admit(source, now)).count();
        assert_eq!(admitted(loud, now), 100);
        assert_eq!(admitted(loud, now), 0);
        assert!(sources.admit(quiet, now));
        assert_eq!(admitted(loud, now + Duration::from_millis(50)), 5);
        assert_eq!(admitted(loud, now + Duration::from_secs(60)), 100);
    }
}
