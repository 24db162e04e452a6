//! The differences that may remain: for each step that answers differently, why, and exactly how.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::diff::diff;

/// The reason of a difference that nobody has explained.
const UNEXPLAINED: &str = "?";

/// How one step's answers differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The step.
    pub step: String,
    /// `-` lines of the first server, `+` lines of the second.
    pub lines: Vec<String>,
}

impl Found {
    /// What differs between the answers of two servers to `step`; `None` if nothing does.
    #[must_use]
    pub fn between(step: &str, first: &[String], second: &[String]) -> Option<Self> {
        let lines = diff(first, second);
        (!lines.is_empty()).then(|| Self { step: step.to_owned(), lines })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    reason: String,
    found: Found,
}

/// What is listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences(Vec<Listed>);

impl Differences {
    /// Reads blocks of `[step]`, `why: reason` and difference lines.
    ///
    /// # Errors
    /// When the file cannot be read or understood.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut all: Vec<Listed> = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(step) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let found = Found { step: step.to_owned(), lines: Vec::new() };
                all.push(Listed { reason: String::new(), found });
                continue;
            }
            let last = all.last_mut().with_context(|| format!("{line:?} stands before the first step"))?;
            if let Some(reason) = line.strip_prefix("why: ") {
                reason.clone_into(&mut last.reason);
            } else {
                ensure!(line.starts_with(['-', '+']), "{line:?} is neither a step, a reason nor a difference");
                last.found.lines.push(line.to_owned());
            }
        }
        Ok(Self(all))
    }

    /// What is wrong: differences that are not listed as they are, without a reason, or that are gone.
    #[must_use]
    pub fn complaints(&self, found: &[Found]) -> Vec<String> {
        let mut complaints = Vec::new();
        for one in found {
            match self.0.iter().find(|listed| listed.found.step == one.step) {
                None => complaints.push(format!("[{}] differs:\n{}", one.step, one.lines.join("\n"))),
                Some(listed) if listed.found != *one => {
                    let change = diff(&listed.found.lines, &one.lines).join("\n");
                    complaints.push(format!("[{}] differs otherwise than listed:\n{change}", one.step));
                }
                Some(listed) if listed.reason.is_empty() || listed.reason == UNEXPLAINED => {
                    complaints.push(format!("[{}] is listed without a reason", one.step));
                }
                Some(_) => {}
            }
        }
        for listed in &self.0 {
            if found.iter().all(|one| one.step != listed.found.step) {
                complaints.push(format!("[{}] differs no more: take it from the list", listed.found.step));
            }
        }
        complaints
    }

    /// The list as it would be for `found`, with the reasons that are known and `?` for the others.
    #[must_use]
    pub fn renewed(&self, found: &[Found]) -> String {
        let mut text = String::from(HEAD);
        for one in found {
            let listed = self.0.iter().find(|listed| listed.found.step == one.step);
            let reason = listed.map_or(UNEXPLAINED, |listed| &listed.reason);
            // writing to a string cannot fail
            write!(text, "\n[{}]\nwhy: {reason}\n{}\n", one.step, one.lines.join("\n")).ok();
        }
        text
    }
}

const HEAD: &str = "\
# Steps that a real kube-apiserver answers otherwise (-) than the embedded API (+), and why that is so.
# BESSEMER_UPDATE_DIFFERENCES=1 cargo test -p bessemer --test kubectl rewrites this file; a reason `?` fails the test.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn found(step: &str, lines: &[&str]) -> Found {
        Found { step: step.into(), lines: lines.iter().map(|line| (*line).to_owned()).collect() }
    }

    #[test]
    fn a_list_survives_being_written() {
        let all = [found("a: b", &["-out| x", "+err| y"]), found("c: d", &["+exit 1"])];
        let text = Differences::default().renewed(&all).replace("why: ?", "why: no pods");
        let list = Differences::parse(&text).unwrap();
        assert_eq!(list.renewed(&all), text);
        assert!(list.complaints(&all).is_empty());
    }

    #[test]
    fn new_changed_gone_and_unexplained_differences_are_told() {
        let list = Differences::parse("[a]\nwhy: x\n-1\n[b]\nwhy: x\n-1\n[c]\nwhy: ?\n-1\n").unwrap();
        let complaints = list.complaints(&[found("a", &["-2"]), found("c", &["-1"]), found("d", &["+1"])]);
        assert_eq!(complaints.len(), 4, "{complaints:?}");
        assert!(complaints[0].starts_with("[a] differs otherwise"));
        assert!(complaints[1].starts_with("[c] is listed without a reason"));
        assert!(complaints[2].starts_with("[d] differs:"));
        assert!(complaints[3].starts_with("[b] differs no more"));
        assert!(Differences::parse("-1\n").is_err());
    }
}
