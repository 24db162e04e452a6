//! `bessemer serve`: the controllers against a Kubernetes API that is there already. Installs the definitions, waits until
//! no other copy of the program leads, then runs the controllers until it is told to end or loses the lead.

mod install;
mod leader;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use bessemer_agents::Hub;
use bessemer_bmc::Connector;
use bessemer_reconcilers::{KubeWorkloadClusters, Outside, Site};
use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio_util::sync::CancellationToken;

use crate::controllers::Controllers;
use crate::metrics;
use crate::signals::Signals;

/// How long everything may take to end.
const END_DEADLINE: Duration = Duration::from_secs(15);

/// Which cluster `bessemer serve` works in, and what it runs there.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeOptions {
    /// The cluster's kubeconfig [default: the account of the Pod it runs in, or the user's own kubeconfig].
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current one].
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Which controllers run: `all`, `none`, or names of groups with commas between them.
    #[arg(long, value_name = "GROUPS", env = "BESSEMER_CONTROLLERS", default_value = "all")]
    pub(crate) controllers: Controllers,

    /// Where the lease lies that one of several copies holds; made if missing.
    #[arg(long, value_name = "NAMESPACE", default_value = "bessemer-system")]
    pub(crate) namespace: String,

    /// Install the definitions and end.
    #[arg(long)]
    pub(crate) install_only: bool,

    /// Where metrics and `/healthz` are served [default: nowhere].
    #[arg(long, value_name = "IP:PORT", env = "BESSEMER_METRICS")]
    pub(crate) metrics: Option<SocketAddr>,
}

/// Runs until a signal, or until another copy has taken the lead.
pub(crate) async fn run(options: ServeOptions) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    let mut work = Box::pin(serve(&options, stop.clone()));
    tokio::select! {
        ended = work.as_mut() => return ended,
        signal = signals.next() => tracing::info!(signal, "ending"),
    }
    stop.cancel();
    tokio::select! {
        ended = tokio::time::timeout(END_DEADLINE, work) => match ended {
            Ok(ended) => ended,
            Err(_) => bail!("the controllers did not end within {END_DEADLINE:?}"),
        },
        signal = signals.next() => bail!("{signal} again: not waiting any longer"),
    }
}

async fn serve(options: &ServeOptions, stop: CancellationToken) -> anyhow::Result<()> {
    let client = connect(options).await?;
    if let Some(address) = options.metrics {
        metrics::serve(address, None, stop.clone()).await?;
    }
    let installed = install::definitions(&client).await?;
    println!("installed {installed} definitions");
    if options.install_only || options.controllers.is_empty() {
        return Ok(());
    }
    let Some(lead) = leader::acquire(&client, &options.namespace, &stop).await? else { return Ok(()) };
    println!("ready: leading as {}", lead.identity());

    let ended = stop.child_token();
    let site = Site::start(client.clone(), ended.clone()).await?;
    let outside = Outside {
        bmc: Arc::new(Connector::new()),
        agents: Hub::new(),
        workload: Arc::new(KubeWorkloadClusters::new(client)),
    };
    let mut controllers = Box::pin(site.run(outside, options.controllers.groups().clone()));
    let lost = tokio::select! {
        // They end by themselves only when told to.
        () = controllers.as_mut() => None,
        lost = lead.keep(&ended) => Some((lost, controllers)),
    };
    ended.cancel();
    match lost {
        None => {}
        Some((None, controllers)) => controllers.await,
        Some((Some(why), controllers)) => {
            // Another copy may be at work soon: what is under way here must not go on for long.
            if tokio::time::timeout(leader::GRACE, controllers).await.is_err() {
                tracing::warn!("reconciles were cut off: the lead is lost");
            }
            bail!("{why}");
        }
    }
    lead.release().await;
    Ok(())
}

async fn connect(options: &ServeOptions) -> anyhow::Result<Client> {
    let choice = KubeConfigOptions { context: options.context.clone(), ..KubeConfigOptions::default() };
    let config = match &options.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()))?;
            Config::from_custom_kubeconfig(file, &choice).await.with_context(|| path.display().to_string())?
        }
        None => Config::infer().await.context("no cluster is configured; give one with --kubeconfig FILE")?,
    };
    let server = config.cluster_url.to_string();
    let client = Client::try_from(config).with_context(|| format!("cannot connect to {server}"))?;
    let version = client.apiserver_version().await.with_context(|| format!("{server} does not answer"))?;
    tracing::info!(server, version = version.git_version, "connected");
    Ok(client)
}
