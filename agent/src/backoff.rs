//! Waiting between attempts at something that is not in our hands: doubling, jittered so that a rack does not knock in step, with a ceiling.

use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};

/// The pauses of one repeated attempt.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    next: Duration,
    ceiling: Duration,
}

impl Backoff {
    /// The first pause is about `first`, none is longer than one and a half `ceiling`.
    pub(crate) fn new(first: Duration, ceiling: Duration) -> Self {
        Self { first, next: first, ceiling }
    }

    /// The next pause, between half and one and a half of its nominal length.
    pub(crate) fn next(&mut self) -> Duration {
        let nominal = self.next;
        self.next = (nominal * 2).min(self.ceiling);
        nominal.mul_f64(0.5 + random_fraction())
    }

    /// Waits for the next pause.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.next()).await;
    }

    /// After a success: start again with short pauses.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

/// From 0 to 1. Without a source of randomness the middle, as jitter is a courtesy and not a secret.
fn random_fraction() -> f64 {
    let mut bytes = [0; 4];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_ne_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_ceiling_and_never_stray_by_more_than_half() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(400));
        for nominal in [100, 200, 400, 400] {
            let pause = backoff.next().as_millis();
            assert!((nominal / 2..=nominal * 3 / 2).contains(&pause), "{pause} for {nominal}");
        }
        backoff.reset();
        assert!(backoff.next().as_millis() <= 150);
    }
}
