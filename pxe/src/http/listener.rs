//! Connections: accepted up to a limit, with a deadline for each request's head, ended with the server.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tracing::debug;

use super::Peer;

/// Connections at once: two for each host of a large boot storm. More wait in the listen queue.
const CONNECTIONS: usize = 2048;
/// For a request's head, and between two requests on one connection.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);
/// A pause after a failed accept (out of file descriptors, mostly), which would otherwise repeat at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until cancelled; connections still open then are dropped.
pub(crate) async fn run(listener: TcpListener, router: Router, cancel: CancellationToken) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = cancel.cancelled() => return,
            Some(_) = connections.join_next() => continue,
            accepted = accept(&listener, slots.clone()) => accepted,
        };
        match accepted {
            Ok((stream, peer, slot)) => {
                let router = router.clone();
                connections.spawn(async move {
                    serve(stream, peer, router).await;
                    drop(slot);
                });
            }
            Err(error) => {
                debug!(phase = "http", %error, "accept failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn accept(
    listener: &TcpListener,
    slots: Arc<Semaphore>,
) -> std::io::Result<(TcpStream, Peer, OwnedSemaphorePermit)> {
    let slot = slots.acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, Peer(peer), slot))
}

async fn serve(stream: TcpStream, peer: Peer, router: Router) {
    // Scripts and heads are small writes; a client that waits for one should not wait for Nagle too.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer);
        router.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        debug!(phase = "http", peer = %peer.0, %error, "connection ended");
    }
}
