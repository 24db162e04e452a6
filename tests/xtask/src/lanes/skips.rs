//! Skips that somebody has allowed, with the reasons.

use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Lines of `lane | test | reason`; a `*` stands for any test.
#[derive(Debug)]
pub(crate) struct Allowed(Vec<Line>);

#[derive(Debug)]
struct Line {
    lane: String,
    test: String,
    reason: String,
    leaves_unproven: bool,
}

/// What an allowed skip means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Something else proves the same, or nothing was promised.
    Harmless,
    /// Nothing else on this machine proves it.
    Unproven,
}

impl Allowed {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut allowed = Vec::new();
        for line in lines {
            let mut parts = line.splitn(3, '|').map(|part| part.trim().to_owned());
            let parts = [(); 3].map(|()| parts.next().unwrap_or_default());
            ensure!(parts.iter().all(|part| !part.is_empty()), "{line:?} is not lane | test | reason");
            let [lane, test, reason] = parts;
            let (lane, leaves_unproven) = match lane.strip_suffix('!') {
                Some(name) => (name.to_owned(), true),
                None => (lane, false),
            };
            allowed.push(Line { lane, test, reason, leaves_unproven });
        }
        Ok(Self(allowed))
    }

    /// None for a skip that nobody has allowed.
    pub(crate) fn meaning(&self, lane: &str, test: &str, reason: &str) -> Option<Meaning> {
        let fits = |line: &&Line| line.lane == lane && (line.test == "*" || line.test == test) && line.reason == reason;
        let found = self.0.iter().find(fits)?;
        Some(if found.leaves_unproven { Meaning::Unproven } else { Meaning::Harmless })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_needs_its_own_reason() {
        let text = "# why\nlint | cargo deny | not installed\nunit! | * | not root\n";
        let allowed = Allowed::parse(text).unwrap();
        assert_eq!(allowed.meaning("lint", "cargo deny", "not installed"), Some(Meaning::Harmless));
        assert_eq!(allowed.meaning("lint", "cargo deny", "no network"), None);
        assert_eq!(allowed.meaning("unit", "a::b", "not root"), Some(Meaning::Unproven));
        assert_eq!(allowed.meaning("rack", "a::b", "not root"), None);
        assert!(Allowed::parse("lint | cargo deny").is_err());
    }
}
