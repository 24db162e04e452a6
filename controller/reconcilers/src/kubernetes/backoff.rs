//! How long to wait before trying again: doubling, with jitter, to a ceiling of minutes.

use std::time::Duration;

/// A doubling wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    /// After the first failure.
    pub(crate) first: Duration,
    /// Never longer.
    pub(crate) ceiling: Duration,
}

impl Backoff {
    /// The wait after `failures` in a row (1 for the first). `jitter` from 0 to 1 takes off up to a quarter, so that
    /// hosts that failed together do not come back together.
    pub(crate) fn after(self, failures: i32, jitter: f64) -> Duration {
        let doublings = failures.saturating_sub(1).clamp(0, 16);
        let wait = self.first.saturating_mul(1 << doublings).min(self.ceiling);
        wait.mul_f64(1.0 - 0.25 * jitter.clamp(0.0, 1.0))
    }
}

/// From 0 to 1; not for secrets.
pub(crate) fn jitter() -> f64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    // 32 random bits are exact in an f64.
    f64::from(u32::try_from(high >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_the_ceiling() {
        let backoff = Backoff { first: Duration::from_secs(10), ceiling: Duration::from_secs(60) };
        let waits: Vec<u64> = [1, 2, 3, 4, 100, 0, -1].map(|n| backoff.after(n, 0.0).as_secs()).to_vec();
        assert_eq!(waits, [10, 20, 40, 60, 60, 10, 10]);
    }

    #[test]
    fn jitter_shortens_by_a_quarter_at_most() {
        let backoff = Backoff { first: Duration::from_secs(100), ceiling: Duration::from_secs(100) };
        for _ in 0..100 {
            let wait = backoff.after(1, jitter());
            assert!(wait <= Duration::from_secs(100) && wait >= Duration::from_secs(75), "{wait:?}");
        }
    }
}
