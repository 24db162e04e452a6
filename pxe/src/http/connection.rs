//! One connection: requests one after another, each with its deadlines.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use tokio::time::timeout;

use super::limits::HttpLimits;
use super::reply::{Reply, refused, to};
use super::request::{Malformed, Request, parse};
use super::site::{Site, Story};
use super::wire::{Wire, in_time};

/// What a client may still send after an answer that ends the connection, so that the answer reaches it: closing with
/// octets unread would reset the connection.
const MOST_UNREAD: usize = 64 * 1024;

/// The far end of a connection, and ours.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// An IPv4 client's address is always in its IPv4 form.
    pub(crate) address: IpAddr,
    /// The address that the client reached us at.
    pub(crate) local: SocketAddr,
    /// The interface that listens, for stories.
    pub(crate) interface: Arc<str>,
    /// Whether the connection is TLS.
    pub(crate) secure: bool,
}

/// Serves until the client or a deadline ends it.
pub(super) async fn serve(mut wire: impl Wire, peer: &Peer, site: &Site, limits: &HttpLimits) {
    let mut received = Vec::with_capacity(1024);
    loop {
        let next = timeout(limits.head, next(&mut wire, &mut received)).await;
        let request = match next {
            Ok(Ok(Some(Ok(request)))) => request,
            Ok(Ok(Some(Err(Malformed(status))))) => {
                site.tell(peer, Story::dropped("not an HTTP request"));
                return end(wire, refused(None, status), limits).await;
            }
            // Between two requests, or in the middle of one: the client is gone.
            Ok(Ok(None) | Err(_)) => return,
            Err(_) if received.is_empty() => return,
            Err(_) => {
                site.tell(peer, Story::dropped("the request's head took too long"));
                return end(wire, refused(None, 408), limits).await;
            }
        };
        let (outcome, story) = site.answer(&request, peer).await;
        let reply = to(&request, outcome);
        let (keep_alive, status, head, body) = (reply.keep_alive, reply.status, reply.head, reply.body);
        let unread = request.has_body;
        let started = Instant::now();
        let mut sent = 0;
        let written = in_time(limits.whole(body), wire.write(reply.pieces, limits.stall, &mut sent)).await;
        let failed = written.is_err();
        site.tell(peer, story.ended(&request, status, sent.saturating_sub(head), written, started.elapsed()));
        if failed {
            return;
        }
        if !keep_alive {
            return linger(wire, unread || !received.is_empty(), limits).await;
        }
    }
}

/// The next request; `None` at the end of the connection.
async fn next(wire: &mut impl Wire, received: &mut Vec<u8>) -> std::io::Result<Option<Result<Request, Malformed>>> {
    loop {
        match parse(received) {
            Ok(Some((request, length))) => {
                received.drain(..length);
                return Ok(Some(Ok(request)));
            }
            Ok(None) => {}
            Err(malformed) => return Ok(Some(Err(malformed))),
        }
        if wire.read(received).await? == 0 {
            return Ok(None);
        }
    }
}

async fn end(mut wire: impl Wire, reply: Reply, limits: &HttpLimits) {
    if in_time(limits.stall, wire.write(reply.pieces, limits.stall, &mut 0)).await.is_ok() {
        linger(wire, true, limits).await;
    }
}

async fn linger(mut wire: impl Wire, unread: bool, limits: &HttpLimits) {
    wire.finish().await;
    if !unread {
        return;
    }
    let mut buffer = Vec::with_capacity(4096);
    let drain = async {
        let mut all = 0;
        while all < MOST_UNREAD {
            buffer.clear();
            match wire.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(more) => all += more,
            }
        }
    };
    // Past its time the connection is reset, which is what the client asked for.
    let _ = timeout(limits.stall, drain).await;
}
