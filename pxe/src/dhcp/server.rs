//! Moves packets between the sockets of one interface and its engine.
//!
//! Answers that need no waiting (the directory had them in memory) are given on the spot, all of a batch together, without
//! a task of their own; those that wait do so beside the others, up to a limit. One task for each port: two would both
//! wake for each message, and one of them for nothing.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::task::Poll;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::engine::{Engine, Port};
use super::outbox::send_all;
use super::socket::Sockets;
use crate::metrics::Trouble;
use crate::trace::Protocol;

/// Answers that wait for the directory at once, for each port; more are dropped, and their clients ask again.
const IN_FLIGHT: usize = 1024;
/// Messages taken before the answers that wait get their turn, and answers that leave together.
const BATCH: usize = 64;

/// Serves one port of one interface until cancelled.
pub(super) async fn serve(engine: Arc<Engine>, sockets: Arc<Sockets>, port: Port, cancel: CancellationToken) {
    let socket = match port {
        Port::Dhcp => &sockets.dhcp,
        Port::BootServer => &sockets.boot_server,
    };
    let mut waiting = FuturesUnordered::new();
    let mut ready = Vec::with_capacity(BATCH);
    // Longer messages than an Ethernet frame are no client's of ours; what does not fit is cut, and its last option lost.
    let mut buffer = vec![0; 2048];
    loop {
        tokio::select! {
            () = cancel.cancelled() => return,
            Some(outcome) = waiting.next() => {
                ready.push(outcome);
                while ready.len() < BATCH && let Some(Some(outcome)) = waiting.next().now_or_never() {
                    ready.push(outcome);
                }
            }
            heard = socket.readable() => if let Err(error) = heard {
                debug!(protocol = "dhcp4", %error, "receive failed");
                continue;
            },
        }
        for _ in ready.len()..BATCH {
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
            let mut answer = Box::pin(engine.answer(admitted));
            match futures::poll!(answer.as_mut()) {
                Poll::Ready(outcome) => ready.push(outcome),
                Poll::Pending if waiting.len() < IN_FLIGHT => waiting.push(answer),
                Poll::Pending => engine.observer().metrics.trouble(Protocol::Dhcp4, Trouble::Busy),
            }
        }
        send_all(&sockets, socket, &engine, &mut ready).await;
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
