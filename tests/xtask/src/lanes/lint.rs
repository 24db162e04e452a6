//! What can be said of the sources without running them.

use std::time::Instant;

use anyhow::Result;

use super::tally::Tally;
use crate::workspace::Workspace;
use crate::{prerequisites, run};

const CHECKS: [(&str, &[&str]); 2] = [
    ("cargo fmt", &["fmt", "--all", "--", "--check"]),
    ("cargo clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
];

pub(super) fn run(workspace: &Workspace, until: Instant, tally: &mut Tally) -> Result<()> {
    for (name, arguments) in CHECKS {
        check(workspace, name, arguments, until, tally)?;
    }
    if prerequisites::present("cargo-deny") {
        check(workspace, "cargo deny", &["deny", "--offline", "check", "licenses", "bans", "sources"], until, tally)
    } else {
        tally.skip("cargo deny", "cargo-deny is not installed");
        Ok(())
    }
}

fn check(workspace: &Workspace, name: &str, arguments: &[&str], until: Instant, tally: &mut Tally) -> Result<()> {
    let finished = run::run(workspace.cargo(arguments), until, |_| {})?;
    if finished.success {
        tally.pass(1);
    } else {
        println!("{}", run::tail(&finished.output));
        tally.fail(name);
    }
    Ok(())
}
