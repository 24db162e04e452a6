//! Measurements, suite by suite: a program for each, whose rows become one table and one file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bessemer_bench::Row;
use clap::ValueEnum;

use crate::kubernetes::Minor;
use crate::say::say;
use crate::workspace::Workspace;
use crate::{artefacts, deadline, kubernetes, prerequisites, python, run};

/// Building for speed takes minutes on two cores.
const BUILDS: Duration = Duration::from_secs(30 * 60);
const RUNS: Duration = Duration::from_secs(30 * 60);

/// What is measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    /// The embedded API beside kube-apiserver and etcd
    Api,
    /// Conversations with management controllers
    Bmc,
    /// DHCP, TFTP and HTTP of the boot server
    Boot,
    /// Writing images to disks
    Image,
    /// Many hosts at once
    Hosts,
    /// Many clusters at once
    Capi,
}

/// How a run of suites ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Every suite gave rows.
    Complete,
    /// Some that were asked for have no measurements yet.
    Missing,
}

impl Suite {
    /// The package of the suite's program, if there is one yet.
    fn package(self, workspace: &Workspace) -> Result<Option<String>> {
        let value = self.to_possible_value().context("a suite without a name")?;
        let name = format!("bench-{}", value.get_name());
        Ok(workspace.root.join("tests").join(&name).join("Cargo.toml").is_file().then_some(name))
    }

    /// Others to be measured beside, and the variable that tells where they are.
    fn peers(self, workspace: &Workspace) -> Result<Option<(&'static str, PathBuf)>> {
        let until = deadline::after(kubernetes::BUILDS);
        Ok(match self {
            Self::Api => {
                Some((kubernetes::BINARIES_VARIABLE, kubernetes::ensure(&workspace.root, Minor::Current, until)?.dir))
            }
            Self::Bmc => {
                prerequisites::for_bmcs()?;
                Some((python::PEERS_VARIABLE, python::ensure(workspace, until)?))
            }
            Self::Boot => {
                prerequisites::for_boot_bench()?;
                None
            }
            Self::Image => {
                prerequisites::for_image_bench()?;
                Some(("BENCH_AGENT", artefacts::agent(workspace, deadline::after(BUILDS))?))
            }
            Self::Hosts | Self::Capi => None,
        })
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Runs `suites`, or all when none is named, prints the table and writes `json`.
pub(crate) fn run(workspace: &Workspace, suites: &[Suite], json: Option<&Path>) -> Result<Outcome> {
    let suites = if suites.is_empty() { Suite::value_variants() } else { suites };
    let mut rows = Vec::new();
    let mut outcome = Outcome::Complete;
    for suite in suites {
        match suite.package(workspace)? {
            Some(package) => rows.extend(measure(workspace, &package, suite.peers(workspace)?)?),
            None => {
                say(format!("suite {}: has no measurements yet", suite.name()));
                outcome = Outcome::Missing;
            }
        }
    }
    print!("{}", table(&rows));
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&rows)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(outcome)
}

fn measure(workspace: &Workspace, package: &str, peers: Option<(&str, PathBuf)>) -> Result<Vec<Row>> {
    let build = workspace.cargo(&["build", "--release", "--package", package]);
    run::must(build, deadline::after(BUILDS), |_| {}).with_context(|| format!("{package} does not build"))?;
    say(format!("{package}: built, measuring"));
    let mut command = std::process::Command::new(workspace.target.join("release").join(package));
    command.current_dir(&workspace.root).envs(peers);
    let mut rows = Vec::new();
    run::must(command, deadline::after(RUNS), |line| match Row::parse(line) {
        Some(row) => {
            say(format!("{}: {} {}", row.name, number(row.value), row.unit));
            rows.push(row);
        }
        None => say(line),
    })?;
    ensure!(!rows.is_empty(), "{package} measured nothing");
    Ok(rows)
}

/// The rows in columns, for people.
fn table(rows: &[Row]) -> String {
    let head = ["suite", "name", "value", "unit", "peer", "peer's", "ratio", "target", ""].map(str::to_owned);
    let body = rows.iter().map(|row| {
        let optional = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
        [
            row.suite.clone(),
            row.name.clone(),
            number(row.value),
            row.unit.clone(),
            if row.peer.is_empty() { "-".to_owned() } else { row.peer.clone() },
            optional(row.peer_value),
            optional(row.ratio),
            row.target.clone().unwrap_or_default(),
            row.met.map_or("", |met| if met { "met" } else { "MISSED" }).to_owned(),
        ]
    });
    let all: Vec<[String; 9]> = std::iter::once(head).chain(body).collect();
    let width = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..9).map(width).collect();
    let line = |row: &[String; 9]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    all.iter().map(line).collect()
}

/// Three digits that say something.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_who_was_beside_us_and_what_was_missed() {
        let rows = [
            Row::new("api", "creates, 64 clients", 12345.6, "/s")
                .beside("kube-apiserver v1.36.3", 1234.5)
                .at_least_times(5.0),
            Row::new("api", "start", 0.5, "s").at_most(0.3),
        ];
        assert_eq!(
            table(&rows),
            "suite  name                 value   unit  peer                    peer's  ratio  target    \n\
             api    creates, 64 clients  12346   /s    kube-apiserver v1.36.3  1234    10.0   >= 5x     met\n\
             api    start                0.5000  s     -                       -       -      <= 0.3 s  MISSED\n"
                .replace("target    \n", "target\n")
        );
    }
}
