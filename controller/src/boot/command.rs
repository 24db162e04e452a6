//! `bessemer boot`: the boot server alone, near the hosts. Everything it knows of them it reads from a Kubernetes API,
//! so that any number of them may run at once.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use bessemer_reconcilers::Hosts;
use clap::Args;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::file::BootFile;
use super::{load, site};
use crate::connect::connect;
use crate::signals::Signals;
use crate::{metrics, parts};

/// What it serves, and whom it asks.
#[derive(Debug, Clone, Args)]
pub(crate) struct BootOptions {
    /// Interfaces, subnets and programs, in YAML; docs/boot.md says how.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,

    /// The cluster's kubeconfig, one file [default: as kubectl does].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Which of the kubeconfig's contexts.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Where metrics and `/healthz` are served [default: nowhere].
    #[arg(long, value_name = "IP:PORT", env = "BESSEMER_METRICS")]
    metrics: Option<SocketAddr>,

    /// Only say what is wrong with the configuration.
    #[arg(long)]
    check: bool,
}

/// Runs until a signal, or until a part of it ends by itself.
pub(crate) async fn run(options: BootOptions) -> anyhow::Result<()> {
    let path = options.config.display();
    let text = tokio::fs::read_to_string(&options.config).await.with_context(|| format!("cannot read {path}"))?;
    let file: BootFile = serde_saphyr::from_str(&text).with_context(|| format!("cannot understand {path}"))?;
    let config = load::load(&file).await.with_context(|| path.to_string())?;
    if options.check {
        println!("{path} can be used");
        return Ok(());
    }
    let mut signals = Signals::listen()?;
    let (stop, mut running) = (CancellationToken::new(), JoinSet::new());
    let start = async {
        let client = connect(options.kubeconfig.as_deref(), options.context.as_deref()).await?;
        let authority = site::open_for_boot(&client).await?;
        let mut hosts = Hosts::watch(client, stop.clone()).await?;
        if file.discovery {
            hosts = hosts.discovering(site::NAMESPACE);
        }
        let boot = super::start(config, hosts, authority, file.controllers.clone(), &stop, &mut running).await?;
        if let Some(address) = options.metrics {
            let sources = metrics::Sources { api: None, boot: Some(boot.metrics) };
            metrics::serve(address, sources, stop.clone()).await?;
        }
        anyhow::Ok(boot.urls)
    };
    let urls = tokio::select! {
        urls = start => urls?,
        signal = signals.next() => anyhow::bail!("{signal} before everything had started"),
    };
    println!("ready: boot {}", urls.join(", "));
    let ended = parts::wait(&mut running, &mut signals).await;
    parts::end(&mut running, &mut signals, &stop).await;
    ended
}
