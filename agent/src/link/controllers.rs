//! Requests to the controller: whatever address is dialled, the peer must hold a certificate of the agents' CA for
//! [`CONTROLLER_NAME`]; no other root is trusted. Several addresses are tried in turn.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bessemer_protocol::{CONTROLLER_NAME, Refusal};
use reqwest::{Body, Client, Response, StatusCode, Url};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How long a TCP and TLS handshake may take.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// How long an ordinary request may take from end to end.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// Largest answer that is read, in bytes: bootstrap data of a control plane is some tens of KiB.
const MAX_ANSWER: usize = 4 << 20;

/// Why the controller did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// The configuration names no usable address.
    #[error("{0:?} is no controller address: expected https://IP:PORT")]
    Address(String),
    /// The CA, certificate or key of the configuration cannot be used.
    #[error("cannot set up TLS to the controller: {0}")]
    Tls(String),
    /// No private key could be made.
    #[error("cannot make a private key: {0}")]
    Key(String),
    /// The network, or the TLS peer was not our controller.
    #[error("{url}: {cause}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// The innermost reason.
        cause: String,
    },
    /// The controller answered with a refusal.
    #[error("refused: {}", .0.message)]
    Refused(Refusal),
    /// Something else answered, or a controller of another version.
    #[error("{url} answered {what}")]
    Answer {
        /// What was asked.
        url: String,
        /// What came.
        what: String,
    },
}

impl LinkError {
    /// Whether asking again can help.
    pub(crate) fn may_heal(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Answer { .. } => true,
            Self::Refused(refusal) => refusal.retry,
            Self::Address(_) | Self::Tls(_) | Self::Key(_) => false,
        }
    }
}

/// Every controller that this agent may talk to, as seen with one client certificate or none.
#[derive(Debug)]
pub(crate) struct Controllers {
    peers: Vec<Peer>,
    current: AtomicUsize,
}

#[derive(Debug)]
struct Peer {
    /// With [`CONTROLLER_NAME`] as host; the client knows where that is.
    base: Url,
    client: Client,
}

impl Controllers {
    /// `identity` is certificate and key, both PEM.
    pub(crate) fn new(urls: &[String], ca: &str, identity: Option<(&str, &str)>) -> Result<Self, LinkError> {
        let peers = urls.iter().map(|url| Peer::new(url, ca, identity)).collect::<Result<Vec<_>, _>>()?;
        if peers.is_empty() {
            return Err(LinkError::Address(String::new()));
        }
        Ok(Self { peers, current: AtomicUsize::new(0) })
    }

    /// `POST` with JSON both ways.
    pub(crate) async fn post<A: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<A, LinkError> {
        let (peer, url) = self.at(path)?;
        let request = peer.client.post(url.clone()).timeout(REQUEST_DEADLINE).json(body).send();
        self.read(&url, request.await).await
    }

    /// `GET` of JSON.
    pub(crate) async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, LinkError> {
        let (peer, url) = self.at(path)?;
        let request = peer.client.get(url.clone()).timeout(REQUEST_DEADLINE).send();
        self.read(&url, request.await).await
    }

    /// Opens the stream: `up` is sent while the answer is read.
    pub(crate) async fn open(&self, path: &str, up: Body) -> Result<Response, LinkError> {
        let (peer, url) = self.at(path)?;
        let request = peer.client.post(url.clone()).header("content-type", "application/x-ndjson").body(up).send();
        let answer = tokio::time::timeout(REQUEST_DEADLINE, request)
            .await
            .map_err(|_| self.lost(&url, format!("no answer within {} s", REQUEST_DEADLINE.as_secs())))?;
        self.accepted(&url, answer).await
    }

    fn at(&self, path: &str) -> Result<(&Peer, Url), LinkError> {
        let index = self.current.load(Ordering::Relaxed) % self.peers.len().max(1);
        let peer = self.peers.get(index).ok_or_else(|| LinkError::Address(String::new()))?;
        let url = peer.base.join(path).map_err(|_| LinkError::Address(path.to_owned()))?;
        Ok((peer, url))
    }

    /// The next request goes to the next address.
    fn lost(&self, url: &Url, cause: String) -> LinkError {
        self.current.fetch_add(1, Ordering::Relaxed);
        LinkError::Unreachable { url: url.to_string(), cause }
    }

    async fn read<A: DeserializeOwned>(
        &self,
        url: &Url,
        answer: Result<Response, reqwest::Error>,
    ) -> Result<A, LinkError> {
        let response = self.accepted(url, answer).await?;
        let body = limited(response).await.map_err(|cause| self.lost(url, cause))?;
        serde_json::from_slice(&body)
            .map_err(|error| LinkError::Answer { url: url.to_string(), what: format!("no message of ours: {error}") })
    }

    async fn accepted(&self, url: &Url, answer: Result<Response, reqwest::Error>) -> Result<Response, LinkError> {
        let response = answer.map_err(|error| self.lost(url, innermost(&error)))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = limited(response).await.map_err(|cause| self.lost(url, cause))?;
        if let Ok(refusal) = serde_json::from_slice::<Refusal>(&body) {
            return Err(LinkError::Refused(refusal));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            return Err(self.lost(url, "not the serving controller".to_owned()));
        }
        Err(LinkError::Answer { url: url.to_string(), what: format!("status {status}") })
    }
}

impl Peer {
    fn new(url: &str, ca: &str, identity: Option<(&str, &str)>) -> Result<Self, LinkError> {
        let bad = || LinkError::Address(url.to_owned());
        let mut base: Url = url.parse().map_err(|_| bad())?;
        let address: SocketAddr =
            base.socket_addrs(|| None).ok().and_then(|found| found.first().copied()).ok_or_else(bad)?;
        if base.scheme() != "https" || base.set_host(Some(CONTROLLER_NAME)).is_err() {
            return Err(bad());
        }
        let mut tls = client_config(ca, identity)?;
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .resolve(CONTROLLER_NAME, address)
            .http2_prior_knowledge()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_DEADLINE)
            .build()
            .map_err(|error| LinkError::Tls(innermost(&error)))?;
        Ok(Self { base, client })
    }
}

/// TLS that trusts `ca` alone.
pub(crate) fn client_config(ca: &str, identity: Option<(&str, &str)>) -> Result<ClientConfig, LinkError> {
    let failed = |what: &str, error: &dyn std::fmt::Display| LinkError::Tls(format!("{what}: {error}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        let certificate = certificate.map_err(|error| failed("the agents' CA", &error))?;
        roots.add(certificate).map_err(|error| failed("the agents' CA", &error))?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed("protocol versions", &error))?
        .with_root_certificates(roots);
    let Some((certificate, key)) = identity else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| failed("client certificate", &error))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| failed("client key", &error))?;
    builder.with_client_auth_cert(chain, key).map_err(|error| failed("client certificate", &error))
}

async fn limited(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| innermost(&error))? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(format!("answer of more than {MAX_ANSWER} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The reason at the bottom, which is the one that a person can act on.
pub(crate) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
