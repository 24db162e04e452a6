//! Counting tests.

use super::skips::Allowed;

/// What came of some tests.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    /// By name.
    pub(crate) failures: Vec<String>,
    skips: Vec<(String, String)>,
    skipped: usize,
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
            if allowed.covers(lane, &name, &reason) {
                println!("  SKIP {name}: {reason}");
                self.skipped += 1;
            } else {
                println!("  SKIP {name}: {reason} (not in tests/allowed-skips.txt)");
                self.failures.push(format!("{name}: skipped: {reason}"));
            }
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
    }

    pub(crate) fn counts(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failures.len(), self.skipped)
    }
}
