//! One HTTP/1.1 connection to a server, on which a request goes out exactly as written: no client library tidies the
//! path, adds headers or tries again.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::kubeconfig::Access;

/// No answer may take longer.
const PATIENCE: Duration = Duration::from_secs(45);

/// Connects when first used, and again when the server has closed.
pub(crate) struct Connection {
    access: Access,
    anonymous: bool,
    sender: Option<SendRequest<Full<Bytes>>>,
}

/// A whole answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Connection {
    pub(crate) fn new(access: &Access, anonymous: bool) -> Self {
        Self { access: access.clone(), anonymous, sender: None }
    }

    async fn ready(&mut self) -> anyhow::Result<&mut SendRequest<Full<Bytes>>> {
        let usable = match &mut self.sender {
            Some(sender) => sender.ready().await.is_ok(),
            None => false,
        };
        if !usable {
            self.sender = None;
        }
        let sender = match self.sender.take() {
            Some(sender) => sender,
            None => self.connect().await.with_context(|| format!("cannot connect to {}", self.access.address))?,
        };
        Ok(self.sender.insert(sender))
    }

    async fn connect(&self) -> anyhow::Result<SendRequest<Full<Bytes>>> {
        let config = if self.anonymous { &self.access.anonymous } else { &self.access.admin };
        let stream = TcpStream::connect(&self.access.address).await?;
        stream.set_nodelay(true)?;
        let host = self.access.address.rsplit_once(':').map_or(self.access.address.as_str(), |(host, _)| host);
        let name = ServerName::try_from(host.to_owned())?;
        let stream = TlsConnector::from(Arc::clone(config)).connect(name, stream).await?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Its end shows at the sender.
        tokio::spawn(connection);
        sender.ready().await?;
        Ok(sender)
    }

    /// Sends a request and returns when the answer's head has come.
    pub(crate) async fn open(&mut self, mut request: Request<Bytes>) -> anyhow::Result<Response<Incoming>> {
        let host = http::HeaderValue::from_str(&self.access.address)?;
        request.headers_mut().insert(http::header::HOST, host);
        loop {
            let reused = self.sender.is_some();
            let sender = timeout(PATIENCE, self.ready()).await.context("no connection in time")??;
            let sent = sender.send_request(request.clone().map(Full::new));
            match timeout(PATIENCE, sent).await.context("no answer in time")? {
                // The server had closed the connection before the request was on it.
                Err(error) if error.is_canceled() && reused => self.sender = None,
                answered => return Ok(answered?),
            }
        }
    }

    /// Sends a request and takes the whole answer.
    pub(crate) async fn ask(&mut self, request: Request<Bytes>) -> anyhow::Result<Answer> {
        let (head, body) = self.open(request).await?.into_parts();
        let body =
            timeout(PATIENCE, body.collect()).await.context("the answer's body did not end in time")??.to_bytes();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }
}
