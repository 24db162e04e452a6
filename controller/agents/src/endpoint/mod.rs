//! The HTTPS endpoint of the agents: a handful of requests, see [`bessemer_protocol`]. TLS asks every client for a certificate of
//! the site's CA and lets those without one in, as enrolment has none yet; each handler says what it needs.

mod bootstrap;
mod bounded;
mod discover;
mod enrol;
mod enrolments;
mod inbound;
mod lines;
mod node_certificate;
mod peer;
mod refusal;
mod renew;
mod serve;
mod stream;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use bessemer_protocol::DiscoverRequest;
use bessemer_reconcilers::outside::HostAuthority;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::hub::Hub;
use crate::site::{SiteAuthority, SiteError};
use discover::Discovery;
use enrolments::Enrolments;

/// Largest body of a request other than the stream's, in bytes: a CSR and a list of MACs.
const MAX_BODY: usize = 64 << 10;

/// Why the endpoint cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The address is taken or not this machine's.
    #[error("cannot listen for agents on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The site's CA cannot be used for TLS.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The TLS library refuses the configuration.
    #[error("cannot set up TLS for agents: {0}")]
    Tls(String),
}

/// Everything a request needs.
#[derive(Clone)]
struct Shared {
    site: Arc<SiteAuthority>,
    hosts: Arc<dyn HostAuthority>,
    hub: Arc<Hub>,
    enrolments: Arc<Enrolments>,
    discovery: Arc<Discovery>,
    /// `https://address:port` of every controller, told to agents that outlive a boot.
    controllers: Arc<[String]>,
}

/// The endpoint, listening.
pub struct Endpoint {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    router: Router,
    hub: Arc<Hub>,
}

impl Endpoint {
    /// Listens, so that an error is known before anything else starts; [`Self::run`] answers. `controllers` are the
    /// `https://address:port` of this site, which installed agents are told; empty leaves them as they are.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub async fn bind(
        address: SocketAddr,
        site: Arc<SiteAuthority>,
        hosts: Arc<dyn HostAuthority>,
        hub: Arc<Hub>,
        controllers: &[String],
    ) -> Result<Self, EndpointError> {
        let acceptor = tls::acceptor(&site)?;
        let listener = TcpListener::bind(address).await.map_err(|source| EndpointError::Listen { address, source })?;
        let shared = Shared {
            site,
            hosts,
            hub: hub.clone(),
            enrolments: Arc::default(),
            discovery: Arc::default(),
            controllers: controllers.into(),
        };
        let discover = post(discover::discover).layer(DefaultBodyLimit::max(DiscoverRequest::MAX_BYTES));
        let router = Router::new()
            .route("/v1/enrol", post(enrol::enrol))
            .route("/v1/node-certificate", post(node_certificate::issue))
            .route("/v1/renew", post(renew::renew))
            .route("/v1/bootstrap", get(bootstrap::deliver))
            .route("/v1/discover", discover)
            .route_layer(axum::middleware::from_fn(bounded::in_time))
            .route("/v1/stream", post(stream::open))
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .with_state(shared);
        Ok(Self { listener, acceptor, router, hub })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `shutdown`, then ends every stream and waits for their tasks, within a deadline.
    pub async fn run(self, shutdown: CancellationToken) {
        serve::run(self, shutdown).await;
    }
}
