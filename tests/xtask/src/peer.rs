//! The real Kubernetes API as a command: running until its user has seen enough.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use bessemer_kube_peer::RealApi;
use tokio::signal::unix::{SignalKind, signal};

use crate::kubernetes::KubeBinaries;

/// Starts the API, prints how to use it, and ends it at Ctrl-C or SIGTERM.
pub(crate) fn up(binaries: &KubeBinaries) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // asked for before anything is started: an early Ctrl-C must clean up as a late one does
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let programs = binaries.dir.clone();
        let starting = tokio::task::spawn_blocking(move || RealApi::start_with_controllers(&programs));
        let api = starting.await.context("the start was cut short")??;
        println!("{} ready in {:.1} s", api.url, api.started_in.as_secs_f64());
        println!("export KUBECONFIG={}", api.kubeconfig.display());
        println!("logs: {}; Ctrl-C ends it", api.dir().display());
        std::io::stdout().flush()?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        drop(api);
        anyhow::Ok(())
    })
}
