//! Starts the parts of one boot server and ends them together. Each part binds its own sockets; this room knows only
//! their order: DHCP's ports are the ones that another program most likely has, and HTTP starts before whoever names its URLs.

use std::net::SocketAddrV4;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::info;

use crate::config::Config;
use crate::directory::HostDirectory;
use crate::error::Error;
use crate::identity::BootId;
use crate::metrics::Metrics;
use crate::script::Urls;
use crate::trace::Observer;
use crate::{dhcp, dhcp6, http, router_advert, tftp};

/// What every part needs to start.
pub(crate) struct Parts {
    pub(crate) config: Arc<Config>,
    pub(crate) observer: Observer,
    pub(crate) cancel: CancellationToken,
    pub(crate) tasks: JoinSet<()>,
}

/// A running boot server. It ends when it is dropped or the token given to [`BootServer::start`] is cancelled.
#[derive(Debug)]
pub struct BootServer {
    http: Vec<SocketAddrV4>,
    metrics: Arc<Metrics>,
    tasks: JoinSet<()>,
    _stop: DropGuard,
}

impl BootServer {
    /// Binds DHCP, TFTP and HTTP on every interface and starts to serve. All sockets are bound when it returns: hosts may
    /// be powered on.
    ///
    /// # Errors
    /// [`Error`] names the port or setting and what to do about it.
    pub async fn start(
        config: Config,
        directory: Arc<dyn HostDirectory>,
        cancel: CancellationToken,
    ) -> Result<Self, Error> {
        config.check()?;
        let observer = Observer::new(directory, &config);
        let metrics = observer.metrics.clone();
        let cancel = cancel.child_token();
        let mut parts = Parts { config: Arc::new(config), observer, cancel: cancel.clone(), tasks: JoinSet::new() };
        // From here on an error drops the tasks that run already.
        let dhcp = dhcp::bind(&parts.config)?;
        let http = http::start(&mut parts).await?;
        tftp::start(&mut parts)?;
        dhcp::start(&mut parts, dhcp, &http);
        dhcp6::start(&mut parts, &http)?;
        router_advert::start(&mut parts);
        for (interface, http_address) in parts.config.interfaces.iter().zip(&http) {
            info!(interface = interface.name, %http_address, "the boot server answers");
        }
        Ok(Self { http, metrics, tasks: parts.tasks, _stop: cancel.drop_guard() })
    }

    /// All that would keep it from starting with this configuration, save for what other programs hold: addresses and
    /// ports. Opens and reads every file that is to be served.
    pub async fn check(config: &Config) -> Vec<Error> {
        let mut found: Vec<Error> = config.check().err().map(Into::into).into_iter().collect();
        found.extend(http::findings(config).await);
        found
    }

    /// Where the boot files are served: one address for each interface, in the configuration's order.
    pub fn http_addresses(&self) -> &[SocketAddrV4] {
        &self.http
    }

    /// Where a BMC finds the virtual-media ISO of a boot, for each interface. Served only if [`crate::Media::iso`] is set
    /// and the boot's overlay is for media.
    pub fn iso_urls(&self, boot_id: BootId) -> Vec<String> {
        self.http.iter().map(|address| Urls::http(*address).iso(boot_id)).collect()
    }

    /// Counters since the start.
    pub fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// Waits until everything has ended after the cancellation.
    pub async fn stopped(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}
