//! Counting tests.

use super::skips::{Allowed, Meaning};

/// What came of some tests.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    /// By name.
    pub(crate) failures: Vec<String>,
    skips: Vec<(String, String)>,
    skipped: usize,
    /// What is promised and was not looked at, in words.
    pub(crate) unproven: Vec<String>,
}

impl Tally {
    pub(crate) fn pass(&mut self, count: usize) {
        self.passed += count;
    }

    pub(crate) fn fail(&mut self, name: &str) {
        self.failures.push(name.to_owned());
    }

    pub(crate) fn skip(&mut self, name: &str, reason: &str) {
        self.skips.push((name.to_owned(), reason.to_owned()));
    }

    /// Shows each skip, and makes failures of those that are not allowed.
    pub(crate) fn settle(&mut self, lane: &str, allowed: &Allowed) {
        for (name, reason) in std::mem::take(&mut self.skips) {
            let meaning = allowed.meaning(lane, &name, &reason);
            match meaning {
                Some(_) => {
                    println!("  SKIP {name}: {reason}");
                    self.skipped += 1;
                }
                None => {
                    println!("  SKIP {name}: {reason} (not in tests/allowed-skips.txt)");
                    self.failures.push(format!("{name}: skipped: {reason}"));
                }
            }
            if meaning == Some(Meaning::Unproven) {
                self.unproven.push(format!("{name}: {reason}"));
            }
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
        self.unproven.extend(other.unproven);
    }

    pub(crate) fn counts(&self) -> String {
        let unproven = match self.unproven.len() {
            0 => String::new(),
            some => format!(" ({some} of them not proven here)"),
        };
        format!("{} passed, {} failed, {} skipped{unproven}", self.passed, self.failures.len(), self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_that_was_not_looked_at_is_in_the_summary() {
        let allowed = Allowed::parse("agent! | real | no root\nagent | other | slow\n").unwrap();
        let (mut lane, mut whole) = (Tally::default(), Tally::default());
        for (name, reason) in [("real", "no root"), ("other", "slow"), ("other", "not allowed")] {
            lane.skip(name, reason);
        }
        lane.settle("agent", &allowed);
        whole.add(lane);
        assert_eq!(whole.counts(), "0 passed, 1 failed, 2 skipped (1 of them not proven here)");
        assert_eq!(whole.unproven, ["real: no root"]);
    }
}
