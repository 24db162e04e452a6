//! The boot server in this program: its questions answered from the objects, what it saw written down for operators, and
//! how it is configured. Must not know how a packet looks.

mod command;
mod conversations;
mod directory;
mod file;
pub(crate) mod interface;
mod load;
pub(crate) mod metrics;
mod pools;
pub(crate) mod site;
mod words;

use std::sync::Arc;

use bessemer_agents::BootAuthority;
use bessemer_pxe::{BootServer, Config, Metrics};
use bessemer_reconcilers::{Hosts, Journal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(crate) use command::{BootOptions, run};
use directory::{Directory, Site};

/// A boot server that runs.
pub(crate) struct Running {
    /// Where its files are: one URL for each interface.
    pub(crate) urls: Vec<String>,
    pub(crate) metrics: Arc<Metrics>,
}

/// Starts the boot server and what writes down its conversations, as tasks that return their names at their end.
/// `controllers` are the endpoints that its hosts' agents are told.
pub(crate) async fn start(
    config: Config,
    hosts: Hosts,
    authority: BootAuthority,
    controllers: Vec<String>,
    stop: &CancellationToken,
    parts: &mut JoinSet<&'static str>,
) -> anyhow::Result<Running> {
    let journal = Journal::new();
    let site = Site { authority, controllers };
    let directory = Directory::new(Arc::new(hosts.clone()), site, journal.clone(), name());
    let server = BootServer::start(config, Arc::new(directory), stop.clone()).await?;
    let urls = server.http_addresses().iter().map(|address| format!("http://{address}")).collect();
    let metrics = server.metrics();
    let ended = stop.clone();
    parts.spawn(async move {
        journal.run(hosts, site::NAMESPACE.to_owned(), ended).await;
        "the journal of the boot server"
    });
    parts.spawn(async move {
        server.stopped().await;
        "the boot server"
    });
    Ok(Running { urls, metrics })
}

/// This machine's name, for people who read what was said.
fn name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "boot-server".to_owned() } else { name }
}

#[cfg(test)]
#[path = "media_tests.rs"]
mod media_tests;
