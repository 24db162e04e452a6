//! Connections: accepted, bounded in number and patience, and ended together.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Endpoint;
use super::peer::Peer;

/// Connections at once; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 16_384;

/// How long a client may take for its TLS handshake, and for a request's head.
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// How often an idle HTTP/2 connection is probed, and how long the answer may take: together as patient as the streams'
/// own heartbeats, as a host under load may be slow to answer.
const PROBE_INTERVAL: Duration = Duration::from_secs(20);
const PROBE_DEADLINE: Duration = Duration::from_secs(40);

/// How long connections may take to end at shutdown.
const END_DEADLINE: Duration = Duration::from_secs(5);

/// Wait after the system refused to accept, as when out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

pub(super) async fn run(endpoint: Endpoint, shutdown: CancellationToken) {
    let Endpoint { listener, acceptor, router, hub } = endpoint;
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = async {
                let slot = slots.clone().acquire_owned().await;
                (slot, listener.accept().await)
            } => accepted,
        };
        let (tcp, address) = match accepted.1 {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "the agents' endpoint cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (acceptor, router, shutdown) = (acceptor.clone(), router.clone(), shutdown.clone());
        tasks.spawn(async move {
            let _slot = accepted.0;
            if let Err(why) = connection(tcp, address, acceptor, router, shutdown).await {
                tracing::debug!(peer = %address, %why, "a connection to the agents' endpoint ended");
            }
        });
    }
    drop(listener);
    hub.lead(false);
    tasks.close();
    if tokio::time::timeout(END_DEADLINE, tasks.wait()).await.is_err() {
        tracing::warn!("some agents' connections did not end in time and are cut");
    }
}

async fn connection(
    tcp: TcpStream,
    address: SocketAddr,
    acceptor: TlsAcceptor,
    router: Router,
    shutdown: CancellationToken,
) -> Result<(), String> {
    // Messages are small and each is waited for.
    tcp.set_nodelay(true).map_err(|error| error.to_string())?;
    let tls = tokio::time::timeout(HANDSHAKE_DEADLINE, acceptor.accept(tcp))
        .await
        .map_err(|_| format!("no TLS handshake within {HANDSHAKE_DEADLINE:?}"))?
        .map_err(|error| format!("TLS handshake: {error}"))?;
    let peer = Peer::of(address, tls.get_ref().1.peer_certificates());
    let service = tower::ServiceBuilder::new()
        .layer(Extension(Arc::new(peer)))
        .map_request(|request: http::Request<hyper::body::Incoming>| request.map(Body::new))
        .service(router);
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HANDSHAKE_DEADLINE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PROBE_INTERVAL)
        .keep_alive_timeout(PROBE_DEADLINE)
        .max_concurrent_streams(16);
    let connection = builder.serve_connection(TokioIo::new(tls), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(connection);
    let result: Result<(), Box<dyn std::error::Error + Send + Sync>> = tokio::select! {
        result = connection.as_mut() => result,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    result.map_err(|error| error.to_string())
}
