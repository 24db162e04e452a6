//! A lean HTTPS client: one HTTP/1.1 connection, one request at a time. What it costs, it costs beside either server.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How to reach a server as its administrator.
#[derive(Clone)]
pub(crate) struct Access {
    address: SocketAddr,
    connector: TlsConnector,
    token: Arc<str>,
}

impl Access {
    pub(crate) fn new(address: SocketAddr, authority: &str, token: &str) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { address, connector: TlsConnector::from(Arc::new(config)), token: token.into() })
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let stream = self.connector.connect(ServerName::from(self.address.ip()), stream).await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Connection { sender, token: Arc::clone(&self.token) })
    }
}

/// An open connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    token: Arc<str>,
}

/// An answer, read whole.
pub(crate) struct Answer {
    status: StatusCode,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// The body as JSON; an error when the request failed.
    pub(crate) fn json(&self) -> Result<Value> {
        let text = || String::from_utf8_lossy(self.body.get(..600.min(self.body.len())).unwrap_or_default());
        ensure!(self.is_success(), "{}: {}", self.status, text());
        Ok(serde_json::from_slice(&self.body)?)
    }
}

impl Connection {
    /// Sends a request; the body of the answer is still to come.
    pub(crate) async fn open(&mut self, method: Method, path: &str, body: Bytes) -> Result<Response<Incoming>> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("user-agent", "bench-api")
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .body(Full::new(body))?;
        self.sender.ready().await?;
        self.sender.send_request(request).await.context("no answer")
    }

    pub(crate) async fn send(&mut self, method: Method, path: &str, body: Bytes) -> Result<Answer> {
        let response = self.open(method, path, body).await?;
        let status = response.status();
        Ok(Answer { status, body: response.into_body().collect().await?.to_bytes() })
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    /// Creates an object.
    pub(crate) async fn post(&mut self, path: &str, object: &Value) -> Result<Value> {
        self.send(Method::POST, path, object.to_string().into()).await?.json()
    }

    /// Replaces an object.
    pub(crate) async fn put(&mut self, path: &str, object: &Value) -> Result<Value> {
        self.send(Method::PUT, path, object.to_string().into()).await?.json()
    }
}
