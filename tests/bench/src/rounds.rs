//! The same thing measured several times. Ours and others' take turns, so that whatever else runs on the machine meets
//! both, and the median counts.

use std::fmt;

/// What each round found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rounds(Vec<f64>);

impl Rounds {
    /// One round more.
    pub fn push(&mut self, found: f64) {
        self.0.push(found);
    }

    /// The median; of an even number of rounds the lower one, zero of none.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.sorted().get(self.0.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

/// The median with the spread: `98.2 (61.0 to 99.9 in 5 rounds)`.
impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sorted = self.sorted();
        let (first, last) = (sorted.first().copied().unwrap_or_default(), sorted.last().copied().unwrap_or_default());
        write!(f, "{:.1} ({first:.1} to {last:.1} in {} rounds)", self.median(), self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_counts_whatever_the_order() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.median(), 0.0);
        for found in [5.0, 1.0, 100.0, 2.0] {
            rounds.push(found);
        }
        assert_eq!((rounds.median(), rounds.to_string().as_str()), (2.0, "2.0 (1.0 to 100.0 in 4 rounds)"));
        rounds.push(3.0);
        assert_eq!(rounds.median(), 3.0);
    }
}
