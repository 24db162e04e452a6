//! Runs the corpus by hand: record what a server answers, and compare two records.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use bessemer_apiserver::ApiServer;
use bessemer_conformance::kubeconfig::Access;
use bessemer_conformance::outcome::Outcome;
use bessemer_conformance::{accepted, compare, corpus, run};
use clap::Parser;

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
        Command::Record { kubeconfig, filter, out } => record(kubeconfig.as_deref(), &filter, &out).await,
        Command::Compare { wanted, found, accepted } => show(&wanted, &found, accepted.as_deref()),
    }
}

async fn record(kubeconfig: Option<&Path>, filter: &str, out: &Path) -> anyhow::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = corpus::load(&here.join("corpus"))?;
    let definitions = run::definitions(&here.join("../../manifests/crds"))?;
    let dir = tempfile::tempdir()?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let path = match kubeconfig {
        Some(path) => path.to_owned(),
        None => {
            let api = ApiServer::open(&dir.path().join("state")).await?;
            let until = async move {
                // An error means that the sender is gone, which also ends the server.
                let _ = stopped.await;
            };
            api.serve_https(([127, 0, 0, 1], 0).into(), &[], until).await?.kubeconfig_path
        }
    };
    let access = Access::load(&path)?;
    let begun = Instant::now();
    let outcomes = run::run(&access, &files, &definitions, filter).await?;
    println!("{} requests in {:.1} s", outcomes.len(), begun.elapsed().as_secs_f32());
    // Nobody listens any more when the server was not ours.
    let _ = stop.send(());
    std::fs::write(out, serde_json::to_vec_pretty(&outcomes)?)
        .with_context(|| format!("cannot write {}", out.display()))
}

fn read(path: &Path) -> anyhow::Result<Vec<Outcome>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("cannot use {}", path.display()))
}

fn show(wanted: &Path, found: &Path, list: Option<&Path>) -> anyhow::Result<()> {
    let (wanted, found) = (read(wanted)?, read(found)?);
    let list = list.map(accepted::load).transpose()?.unwrap_or_default();
    let differences = compare::compare(&wanted, &found);
    let judgement = accepted::judge(&differences, &list);
    let report = compare::report(&wanted, &judgement);
    print!("{report}");
    Ok(())
}
