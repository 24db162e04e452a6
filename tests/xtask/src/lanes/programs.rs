//! The test programs of the whole workspace: compiled together, once, so that every lane and the rack use the same
//! artefacts; then run one by one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::plan::Part;
use super::reader::{Reader, failures_of};
use super::tally::Tally;
use crate::say::{elapsed, say};
use crate::workspace::Workspace;
use crate::{deadline, run};

/// Where a program's tests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In `src/`.
    Source,
    /// In `tests/`.
    Integration,
}

/// A compiled program of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) package: String,
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) executable: PathBuf,
    /// The package's, where cargo would run it.
    pub(super) folder: PathBuf,
}

/// What compiling gave.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) programs: Vec<Program>,
    /// Targets that do not compile.
    pub(super) broken: Vec<String>,
}

/// Compiles the programs and every test of the workspace.
pub(super) fn build(workspace: &Workspace, until: Instant) -> Result<Built> {
    let packages = workspace.packages()?;
    let start = Instant::now();
    let arguments = ["build", "--workspace", "--lib", "--bins", "--tests", "--keep-going"];
    let mut cargo = workspace.cargo(&arguments);
    cargo.arg("--message-format=json-render-diagnostics");
    let mut built = Built::default();
    let mut crates = 0;
    let finished = run::run(cargo, until, |line| match serde_json::from_str::<Value>(line) {
        Ok(message) => built.programs.extend(program(&message, &packages)),
        Err(_) if line.trim_start().starts_with("Compiling ") => crates += 1,
        Err(_) => built.broken.extend(broken(line)),
    })?;
    if !finished.success {
        let said: Vec<&str> = finished.output.lines().filter(|line| !line.starts_with("{\"reason\"")).collect();
        println!("{}", run::tail(&said.join("\n")));
        if built.broken.is_empty() {
            built.broken.push("cargo build".to_owned());
        }
    }
    ensure!(!built.programs.is_empty() || !finished.success, "cargo build told of no tests");
    say(format!("tests: {crates} crates compiled in {}", deadline::show(start.elapsed())));
    Ok(built)
}

/// The test program that a message of cargo tells of.
fn program(message: &Value, packages: &BTreeMap<PathBuf, String>) -> Option<Program> {
    let test = message.get("profile")?.get("test")?.as_bool()?;
    let executable = PathBuf::from(message.get("executable")?.as_str()?);
    let manifest = Path::new(message.get("manifest_path")?.as_str()?);
    let target = message.get("target")?;
    let kind = match target.get("kind")?.get(0)?.as_str()? {
        "test" => Kind::Integration,
        _ => Kind::Source,
    };
    let (package, name) = (packages.get(manifest)?.clone(), target.get("name")?.as_str()?.to_owned());
    test.then(|| Program {
        package,
        kind,
        name,
        executable,
        folder: manifest.parent().map(Path::to_owned).unwrap_or_default(),
    })
}

/// ``error: could not compile `bessemer-pxe` (lib test) due to …`` names the target.
fn broken(line: &str) -> Option<String> {
    let rest = line.strip_prefix("error: could not compile `")?;
    let (package, rest) = rest.split_once('`')?;
    let target = rest.trim_start().split(" due to ").next().unwrap_or_default();
    Some(format!("{package} {target} does not compile").replace("  ", " "))
}

/// Runs a lane's parts one after the other.
pub(super) fn run_parts(parts: &[Part<'_>], how: &How, until: Instant, tally: &mut Tally) -> Result<()> {
    let mut parts = parts.iter();
    while let Some(part) = parts.next() {
        if let Err(error) = run_part(part, how, until, tally) {
            // out of time, most likely: what did not run is no success
            parts.for_each(|part| tally.fail(&format!("{} {}: not run", part.program.package, part.program.name)));
            return Err(error);
        }
    }
    Ok(())
}

/// What all tests of a lane are given.
#[derive(Debug, Default)]
pub(super) struct How {
    pub(super) environment: Vec<(&'static str, PathBuf)>,
    /// The tests that are ignored otherwise, too.
    pub(super) long: bool,
}

fn run_part(part: &Part<'_>, how: &How, until: Instant, tally: &mut Tally) -> Result<()> {
    let Program { package, name, executable, folder, .. } = part.program;
    let mut command = Command::new(executable);
    command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder).arg("--show-output").args(&part.choose);
    command.envs(how.environment.iter().map(|(name, value)| (name, value)));
    if how.long {
        command.arg("--include-ignored").env(LONG_VARIABLE, "1");
    }
    let begin = elapsed();
    let mut reader = Reader::default();
    let finished = match run::run(command, until, |line| reader.line(line)) {
        Ok(finished) => finished,
        Err(error) => {
            reader.settle(tally);
            return Err(error.context(format!("{package} {name}")));
        }
    };
    let failed = reader.failures.len();
    if reader.seen() > 0 {
        let took = deadline::show(elapsed().saturating_sub(begin));
        say(format!("{package} {name}: {} tests, {failed} failed, {took}", reader.seen()));
    }
    reader.measured().iter().for_each(|line| println!("{line}"));
    if !finished.success {
        println!("{}", failures_of(&finished.output));
        if failed == 0 {
            // it did not come to telling which
            tally.fail(&format!("{package} {name}"));
        }
    } else if reader.missing() > 0 {
        // a test that ends the program takes the rest with it
        tally.fail(&format!("{package} {name}: ended with {} tests untold", reader.missing()));
    }
    reader.settle(tally);
    Ok(())
}

/// Tells tests to take their full forms.
const LONG_VARIABLE: &str = "BESSEMER_LONG";

/// Runs the examples in the documentation.
pub(super) fn run_doc_tests(workspace: &Workspace, until: Instant, tally: &mut Tally) -> Result<()> {
    let mut reader = Reader::default();
    let cargo = workspace.cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]);
    let finished = run::run(cargo, until, |line| reader.line(line))?;
    say(format!("examples in the documentation: {} tests, {} failed", reader.seen(), reader.failures.len()));
    if !finished.success {
        println!("{}", failures_of(&finished.output));
        if reader.failures.is_empty() {
            tally.fail("cargo test --doc");
        }
    }
    reader.settle(tally);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cargos_messages_name_test_programs() {
        let packages = BTreeMap::from([(PathBuf::from("/w/pxe/Cargo.toml"), "bessemer-pxe".to_owned())]);
        let message = |kind: &str, test: bool| {
            json!({
                "reason": "compiler-artifact", "manifest_path": "/w/pxe/Cargo.toml", "executable": "/t/firmware-1",
                "target": {"kind": [kind], "name": "firmware"}, "profile": {"test": test},
            })
        };
        let found = program(&message("test", true), &packages).unwrap();
        assert_eq!(
            (found.package.as_str(), found.kind, found.folder),
            ("bessemer-pxe", Kind::Integration, "/w/pxe".into())
        );
        assert_eq!(program(&message("lib", true), &packages).unwrap().kind, Kind::Source);
        assert_eq!(program(&message("bin", false), &packages), None);
        assert_eq!(program(&json!({"reason": "build-finished", "success": true}), &packages), None);
    }

    #[test]
    fn what_does_not_compile_is_named() {
        let line = "error: could not compile `bessemer-pxe` (test \"firmware\") due to 2 previous errors";
        assert_eq!(broken(line).as_deref(), Some("bessemer-pxe (test \"firmware\") does not compile"));
        assert_eq!(broken("error: expected one of"), None);
    }
}
