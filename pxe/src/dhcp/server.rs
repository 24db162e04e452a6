//! Moves packets between the sockets of one interface and its engine.
//!
//! Answers that need no waiting (the directory had them in memory) are given on the spot, one after another, without a
//! task of their own; those that wait do so beside the others, up to a limit.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::engine::{Admitted, Engine, Port};
use super::socket::Sockets;
use crate::metrics::Trouble;
use crate::trace::Protocol;

/// Answers that wait for the directory at once, for each task; more are dropped, and their clients ask again.
const IN_FLIGHT: usize = 256;
/// Messages taken before the answers that wait get their turn.
const BATCH: usize = 64;

/// Serves one port of one interface until cancelled. Several may serve the same.
pub(super) async fn serve(engine: Arc<Engine>, sockets: Arc<Sockets>, port: Port, cancel: CancellationToken) {
    let socket = match port {
        Port::Dhcp => &sockets.dhcp,
        Port::BootServer => &sockets.boot_server,
    };
    let mut waiting = FuturesUnordered::new();
    // Longer messages than an Ethernet frame are no client's of ours; what does not fit is cut, and its last option lost.
    let mut buffer = vec![0; 2048];
    loop {
        tokio::select! {
            () = cancel.cancelled() => return,
            Some(()) = waiting.next() => continue,
            ready = socket.readable() => if let Err(error) = ready {
                debug!(protocol = "dhcp4", %error, "receive failed");
                continue;
            },
        }
        for _ in 0..BATCH {
            let (len, from) = match receive(socket, &mut buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    debug!(protocol = "dhcp4", %error, "receive failed");
                    break;
                }
            };
            let message = buffer.get(..len).unwrap_or_default();
            let Some(admitted) = engine.admit(message, from, port) else { continue };
            let mut exchange = Box::pin(exchange(&engine, &sockets, socket, admitted));
            match futures::poll!(exchange.as_mut()) {
                std::task::Poll::Ready(()) => {}
                std::task::Poll::Pending if waiting.len() < IN_FLIGHT => waiting.push(exchange),
                std::task::Poll::Pending => engine.observer().metrics.trouble(Protocol::Dhcp4, Trouble::Busy),
            }
        }
        // A full batch means that there may be more; others of the same thread have a turn all the same.
        tokio::task::yield_now().await;
    }
}

fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, SocketAddrV4)> {
    match socket.try_recv_from(buffer)? {
        (len, SocketAddr::V4(from)) => Ok((len, from)),
        (_, SocketAddr::V6(_)) => Err(io::ErrorKind::InvalidData.into()),
    }
}

async fn exchange(engine: &Engine, sockets: &Sockets, socket: &UdpSocket, admitted: Admitted) {
    let mut outcome = engine.answer(admitted).await;
    let sent = match outcome.reply.take() {
        Some((message, to)) => sockets.send(socket, &message, to).await,
        None => Ok(()),
    };
    engine.ended(outcome, sent);
}
