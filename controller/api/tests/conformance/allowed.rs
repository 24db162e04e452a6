//! The differences that are meant: `allowed.txt`, a line each, `Kind.version path: what | reason`.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::Differences;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/allowed.txt");

/// The list, and which of its lines have been needed.
pub(crate) struct Allowed {
    lines: BTreeMap<String, bool>,
    faults: Vec<String>,
}

impl Allowed {
    pub(crate) fn read() -> Self {
        let mut allowed = Self { lines: BTreeMap::new(), faults: Vec::new() };
        for line in std::fs::read_to_string(FILE).unwrap().lines() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            match line.rsplit_once(" | ") {
                Some((difference, reason)) if !reason.trim().is_empty() => {
                    allowed.lines.insert(difference.to_owned(), false);
                }
                _ => allowed.faults.push(format!("allowed.txt: no reason: {line}")),
            }
        }
        allowed
    }

    /// The differences that nothing allows, and how many are allowed.
    pub(crate) fn judge(&mut self, found: &Differences) -> (Vec<String>, usize) {
        let distinct: BTreeSet<&String> = found.lines.iter().collect();
        let (mut open, mut covered) = (Vec::new(), 0);
        for line in distinct {
            if let Some(used) = self.lines.get_mut(line) {
                *used = true;
                covered += 1;
            } else {
                open.push(line.clone());
            }
        }
        (open, covered)
    }

    /// Lines that no difference needed, and lines that cannot be read.
    pub(crate) fn stale(self) -> Vec<String> {
        let stale = self.lines.into_iter().filter(|(_, used)| !used);
        self.faults
            .into_iter()
            .chain(stale.map(|(line, _)| format!("allowed.txt: no such difference: {line}")))
            .collect()
    }
}
