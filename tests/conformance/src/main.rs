//! Runs the corpus by hand: record what a server answers, and compare two records.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use bessemer_conformance::corpus::File;
use bessemer_conformance::embedded::Embedded;
use bessemer_conformance::kubeconfig::Access;
use bessemer_conformance::outcome::Outcome;
use bessemer_conformance::{accepted, compare, corpus, run, seed};
use clap::Parser;
use serde_json::Value;

/// Requests of the corpus, by hand.
#[derive(Parser)]
enum Command {
    /// Writes the normalised answers of a server to a file.
    Record {
        /// The server; without it, an embedded one is started.
        #[arg(long)]
        kubeconfig: Option<PathBuf>,
        /// Cases whose name contains this.
        #[arg(long, default_value = "")]
        filter: String,
        /// Upstream's definitions and manifests instead of the corpus: the test data's directory.
        #[arg(long)]
        data: Option<PathBuf>,
        /// The file.
        out: PathBuf,
    },
    /// Shows what differs between two records, first the one that is right.
    Compare {
        /// The right one.
        wanted: PathBuf,
        /// The other.
        found: PathBuf,
        /// Differences that are meant to be.
        #[arg(long)]
        accepted: Option<PathBuf>,
    },
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Record { kubeconfig, filter, data, out } => {
            let (files, definitions) = cases(data.as_deref())?;
            let outcomes = record(kubeconfig.as_deref(), &files, &definitions, &filter).await?;
            let text = serde_json::to_vec_pretty(&outcomes)?;
            std::fs::write(&out, text).with_context(|| format!("cannot write {}", out.display()))
        }
        Command::Compare { wanted, found, accepted } => show(&wanted, &found, accepted.as_deref()),
    }
}

fn cases(data: Option<&Path>) -> anyhow::Result<(Vec<File>, Vec<Value>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    match data {
        None => Ok((corpus::load(&here.join("corpus"))?, run::definitions(&here.join("../../manifests/crds"))?)),
        Some(data) => {
            let definitions = run::definitions(&data.join("crds"))?;
            Ok((seed::all(data, &definitions)?, definitions))
        }
    }
}

async fn record(server: Option<&Path>, files: &[File], crds: &[Value], filter: &str) -> anyhow::Result<Vec<Outcome>> {
    let begun = Instant::now();
    let outcomes = match server {
        Some(path) => run::run(&Access::load(path)?, files, crds, filter).await?,
        None => run::run(&Embedded::start().await?.access, files, crds, filter).await?,
    };
    println!("{} requests in {:.1} s", outcomes.len(), begun.elapsed().as_secs_f32());
    Ok(outcomes)
}

fn read(path: &Path) -> anyhow::Result<Vec<Outcome>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("cannot use {}", path.display()))
}

fn show(wanted: &Path, found: &Path, list: Option<&Path>) -> anyhow::Result<()> {
    let (wanted, found) = (read(wanted)?, read(found)?);
    let list = list.map(accepted::load).transpose()?.unwrap_or_default();
    let differences = compare::compare(&wanted, &found);
    print!("{}", compare::report(&wanted, &accepted::judge(&differences, &list)));
    Ok(())
}
