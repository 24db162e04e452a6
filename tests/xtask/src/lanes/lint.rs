//! What can be said of the sources without running them.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;
use bessemer_images::cache::Cache;

use super::tally::Tally;
use crate::say::say;
use crate::workspace::Workspace;
use crate::{deadline, prerequisites, run};

/// Of crates.io.
const CARGO_DENY: &str = "0.20.2";

const CHECKS: [(&str, &[&str]); 4] = [
    ("cargo fmt", &["fmt", "--all", "--", "--check"]),
    ("cargo clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    // off by default, and so compiled nowhere else
    ("legacy tls", &["check", "--package", "redfish-client", "--features", "legacy-tls"]),
    (
        "firmware tls",
        &["test", "--quiet", "--package", "bessemer-pxe", "--features", "firmware-tls", "--lib", "encrypted"],
    ),
];

pub(super) fn run(workspace: &Workspace, until: Instant, tally: &mut Tally) -> Result<()> {
    for (name, arguments) in CHECKS {
        check(workspace.cargo(arguments), name, until, tally)?;
    }
    let deny = match cargo_deny(workspace, until) {
        Ok(program) => program,
        Err(error) => {
            println!("{error:#}");
            tally.skip("cargo deny", "cargo-deny is not installed");
            return Ok(());
        }
    };
    let mut command = Command::new(deny);
    command.current_dir(&workspace.root).args(["--offline", "check", "licenses", "bans", "sources"]);
    check(command, "cargo deny", until, tally)
}

/// The one in PATH, else the one in the build cache, else it is built into it: crates.io has only its sources.
fn cargo_deny(workspace: &Workspace, until: Instant) -> Result<PathBuf> {
    if prerequisites::present("cargo-deny") {
        return Ok("cargo-deny".into());
    }
    let entry = Cache::from_env()?.entry("cargo-deny", CARGO_DENY, 1, |partial| {
        say(format!("building cargo-deny {CARGO_DENY}, once"));
        let start = Instant::now();
        // it runs for a second: not worth optimising
        let mut cargo = workspace.cargo(&["install", "--quiet", "--locked", "--debug", "--version", CARGO_DENY]);
        cargo.arg("--root").arg(partial).arg("cargo-deny");
        // nothing of it is wanted in ours
        cargo.env("CARGO_TARGET_DIR", partial.join("target"));
        run::must(cargo, until, |_| {})?;
        std::fs::remove_dir_all(partial.join("target"))?;
        say(format!("cargo-deny: built in {}", deadline::show(start.elapsed())));
        anyhow::Ok(())
    })?;
    Ok(entry.join("bin/cargo-deny"))
}

fn check(command: Command, name: &str, until: Instant, tally: &mut Tally) -> Result<()> {
    let finished = run::run(command, until, |_| {})?;
    if finished.success {
        tally.pass(1);
    } else {
        println!("{}", run::tail(&finished.output));
        tally.fail(name);
    }
    Ok(())
}
