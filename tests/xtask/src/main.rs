//! `cargo xtask`: everything that is done to Bessemer rather than by it: the demo, the tests, the programs and images
//! they need. This room knows every other room's commands and files, but none of their types except the rack's and
//! the image builders'.

mod artefacts;
mod bench;
mod controller;
mod deadline;
mod demo;
mod descriptors;
mod image;
mod kubectl;
mod kubernetes;
mod lanes;
mod manifests;
mod peer;
mod prerequisites;
mod python;
mod run;
mod say;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::bench::{Outcome, Suite};
use crate::kubernetes::Minor;
use crate::lanes::{Lane, Wanted};
use crate::workspace::Workspace;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// From power-off to a Ready Kubernetes node, watched: a virtual rack, our controller, a real kubeadm
    Demo {
        /// How many hosts; more than one is not there yet
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=1))]
        hosts: u8,
        /// Leave everything running at the end, for looking around; `cargo xtask rack down` ends it
        #[arg(long)]
        keep: bool,
    },
    /// Run the tests
    Test {
        /// Only these lanes; may be repeated
        #[arg(long = "lane", value_enum)]
        lanes: Vec<Lane>,
        /// Do not start a lane that does not fit into this time, such as 70m
        #[arg(long, value_parser = deadline::parse)]
        budget: Option<Duration>,
        /// The full forms, and the tests that are left out otherwise; hours
        #[arg(long)]
        long: bool,
    },
    /// Measure, beside others where there are such; exits with 2 when a suite has no measurements yet
    Bench {
        /// Only these suites; may be repeated
        #[arg(long = "suite", value_enum)]
        suites: Vec<Suite>,
        /// Also write the rows here
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// The virtual rack
    Rack {
        #[command(subcommand)]
        command: RackCommand,
    },
    /// Build the real Kubernetes that the tests run, and print where it is
    Kubernetes {
        /// Another minor than the one that everything runs on
        #[arg(long, value_enum, default_value = "1.36")]
        minor: Minor,
        #[command(subcommand)]
        command: Option<KubernetesCommand>,
    },
    /// Build what hosts boot and are given: ramdisk, UKI, ISO, operating system
    Image {
        #[command(subcommand)]
        wanted: image::Wanted,
    },
    /// Write manifests/crds from the types
    Crds,
}

#[derive(Debug, Subcommand)]
enum KubernetesCommand {
    /// Run its API on loopback until Ctrl-C: etcd, kube-apiserver, kube-controller-manager
    Up,
}

#[derive(Debug, Subcommand)]
enum RackCommand {
    /// End every rack that was left running or that a killed run left behind
    Down,
}

fn main() -> ExitCode {
    say::start();
    descriptors::raise();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((first, rest)) if first == bessemer_rack::HELPER => {
            bessemer_rack::helper(rest).map(|()| ExitCode::SUCCESS)
        }
        _ => dispatch(Cli::parse().command),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// No success when it ran to its end but something in it failed, which it has told.
fn dispatch(command: Command) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    let passed = match command {
        Command::Demo { hosts: _, keep } => demo::run(&workspace, keep).map(|()| true)?,
        Command::Test { lanes, budget, long } => lanes::run(&workspace, &Wanted { lanes, budget, long })?,
        Command::Bench { suites, json } => match bench::run(&workspace, &suites, json.as_deref())? {
            Outcome::Complete => true,
            Outcome::Missing => return Ok(ExitCode::from(2)),
        },
        Command::Rack { command: RackCommand::Down } => {
            let swept = bessemer_rack::Rack::down_all();
            swept.iter().for_each(|line| println!("{line}"));
            if swept.is_empty() {
                println!("no rack was left");
            }
            true
        }
        Command::Kubernetes { minor, command } => {
            let binaries = kubernetes::ensure(&workspace.root, minor, deadline::after(kubernetes::BUILDS))?;
            println!("{} {}", binaries.version, binaries.dir.display());
            if matches!(command, Some(KubernetesCommand::Up)) {
                peer::up(&binaries)?;
            }
            true
        }
        Command::Image { wanted } => {
            image::run(&workspace, &wanted)?;
            true
        }
        Command::Crds => {
            // the drift test writes what it compares with
            let mut cargo = workspace.cargo(&["test", "-p", "bessemer-api", "--test", "manifests"]);
            cargo.env("BESSEMER_UPDATE_CRDS", "1");
            run::run(cargo, deadline::after(Duration::from_secs(1800)), |line| println!("{line}"))?.success
        }
    };
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
