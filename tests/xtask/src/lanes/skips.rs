//! Skips that somebody has allowed, with the reasons.

use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Lines of `lane | test | reason`; a `*` stands for any test.
#[derive(Debug)]
pub(crate) struct Allowed(Vec<[String; 3]>);

impl Allowed {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut allowed = Vec::new();
        for line in lines {
            let mut parts = line.splitn(3, '|').map(|part| part.trim().to_owned());
            let parts = [(); 3].map(|()| parts.next().unwrap_or_default());
            ensure!(parts.iter().all(|part| !part.is_empty()), "{line:?} is not lane | test | reason");
            allowed.push(parts);
        }
        Ok(Self(allowed))
    }

    pub(crate) fn covers(&self, lane: &str, test: &str, reason: &str) -> bool {
        self.0.iter().any(|[of, name, why]| of == lane && (name == "*" || name == test) && why == reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_needs_its_own_reason() {
        let allowed = Allowed::parse("# why\nlint | cargo deny | not installed\nunit | * | not root\n").unwrap();
        assert!(allowed.covers("lint", "cargo deny", "not installed"));
        assert!(!allowed.covers("lint", "cargo deny", "no network"));
        assert!(allowed.covers("unit", "a::b", "not root"));
        assert!(!allowed.covers("rack", "a::b", "not root"));
        assert!(Allowed::parse("lint | cargo deny").is_err());
    }
}
