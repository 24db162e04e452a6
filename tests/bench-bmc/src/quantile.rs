//! What is usual and what is the worst of a hundred.

use std::time::Duration;

/// In milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    /// 99 of 100 are faster.
    pub(crate) slowest: f64,
}

impl Spread {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |hundredths: usize| {
            let place = (times.len() * hundredths / 100).min(times.len().saturating_sub(1));
            times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
        };
        Self { median: at(50), slowest: at(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred() {
        let spread = Spread::of((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!((spread.median, spread.slowest), (51.0, 100.0));
        assert_eq!(Spread::of(Vec::new()).median, 0.0);
    }
}
