//! Many hosts in one process: one tree for all of a model, one listener and a little state for each.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::host::{Host, HostOptions};
use crate::redfish::tls::{self, Shown, Tls};
use crate::redfish::{Behaviour, Listener, Service, Tree, serve};

/// It could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A listener.
    #[error("host {host}: cannot listen: {source}")]
    Listen {
        /// Which.
        host: String,
        /// Why.
        source: std::io::Error,
    },
    /// Certificates.
    #[error(transparent)]
    Tls(#[from] tls::Error),
}

/// With what a fleet begins.
pub struct FleetOptions {
    /// Answers of all hosts.
    pub tree: Arc<Tree>,
    /// The hosts.
    pub hosts: Vec<HostOptions>,
    /// How they prove who they are.
    pub tls: Tls,
    /// How they behave at first.
    pub behaviour: Behaviour,
    /// Port of the first host, the others after it; any if none.
    pub first_port: Option<u16>,
}

impl FleetOptions {
    /// `count` numbered hosts over TLS on any ports.
    #[must_use]
    pub fn new(tree: Arc<Tree>, count: u32) -> Self {
        let hosts = (0..count).map(HostOptions::numbered).collect();
        Self { tree, hosts, tls: Tls::default(), behaviour: Behaviour::default(), first_port: None }
    }
}

/// One controller that runs. It ends when dropped.
pub struct FakeBmc {
    service: Arc<Service>,
    address: SocketAddr,
    shown: Option<Shown>,
    server: JoinHandle<()>,
}

impl FakeBmc {
    /// `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", if self.shown.is_some() { "https" } else { "http" }, self.address)
    }

    /// Where Redfish listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client must believe, PEM; none without TLS.
    #[must_use]
    pub fn trusted(&self) -> Option<&str> {
        self.shown.as_ref().map(|shown| shown.trusted.as_str())
    }

    /// The certificate it shows, DER; none without TLS.
    #[must_use]
    pub fn certificate(&self) -> Option<&[u8]> {
        self.shown.as_ref().map(|shown| shown.certificate.as_ref())
    }

    /// The state that all protocols share.
    #[must_use]
    pub fn host(&self) -> &Arc<Host> {
        self.service.host()
    }

    /// The Redfish side: faults, behaviour, what was asked.
    #[must_use]
    pub fn redfish(&self) -> &Arc<Service> {
        &self.service
    }
}

impl Drop for FakeBmc {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Starts the hosts.
///
/// # Errors
/// When a listener or a certificate cannot be made.
pub async fn start(options: FleetOptions) -> Result<Vec<FakeBmc>, Error> {
    let shared = match options.tls {
        Tls::Authority => Some(tls::authority()?),
        _ => None,
    };
    let mut fleet = Vec::with_capacity(options.hosts.len());
    for (host, offset) in options.hosts.into_iter().zip(0_u16..) {
        let shown = match shared.clone() {
            None => tls::own(options.tls, &host.identity.name)?,
            shared => shared,
        };
        let port = options.first_port.map_or(0, |first| first.saturating_add(offset));
        let bmc = begin(host, &options.tree, shown, port).await?;
        bmc.service.change(|behaviour| behaviour.clone_from(&options.behaviour));
        fleet.push(bmc);
    }
    Ok(fleet)
}

/// Starts one host on any port.
///
/// # Errors
/// When a listener or a certificate cannot be made.
pub async fn start_one(tree: &Arc<Tree>, host: HostOptions, tls: Tls) -> Result<FakeBmc, Error> {
    let shown = match tls {
        Tls::Authority => Some(tls::authority()?),
        tls => tls::own(tls, &host.identity.name)?,
    };
    begin(host, tree, shown, 0).await
}

async fn begin(host: HostOptions, tree: &Arc<Tree>, shown: Option<Shown>, port: u16) -> Result<FakeBmc, Error> {
    let name = host.identity.name.clone();
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = Listener::bind(wanted).await.map_err(|source| Error::Listen { host: name, source })?;
    let address = listener.address;
    let service = Service::new(Host::new(host), Arc::clone(tree), address, shown.is_some());
    let config = shown.as_ref().map(|shown| Arc::clone(&shown.server));
    let server = tokio::spawn(serve(listener, Arc::clone(&service), config));
    Ok(FakeBmc { service, address, shown, server })
}
