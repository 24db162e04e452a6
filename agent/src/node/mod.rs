//! The node role: a service of the installed host. It takes its identity from the seed partition, becomes the host it is said to be, fetches the
//! bootstrap data and applies it once, and from then on reports. Its progress is the host's [`NodeReport`]; nobody needs to log in to see
//! why kubeadm failed.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bessemer_protocol::{Bootstrap, BootstrapDelivery, NodeIdentity, NodePhase, NodeReport};
use serde_json::{Map, Value};
use tokio::sync::watch::Sender;
use tracing::{error, info, warn};

use crate::backoff::Backoff;
use crate::link::{Controllers, LinkError, stream};

mod addresses;
mod apply;
mod by_hand;
mod cloud_init;
mod command;
mod host;
mod identity;
mod journal;
mod kubeadm;
mod network;
mod preflight;
mod provider_id;
mod renewal;
mod run;
mod secrets;
mod seed;
mod session;
mod shell;
mod watch;

use seed::Found;

pub(crate) use by_hand::run as run_by_hand;

/// What lasts until the host is restarted.
const RUN: &str = "/run/bessemer";

/// Where the journal of done steps is.
const STATE: &str = "/var/lib/bessemer";

/// What is shown above the prompt on consoles. A host that does not know who it is can tell it to nobody else.
const NOTICE: &str = "/run/issue.d/bessemer.issue";

/// Why there is no node role.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("cannot start the runtime: {0}")]
    Runtime(std::io::Error),
    #[error(transparent)]
    Seed(#[from] seed::SeedError),
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The report as it grows; whoever wants to tell something changes it.
type Reporter = Arc<Sender<NodeReport>>;

/// Runs until the service is stopped. The service manager starts it again when it fails.
pub(crate) fn run() -> ExitCode {
    info!("agent {} on the installed host", crate::VERSION);
    let ended = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(Box::pin(serve())),
        Err(error) => Err(StartError::Runtime(error)),
    };
    match ended {
        Ok(never) => match never {},
        Err(failed) => {
            error!("{failed}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<std::convert::Infallible, StartError> {
    let state = Path::new(STATE);
    let found = identity::read(state, Path::new("/sys"), Path::new("/dev"));
    notice(Path::new(NOTICE), found.as_ref().err());
    let Found { mut identity, meta_data, network_data } = found?;
    crate::mask::learn(identity.key.lines().filter(|line| !line.starts_with("-----")).map(str::to_owned));
    host::take_name(Path::new("/"), &identity.hostname);
    host::grow_root();
    let report = NodeReport {
        hostname: identity.hostname.clone(),
        addresses: addresses::read(&identity.hostname).await,
        boot_id: watch::boot_id(),
        ..NodeReport::default()
    };
    let reporter: Reporter = Arc::new(Sender::new(report));
    if let Some(data) = network_data {
        let (root, sys) = (Path::new("/"), Path::new("/sys"));
        let configured = move || network::configure(&data, root, sys, &bessemer_cloud_config::RealPrograms);
        let said = tokio::task::spawn_blocking(configured).await.unwrap_or_else(|error| vec![error.to_string()]);
        said.iter().for_each(|line| warn!("{line}"));
        reporter.send_modify(|report| report.warnings.extend(said));
    }
    tokio::spawn(watch::addresses(identity.hostname.clone(), Arc::clone(&reporter)));
    tokio::spawn(watch::kubelet(Arc::clone(&reporter)));
    if renewal::has_expired(&identity) {
        identity = renewal::renewed(&identity).await?;
        keep(state, &identity);
    }
    match identity.delivery {
        BootstrapDelivery::Agent => {
            let controllers = controllers(&identity)?;
            tokio::spawn(Box::pin(bootstrap(identity.clone(), meta_data, controllers, Arc::clone(&reporter))));
        }
        BootstrapDelivery::CloudInit => {
            let reporter = Arc::clone(&reporter);
            match journal::Journal::open(state, &identity.claim) {
                Ok(mut journal) => {
                    tokio::spawn(async move {
                        cloud_init::watch(Path::new("/"), &meta_data, &mut journal, &reporter).await
                    });
                }
                Err(error) => fail(&reporter, "journal", error.to_string()),
            }
        }
    }
    let mut session = session::NodeSession::new(crate::identity::read(Path::new("/sys")), reporter.subscribe());
    let mut told = session.told();
    loop {
        let controllers = controllers(&identity)?;
        // Whatever ends the wait ends the stream; another one is opened with what is new.
        identity = tokio::select! {
            never = stream::keep_open(&*controllers, &mut session) => match never {},
            renewed = renewal::renewed(&identity) => renewed?,
            updated = session::updated(&mut told, &identity) => updated,
        };
        keep(state, &identity);
    }
}

/// Says on the consoles why this host reports to nobody, or takes it back.
fn notice(path: &Path, trouble: Option<&seed::SeedError>) {
    let done = match trouble {
        None => std::fs::remove_file(path),
        Some(trouble) => path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
            std::fs::write(path, format!("\nbessemer: {trouble}\nNothing is reported of this host until then.\n\n"))
        }),
    };
    if let Err(error) = done
        && error.kind() != std::io::ErrorKind::NotFound
    {
        warn!("{}: {error}", path.display());
    }
}

fn controllers(identity: &NodeIdentity) -> Result<Arc<Controllers>, LinkError> {
    let credentials = Some((identity.certificate.as_str(), identity.key.as_str()));
    Controllers::new(&identity.controllers, &identity.ca, credentials).map(Arc::new)
}

fn keep(state: &Path, identity: &NodeIdentity) {
    if let Err(error) = identity::keep(state, identity) {
        warn!("{}: {error}: what the controller said is asked for again after a restart", state.display());
    }
}

/// Fetches the bootstrap data, however long it takes to be ready, and applies it. Once it ended, the data is not asked for again: it holds
/// secrets, and its owner may delete it.
async fn bootstrap(
    identity: NodeIdentity,
    meta_data: Map<String, Value>,
    controllers: Arc<Controllers>,
    reporter: Reporter,
) {
    let mut journal = match journal::Journal::open(Path::new(STATE), &identity.claim) {
        Ok(journal) => journal,
        Err(error) => return fail(&reporter, "journal", error.to_string()),
    };
    if let Some((ended, id)) = journal.ended().zip(journal.provider_id()) {
        info!("bootstrap of {} ended in an earlier run", identity.claim);
        reporter.send_modify(|report| {
            report.provider_id = Some(id.to_owned());
            report.phase = ended.clone();
        });
        return;
    }
    let Some(data) = fetch(&controllers, &reporter).await else { return };
    if data.claim != identity.claim {
        let cause = format!("the controller sent data for {}, this host is {}", data.claim, identity.claim);
        return fail(&reporter, "bootstrap data", cause);
    }
    if data.format != "cloud-config" {
        return fail(
            &reporter,
            "bootstrap data",
            format!("format {:?} is not supported, only cloud-config is", data.format),
        );
    }
    if let Err(error) = journal.keep_provider_id(&data.provider_id) {
        return fail(&reporter, "journal", error.to_string());
    }
    reporter.send_modify(|report| report.provider_id = Some(data.provider_id.clone()));
    Box::pin(apply::apply(
        apply::Orders { data: &data, meta_data: &meta_data, root: Path::new("/"), run: Path::new(RUN) },
        &mut journal,
        &reporter,
    ))
    .await;
}

async fn fetch(controllers: &Controllers, reporter: &Reporter) -> Option<Bootstrap> {
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(5));
    let mut said = String::new();
    loop {
        match controllers.get::<Bootstrap>("/v1/bootstrap").await {
            Ok(data) => return Some(data),
            Err(error) if error.may_heal() => {
                let words = error.to_string();
                if words != said {
                    info!("bootstrap data: {words}; asking again");
                    said = words;
                }
                backoff.pause().await;
            }
            Err(error) => {
                fail(reporter, "bootstrap data", error.to_string());
                return None;
            }
        }
    }
}

fn fail(reporter: &Reporter, step: &str, cause: String) {
    warn!("{step}: {cause}");
    let failed = NodePhase::Failed { step: step.to_owned(), cause, tail: Vec::new(), log: None };
    reporter.send_modify(|report| report.phase = failed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_does_not_know_who_it_is_says_so_on_its_consoles_until_it_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issue.d/bessemer.issue");
        notice(&path, None);
        notice(&path, Some(&seed::SeedError::Several("/dev/vda3, /dev/vdb3".into())));
        let shown = std::fs::read_to_string(&path).unwrap();
        assert!(shown.contains("/dev/vda3, /dev/vdb3; wipe the disk"), "{shown}");
        notice(&path, None);
        assert!(!path.exists());
    }
}
