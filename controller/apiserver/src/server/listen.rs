//! The accept loop: TLS, then HTTP/1.1 or HTTP/2 on each connection, with limits on how many and how slow.
//!
//! A connection is given up when TLS or the head of a request does not arrive in time, when nobody authenticates on it
//! in time, when its client takes nothing of what is sent, and when the client is gone without a word (keep-alive of
//! TCP, pings of HTTP/2). One on which nothing is asked for long is closed gracefully.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use super::auth::{self, Gate, Token};
use super::patient::Patient;
use crate::access::User;

/// Connections at once; further ones wait in the system's queue.
const MOST_CONNECTIONS: usize = 1024;
/// Requests at once on one connection; upstream's number.
const MOST_STREAMS: u32 = 250;
/// Largest head of a request, in bytes.
const LARGEST_HEAD: usize = 64 * 1024;
/// TLS must be agreed, and request heads must arrive, within this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// Someone must have authenticated on a connection by then.
const ANONYMOUS: Duration = Duration::from_secs(15);
/// A connection on which nothing was asked for this long is closed once nothing runs on it any more.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// How often an idle client is asked whether it is still there, and how long it has to answer.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(20);
/// A client must take some of what is sent to it within this time.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);
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
        Ok((stream, _)) => {
            prepare(&stream);
            Some((stream, place))
        }
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            None
        }
    }
}

fn prepare(stream: &TcpStream) {
    let keep_alive = TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE / 3);
    // Small answers must not wait for each other's acknowledgement. Both only matter to how soon, not to whether.
    let set = stream.set_nodelay(true).and_then(|()| SockRef::from(stream).set_tcp_keepalive(&keep_alive));
    if let Err(error) = set {
        tracing::debug!(%error, "a connection's options cannot be set");
    }
}

/// What happens on a connection.
struct Pulse {
    opened: Instant,
    /// Milliseconds after the opening at which something was asked last.
    last: AtomicU64,
    authenticated: AtomicBool,
}

impl Pulse {
    fn new() -> Self {
        Self { opened: Instant::now(), last: AtomicU64::new(0), authenticated: AtomicBool::new(false) }
    }

    /// When the connection is to be closed, unless something happens before.
    fn end(&self) -> Instant {
        if !self.authenticated.load(Ordering::Relaxed) {
            return self.opened + ANONYMOUS;
        }
        self.opened + Duration::from_millis(self.last.load(Ordering::Relaxed)) + IDLE
    }
}

/// Notes each request of someone who is known. Runs behind [`auth::identify`], which says who that is.
async fn beat(State(pulse): State<Arc<Pulse>>, request: Request, next: Next) -> Response {
    let known = request.extensions().get::<User>().is_some_and(|user| !user.is_anonymous());
    let response = next.run(request).await;
    if known {
        pulse.authenticated.store(true, Ordering::Relaxed);
        let since = u64::try_from(pulse.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        pulse.last.store(since, Ordering::Relaxed);
    }
    response
}

/// The router as one connection has it: who asks is found out first, then noted.
fn watched(router: Router, gate: Gate, pulse: &Arc<Pulse>) -> Router {
    router
        .layer(axum::middleware::from_fn_with_state(Arc::clone(pulse), beat))
        .layer(axum::middleware::from_fn_with_state(gate, auth::identify))
}

/// Returns when the connection has been idle, or anonymous, for too long.
async fn idle(pulse: &Pulse) {
    loop {
        let end = pulse.end();
        sleep_until(end).await;
        if pulse.end() <= Instant::now() {
            return;
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
    let stream = Patient::new(stream, WRITE_PATIENCE);
    // Failed handshakes are the client's affair: port scans and wrong authorities are no events here.
    let Ok(Ok(stream)) = timeout(PATIENCE, acceptor.accept(stream)).await else { return };
    let session = stream.get_ref().1;
    let certified = session.peer_certificates().and_then(|chain| chain.first()).and_then(auth::user_of);
    let speaks_http2 = session.alpn_protocol() == Some(b"h2");
    let pulse = Arc::new(Pulse::new());
    pulse.authenticated.store(certified.is_some(), Ordering::Relaxed);
    let router = watched(router, Gate { token, certified }, &pulse);

    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(LARGEST_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_ANSWER)
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(LARGEST_HEAD as u32);
    // What was agreed in TLS: to tell by the first bytes, one would have to wait for them.
    let builder = if speaks_http2 { builder.http2_only() } else { builder.http1_only() };
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let asked_to_close = async {
        tokio::select! {
            // An error means the loop is gone, which is as good a reason.
            _ = closing.wait_for(|closing| *closing) => {}
            () = idle(&pulse) => {}
        }
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = asked_to_close => {
            connection.as_mut().graceful_shutdown();
            if pulse.authenticated.load(Ordering::Relaxed) {
                connection.await
            } else {
                timeout(FAREWELL, connection).await.unwrap_or(Ok(()))
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn only_those_who_are_known_keep_a_connection() {
        let known_by = |header: Option<&'static str>, certified: Option<User>| async move {
            let pulse = Arc::new(Pulse::new());
            let gate = Gate { token: Token::new("secret".to_owned()), certified };
            let router = Router::new().route("/livez", axum::routing::get(|| async { "ok" }));
            let mut request = http::Request::get("/livez");
            if let Some(header) = header {
                request = request.header("authorization", header);
            }
            let request = request.body(axum::body::Body::empty()).unwrap();
            let status = watched(router, gate, &pulse).oneshot(request).await.unwrap().status();
            (status.as_u16(), pulse.authenticated.load(Ordering::Relaxed))
        };
        assert_eq!(known_by(None, None).await, (200, false));
        // Nobody's credential of a kind that is not asked for says nothing.
        assert_eq!(known_by(Some("Basic eDp4"), None).await, (200, false));
        assert_eq!(known_by(Some("Bearer other"), None).await, (401, false));
        assert_eq!(known_by(Some("Bearer secret"), None).await, (200, true));
        assert_eq!(known_by(None, Some(User::named("bob", &[]))).await, (200, true));
        assert_eq!(known_by(None, Some(User::anonymous())).await, (200, false));
    }

    #[tokio::test]
    async fn a_connection_s_end_moves_with_what_is_asked_on_it() {
        let pulse = Pulse::new();
        assert_eq!(pulse.end(), pulse.opened + ANONYMOUS);
        pulse.authenticated.store(true, Ordering::Relaxed);
        assert_eq!(pulse.end(), pulse.opened + IDLE);
        pulse.last.store(5000, Ordering::Relaxed);
        assert_eq!(pulse.end(), pulse.opened + Duration::from_secs(5) + IDLE);
    }
}
