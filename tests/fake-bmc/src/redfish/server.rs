//! HTTP/1.1 over TLS or plain, one listener a host. It knows connections and bytes, and nothing of resources.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::answer::{Answer, Body};
use super::dispatch::Request;
use super::service::Service;

/// The longest body that is read.
const BODY_LIMIT: usize = 32 << 20;

/// Connections to one host at once; more wait.
const CONNECTIONS: usize = 64;

const HANDSHAKE: Duration = Duration::from_secs(10);
const CHUNK: usize = 64 * 1024;

type Outgoing = BoxBody<Bytes, io::Error>;

/// A listener that is bound and not yet served: the address is needed to make the service.
#[derive(Debug)]
pub struct Listener {
    inner: TcpListener,
    /// Where.
    pub address: SocketAddr,
}

impl Listener {
    /// Binds; port 0 takes any.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let inner = TcpListener::bind(address).await?;
        let address = inner.local_addr()?;
        Ok(Self { inner, address })
    }
}

/// Serves until the future is dropped; its connections end with it.
pub async fn serve(listener: Listener, service: Arc<Service>, tls: Option<Arc<ServerConfig>>) {
    let acceptor = tls.map(TlsAcceptor::from);
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS {
            connections.join_next().await;
        }
        let accepted = tokio::select! {
            accepted = listener.inner.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, _)) = accepted else { continue };
        let (service, acceptor) = (Arc::clone(&service), acceptor.clone());
        connections.spawn(async move {
            let _ = stream.set_nodelay(true);
            match acceptor {
                None => connection(stream, service).await,
                Some(acceptor) => {
                    let secured = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
                    if let Ok(Ok(stream)) = secured {
                        connection(stream, service).await;
                    }
                }
            }
        });
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, service: Arc<Service>) {
    let answer = service_fn(move |request: http::Request<Incoming>| {
        let service = Arc::clone(&service);
        async move { respond(&service, request).await }
    });
    // an error here is a client that left, or a fault that was asked for
    let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), answer).await;
}

async fn respond(service: &Arc<Service>, request: http::Request<Incoming>) -> io::Result<Response<Outgoing>> {
    let (head, body) = request.into_parts();
    let gone = || io::Error::new(io::ErrorKind::ConnectionAborted, "ended on purpose");
    let answer = match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(body) => {
            let target = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
            let method = head.method.as_str().to_owned();
            service.handle(Request { method, target, headers: head.headers, body: body.to_bytes() }).await
        }
        Err(_) => Some(Answer::error(413, "PayloadTooLarge", "the body is too long", &[])),
    };
    response(answer.ok_or_else(gone)?, head.method == http::Method::HEAD)
}

fn response(answer: Answer, head_only: bool) -> io::Result<Response<Outgoing>> {
    let (content_type, bytes) = match &answer.body {
        Body::Empty => (None, Bytes::new()),
        Body::Json(body) => (Some("application/json; charset=utf-8"), Bytes::from(body.to_string())),
        Body::Raw(content_type, bytes) => (Some(*content_type), bytes.clone()),
    };
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    let content_type = answer.content_type.as_deref().or(content_type);
    if let Some(value) = content_type.and_then(|value| HeaderValue::from_str(value).ok()) {
        response = response.header(CONTENT_TYPE, value);
    }
    for (name, value) in [("odata-version", "4.0"), ("cache-control", "no-cache"), ("server", "fake-bmc")] {
        response = response.header(HeaderName::from_static(name), value);
    }
    let length = bytes.len();
    let body = if head_only {
        response = response.header(CONTENT_LENGTH, length);
        full(Bytes::new())
    } else if answer.cut {
        response = response.header(CONTENT_LENGTH, length);
        let half = bytes.slice(..length / 2);
        let gone = stream::once(async {
            // what is before the cut is sent when the body makes the connection wait
            tokio::task::yield_now().await;
            Err(io::Error::new(io::ErrorKind::ConnectionAborted, "cut on purpose"))
        });
        BodyExt::boxed(StreamBody::new(stream::iter([Ok(Frame::data(half))]).chain(gone)))
    } else if answer.padding > 0 {
        let blanks = Bytes::from(vec![b' '; CHUNK]);
        let chunks = answer.padding.div_ceil(CHUNK as u64);
        let padding = (0..chunks).map(move |_| Ok(Frame::data(blanks.clone())));
        BodyExt::boxed(StreamBody::new(stream::iter(std::iter::once(Ok(Frame::data(bytes))).chain(padding))))
    } else {
        full(bytes)
    };
    response.body(body).map_err(io::Error::other)
}

fn full(bytes: Bytes) -> Outgoing {
    BodyExt::boxed(Full::new(bytes).map_err(|never: Infallible| match never {}))
}
