//! `bessemer serve`: the controllers against a Kubernetes API that is there already. Waits until no other copy of the program
//! leads, installs the definitions, then runs the controllers until it is told to end or loses the lead. It has no boot
//! server and no endpoint for agents, so hosts are not its business.

mod definitions;
mod install;
mod leader;
mod lease;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use bessemer_agents::Hub;
use bessemer_bmc::Connector;
use bessemer_reconcilers::{BootSettings, KubeWorkloadClusters, Outside, Site};
use clap::Args;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::connect::connect;
use crate::controllers::Controllers;
use crate::metrics;
use crate::signals::Signals;
use leader::{Stop, Times};

/// How long everything may take to end.
const END_DEADLINE: Duration = Duration::from_secs(15);
/// How long letting go of the lease may take after that.
const LAST_DEADLINE: Duration = Duration::from_secs(3);

/// Which cluster `bessemer serve` works in, and what it runs there.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeOptions {
    /// The cluster's kubeconfig, one file [default: the files in the variable KUBECONFIG, else the user's own file, else the
    /// account of the Pod this runs in].
    // Not from the variable: that is a list of files, which the client library knows how to put together.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current one].
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Which controllers run: `all` that can, or names of groups with commas between them. The group `metal3` (hosts) cannot
    /// run here yet: hosts are booted by `bessemer up --interface NAME` only.
    #[arg(long, value_name = "GROUPS", env = "BESSEMER_CONTROLLERS", default_value = "all",
        value_parser = Controllers::without_hosts)]
    pub(crate) controllers: Controllers,

    /// Where the lease lies that one of several copies holds; made if missing.
    #[arg(long, value_name = "NAMESPACE", default_value = "bessemer-system")]
    pub(crate) namespace: String,

    /// Install the definitions of the chosen controllers and end.
    #[arg(long)]
    pub(crate) install_only: bool,

    /// Where metrics and `/healthz` are served [default: nowhere].
    #[arg(long, value_name = "IP:PORT", env = "BESSEMER_METRICS")]
    pub(crate) metrics: Option<SocketAddr>,
}

/// Runs until a signal, or until another copy has taken the lead.
pub(crate) async fn run(options: ServeOptions) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let stop = Stop::default();
    let mut work = Box::pin(serve(&options, &stop));
    tokio::select! {
        ended = work.as_mut() => return ended,
        signal = signals.next() => tracing::info!(signal, "ending"),
    }
    stop.gently.cancel();
    tokio::select! {
        ended = work.as_mut() => return ended,
        () = tokio::time::sleep(END_DEADLINE) => tracing::warn!("the controllers did not end within {END_DEADLINE:?}"),
        signal = signals.next() => tracing::warn!(signal, "asked again: not waiting any longer"),
    }
    stop.now.cancel();
    tokio::time::timeout(LAST_DEADLINE, work).await.context("the lease was not let go in time")?
}

async fn serve(options: &ServeOptions, stop: &Stop) -> anyhow::Result<()> {
    if options.controllers.is_empty() {
        bail!("no controllers are chosen, so there is nothing to do; choose some with --controllers");
    }
    let connected = connect(options.kubeconfig.as_deref(), options.context.as_deref());
    let client = tokio::select! {
        client = connected => client?,
        () = stop.gently.cancelled() => return Ok(()),
    };
    if let Some(address) = options.metrics {
        metrics::serve(address, metrics::Sources::default(), stop.gently.clone()).await?;
    }
    if options.install_only {
        return tokio::select! {
            installed = install(&client, options) => installed,
            () = stop.gently.cancelled() => bail!("told to end before the definitions were installed"),
        };
    }
    let acquired = leader::acquire(&client, &options.namespace, Times::KUBERNETES, &stop.gently).await?;
    let Some(lead) = acquired else { return Ok(()) };
    let identity = lead.identity().to_owned();
    tracing::info!(identity, "leading");
    lead.hold(stop, |ending| lead_work(&client, options, identity, ending)).await
}

/// What the one copy does that leads.
async fn lead_work(
    client: &Client,
    options: &ServeOptions,
    identity: String,
    ending: CancellationToken,
) -> anyhow::Result<()> {
    let started = async {
        install(client, options).await?;
        anyhow::Ok(Site::start(client.clone(), ending.clone()).await?)
    };
    let site = tokio::select! {
        () = ending.cancelled() => return Ok(()),
        site = started => site?,
    };
    println!("ready: leading as {identity}");
    let hub = Hub::new();
    let outside = Outside {
        bmc: Arc::new(Connector::new()),
        agents: hub.clone(),
        workload: Arc::new(KubeWorkloadClusters::new(client.clone())),
        // No hosts, so nothing boots.
        boot: BootSettings::default(),
    };
    let mut work = Box::pin(site.run(outside, options.controllers.groups().clone()));
    tokio::select! {
        () = work.as_mut() => return Ok(()),
        // At once, while reconciles come to their end: agents shall already look for the copy that leads next.
        () = ending.cancelled() => hub.lead(false),
    }
    work.await;
    Ok(())
}

async fn install(client: &Client, options: &ServeOptions) -> anyhow::Result<()> {
    let installed = install::install(client, &definitions::wanted(options.controllers.groups())).await?;
    println!("installed {installed} definitions");
    Ok(())
}
