//! `bessemer-agent apply`: carries out user data that lies in a file, without a controller, as the node role would. For people who want to try their
//! cloud-config, and for comparing with cloud-init.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use bessemer_protocol::{Bootstrap, NodePhase, NodeReport};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{apply, journal};

/// How it is called.
const USAGE: &str = "bessemer-agent apply --user-data FILE [--meta-data FILE] [--state FOLDER]";

struct Orders {
    user_data: PathBuf,
    meta_data: Option<PathBuf>,
    state: PathBuf,
}

/// Takes the words after `apply`.
pub(crate) fn run(words: impl Iterator<Item = String>) -> ExitCode {
    let done = orders(words).and_then(|orders| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| error.to_string())?.block_on(Box::pin(carry_out(&orders)))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn orders(mut words: impl Iterator<Item = String>) -> Result<Orders, String> {
    let (mut user_data, mut meta_data, mut state) = (None, None, PathBuf::from(super::STATE));
    while let Some(word) = words.next() {
        let value = words.next().map(PathBuf::from).ok_or(USAGE)?;
        match word.as_str() {
            "--user-data" => user_data = Some(value),
            "--meta-data" => meta_data = Some(value),
            "--state" => state = value,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(Orders { user_data: user_data.ok_or(USAGE)?, meta_data, state })
}

async fn carry_out(orders: &Orders) -> Result<(), String> {
    let read = |path: &Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let meta_data: Map<String, Value> = match &orders.meta_data {
        Some(path) => serde_json::from_slice(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))?,
        None => Map::new(),
    };
    let data = Bootstrap {
        claim: "by/hand".to_owned(),
        format: "cloud-config".to_owned(),
        data: String::from_utf8(read(&orders.user_data)?).map_err(|_| "user data is no UTF-8 text".to_owned())?,
        provider_id: String::new(),
    };
    let mut journal = journal::Journal::open(&orders.state, &data.claim).map_err(|error| error.to_string())?;
    let reporter = Arc::new(watch::Sender::new(NodeReport::default()));
    let (root, run) = (Path::new("/"), Path::new(super::RUN));
    Box::pin(apply::apply(apply::Orders { data: &data, meta_data: &meta_data, root, run }, &mut journal, &reporter))
        .await;
    let report = reporter.borrow().clone();
    match report.phase {
        NodePhase::Failed { step, cause, tail, .. } => Err(format!("{step}: {cause}\n{}", tail.join("\n"))),
        _ => Ok(()),
    }
}
