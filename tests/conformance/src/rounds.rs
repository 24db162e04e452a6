//! A real server follows hash tables, clocks and caches here and there. So what is wrong in the first round is tried twice
//! more: wrong in two of the three is wrong, and not chance.

use std::collections::{BTreeMap, BTreeSet};

const MOST: usize = 3;

/// What the rounds so far found.
#[derive(Debug, Default)]
pub struct Rounds {
    done: usize,
    times: BTreeMap<String, usize>,
}

/// What to think after a round.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing was wrong, or nothing more than once.
    Right,
    /// It takes another round.
    Again,
    /// What was wrong more than once.
    Wrong(Vec<String>),
}

impl Rounds {
    /// Takes what was wrong in a round.
    pub fn add(&mut self, faults: BTreeSet<String>) -> Verdict {
        self.done = self.done.saturating_add(1);
        for fault in faults {
            let times = self.times.entry(fault).or_default();
            *times = times.saturating_add(1);
        }
        let twice: Vec<String> =
            self.times.iter().filter(|(_, times)| **times > 1).map(|(fault, _)| fault.clone()).collect();
        match twice.is_empty() {
            false => Verdict::Wrong(twice),
            true if self.times.is_empty() || self.done >= MOST => Verdict::Right,
            true => Verdict::Again,
        }
    }

    /// What was wrong in one round only.
    pub fn once_only(&self) -> impl Iterator<Item = &str> {
        self.times.iter().filter(|(_, times)| **times == 1).map(|(fault, _)| fault.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(rounds: &[&[&str]]) -> Verdict {
        let mut all = Rounds::default();
        let mut last = Verdict::Again;
        for faults in rounds {
            assert_eq!(last, Verdict::Again, "a round too many");
            last = all.add(faults.iter().map(|fault| (*fault).to_owned()).collect());
        }
        last
    }

    #[test]
    fn twice_in_three_rounds_is_wrong() {
        assert_eq!(verdict(&[&[]]), Verdict::Right);
        assert_eq!(verdict(&[&["a"]]), Verdict::Again);
        assert_eq!(verdict(&[&["a"], &["a", "b"]]), Verdict::Wrong(vec!["a".into()]));
        assert_eq!(verdict(&[&["a"], &[]]), Verdict::Again);
        assert_eq!(verdict(&[&["a"], &["b"]]), Verdict::Again);
        assert_eq!(verdict(&[&["a"], &[], &["a"]]), Verdict::Wrong(vec!["a".into()]));
        assert_eq!(verdict(&[&["a"], &["b"], &["b"]]), Verdict::Wrong(vec!["b".into()]));
        assert_eq!(verdict(&[&["a"], &["b"], &["c"]]), Verdict::Right);
    }
}
