//! The demo's manifests: what a user writes, with `${NAME}` where a value goes, as in clusterctl's templates.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Values by name.
pub(crate) type Values = BTreeMap<&'static str, String>;

/// The manifest at `path` with its variables filled in. Errors on a variable that has no value.
pub(crate) fn render(path: &Path, values: &Values) -> Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    fill(&text, values).with_context(|| path.display().to_string())
}

fn fill(text: &str, values: &Values) -> Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { bail!("a ${{ without its }}") };
        let Some(value) = values.get(name) else { bail!("no value for ${{{name}}}") };
        out += before;
        out += value;
        rest = behind;
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_needs_a_value() {
        let values = Values::from([("A", "1".to_owned())]);
        assert_eq!(fill("a: ${A}-${A} $x", &values).unwrap(), "a: 1-1 $x");
        assert_eq!(fill("${B}", &values).unwrap_err().to_string(), "no value for ${B}");
        assert!(fill("${A", &values).is_err());
    }
}
