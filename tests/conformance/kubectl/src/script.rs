//! The script's form: steps with a name in brackets on a line of its own and shell commands below it.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

/// Some commands, with a name that no other step has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// File and name: `get: as a table`.
    pub name: String,
    /// For a POSIX shell.
    pub commands: String,
}

/// All steps in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script(pub Vec<Step>);

impl Script {
    /// Reads every `*.sh` in `folder`, in the order of their names.
    ///
    /// # Errors
    /// When one cannot be read or understood, or two steps have one name.
    pub fn read(folder: &Path) -> Result<Self> {
        let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "sh") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut steps: Vec<Step> = Vec::new();
        for path in paths {
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let chapter = stem.split_once('-').map_or(&*stem, |(_, name)| name);
            steps.extend(parse(chapter, &text).with_context(|| path.display().to_string())?);
        }
        for (at, step) in steps.iter().enumerate() {
            ensure!(steps.iter().skip(at + 1).all(|other| other.name != step.name), "two steps {:?}", step.name);
        }
        Ok(Self(steps))
    }
}

fn parse(chapter: &str, text: &str) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            steps.push(Step { name: format!("{chapter}: {name}"), commands: String::new() });
        } else if let Some(step) = steps.last_mut() {
            if !line.trim().is_empty() && !line.starts_with('#') {
                step.commands += line;
                step.commands.push('\n');
            }
        } else {
            ensure!(line.trim().is_empty() || line.starts_with('#'), "{line:?} stands before the first step");
        }
    }
    for step in &steps {
        ensure!(!step.commands.is_empty(), "step {:?} does nothing", step.name);
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_names_and_commands() {
        let text = "# why\n\n[one]\nkubectl a\nkubectl b\n\n# next\n[two]\nkubectl c\n";
        let step = |name: &str, commands: &str| Step { name: name.into(), commands: commands.into() };
        assert_eq!(
            parse("get", text).unwrap(),
            [step("get: one", "kubectl a\nkubectl b\n"), step("get: two", "kubectl c\n")]
        );
        assert!(parse("get", "kubectl a\n[one]\n").is_err());
        assert!(parse("get", "[one]\n\n[two]\nkubectl a\n").is_err());
    }
}
