//! The accept loop: TLS, then HTTP/1.1 or HTTP/2 on each connection, with limits on how many and how slow.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::auth::{self, Gate, Token};

/// Connections at once; further ones wait in the system's queue.
const MOST_CONNECTIONS: usize = 1024;
/// TLS must be agreed, and request heads must arrive, within this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often an idle HTTP/2 client is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Running requests may take this long once the server shuts down; watches have no end of their own.
const FAREWELL: Duration = Duration::from_secs(2);
/// After a failed accept (no file descriptors left, say), the loop waits so as not to spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn run(
    listener: TcpListener,
    config: Arc<ServerConfig>,
    router: Router,
    token: Token,
    shutdown: impl Future<Output = ()>,
) {
    let acceptor = TlsAcceptor::from(config);
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let closing = watch::Sender::new(false);
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, place)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (acceptor, router, token) = (acceptor.clone(), router.clone(), token.clone());
        let closed = closing.subscribe();
        connections.spawn(async move {
            serve(stream, &acceptor, router, token, closed).await;
            drop(place);
        });
    }
    drop(listener);
    closing.send_replace(true);
    // What has not ended by then is cut when the set is dropped.
    let _ = timeout(FAREWELL, async { while connections.join_next().await.is_some() {} }).await;
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            None
        }
    }
}

async fn serve(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
    router: Router,
    token: Token,
    mut closing: watch::Receiver<bool>,
) {
    // Failed handshakes are the client's affair: port scans and wrong authorities are no events here.
    let Ok(Ok(stream)) = timeout(PATIENCE, acceptor.accept(stream)).await else { return };
    let certified = stream.get_ref().1.peer_certificates().is_some_and(|chain| !chain.is_empty());
    let gate = Gate { token, certified };
    let router = router.layer(axum::middleware::from_fn_with_state(gate, auth::check));

    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(KEEP_ALIVE);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let asked_to_close = async move {
        // An error means the loop is gone, which is as good a reason.
        let _ = closing.wait_for(|closing| *closing).await;
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = asked_to_close => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "a connection ended early");
    }
}
