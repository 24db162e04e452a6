//! Connections: accepted up to a limit, and ended with the server.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::connection::{Peer, serve};
use super::limits::{Counted, HttpLimits, Tally};
use super::site::Site;
use crate::metrics::Trouble;
use crate::trace::Protocol;

/// A pause after a failed accept (out of file descriptors, mostly), which would otherwise repeat at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What all listeners of one server share.
#[derive(Clone)]
pub(super) struct Shared {
    site: Arc<Site>,
    limits: HttpLimits,
    slots: Arc<Semaphore>,
    tally: Tally,
}

impl Shared {
    pub(super) fn new(site: Site, limits: HttpLimits) -> Self {
        let slots = Arc::new(Semaphore::new(limits.connections_possible()));
        Self { site: Arc::new(site), limits, slots, tally: Tally::default() }
    }
}

/// How a connection is spoken to.
#[derive(Clone)]
pub(super) enum Speech {
    Plain,
    #[cfg(feature = "firmware-tls")]
    Tls(super::tls::Acceptor),
}

/// One socket that listens.
pub(super) struct Listener {
    pub(super) socket: TcpListener,
    pub(super) interface: Arc<str>,
    pub(super) speech: Speech,
}

impl Listener {
    /// Serves until cancelled; connections still open then are dropped.
    pub(super) async fn run(self, shared: Shared, cancel: CancellationToken) {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = cancel.cancelled() => return,
                Some(_) = connections.join_next() => continue,
                accepted = self.accept(&shared) => accepted,
            };
            match accepted {
                Ok(Some((stream, peer, held))) => {
                    let (shared, speech) = (shared.clone(), self.speech.clone());
                    connections.spawn(async move {
                        converse(stream, &peer, &shared, speech).await;
                        drop(held);
                    });
                }
                Ok(None) => shared.site.observer.metrics.trouble(Protocol::Http, Trouble::Flood),
                Err(error) => {
                    debug!(%error, "accept failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// `None` for a client that has enough connections.
    async fn accept(&self, shared: &Shared) -> io::Result<Option<(TcpStream, Peer, (Counted, OwnedSemaphorePermit))>> {
        let slot = shared.slots.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, address) = self.socket.accept().await?;
        let address = address.ip().to_canonical();
        let Some(counted) = shared.tally.enter(address, shared.limits.connections_each) else { return Ok(None) };
        let secure = !matches!(self.speech, Speech::Plain);
        let peer = Peer { address, local: stream.local_addr()?, interface: self.interface.clone(), secure };
        // Scripts and heads are small writes; a client that waits for one should not wait for Nagle too.
        stream.set_nodelay(true)?;
        if let Some(most) = shared.limits.in_flight {
            // The kernel takes twice what it is told, for its own bookkeeping.
            socket2::SockRef::from(&stream).set_send_buffer_size(most)?;
        }
        Ok(Some((stream, peer, (counted, slot))))
    }
}

async fn converse(stream: TcpStream, peer: &Peer, shared: &Shared, speech: Speech) {
    match speech {
        Speech::Plain => serve(stream, peer, &shared.site, &shared.limits).await,
        #[cfg(feature = "firmware-tls")]
        Speech::Tls(acceptor) => match acceptor.accept(stream, shared.limits.head).await {
            Ok(stream) => serve(stream, peer, &shared.site, &shared.limits).await,
            Err(why) => shared.site.tell(peer, super::site::Story::no_tls(why)),
        },
    }
}
