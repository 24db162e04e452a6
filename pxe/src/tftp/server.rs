//! The sockets on port 69 and the life of the engine's thread.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::clients::Clients;
use super::engine::Engine;
use super::files::Files;
use super::limits::TftpLimits;
use super::trace::Reporter;
use crate::trace::Observer;

/// Where an interface does not tell.
const ETHERNET_MTU: u16 = 1500;
/// The header of DATA, and that of UDP.
const HEADERS: u16 = 4 + 8;

/// One address that requests arrive at.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(super) socket: UdpSocket,
    pub(super) interface: Arc<str>,
}

impl Listener {
    /// Binds `at`, an address of `interface`. Answers leave from it.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn bind(interface: &str, at: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(at)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, interface: interface.into() })
    }

    /// What fits one packet of the interface. Read anew for each transfer, since it may change.
    pub(super) fn largest_block(&self) -> u16 {
        let path = format!("/sys/class/net/{}/mtu", self.interface);
        let mtu = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u32>().ok());
        let mtu = mtu.map_or(ETHERNET_MTU, |mtu| u16::try_from(mtu).unwrap_or(u16::MAX));
        let ip = if self.socket.local_addr().is_ok_and(|at| at.is_ipv6()) { 40 } else { 20 };
        mtu.saturating_sub(ip + HEADERS).max(512)
    }
}

/// The TFTP server of all interfaces.
pub(crate) struct TftpServer {
    pub(crate) listeners: Vec<Listener>,
    pub(crate) files: Files,
    pub(crate) clients: Clients,
    pub(crate) limits: TftpLimits,
    pub(crate) observer: Observer,
}

impl TftpServer {
    /// Serves until cancelled or dropped. The thread has ended when this returns.
    pub(crate) async fn run(self, cancel: CancellationToken) {
        if let Err(error) = self.serve(cancel).await {
            error!(protocol = "tftp", %error, "TFTP is no longer served");
        }
    }

    async fn serve(self, cancel: CancellationToken) -> io::Result<()> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let reporter = Reporter(self.observer);
        let engine = Engine::new(self.listeners, self.files, self.clients, self.limits, reporter, &stop)?;
        let _stops = StopsThread(stop.clone());
        let (ended, end) = tokio::sync::oneshot::channel();
        std::thread::Builder::new().name("tftp".to_owned()).spawn(move || drop(ended.send(engine.run())))?;
        let mut end = std::pin::pin!(end);
        tokio::select! {
            () = cancel.cancelled() => signal(&stop),
            // Only an error ends it by itself.
            ended = &mut end => return ended.unwrap_or(Ok(())),
        }
        end.await.unwrap_or(Ok(()))
    }
}

/// Also when the task is aborted.
struct StopsThread(Arc<OwnedFd>);

impl Drop for StopsThread {
    fn drop(&mut self) {
        signal(&self.0);
    }
}

fn signal(stop: &OwnedFd) {
    // Fails only when it is signalled already, 2^64 times.
    let _ = rustix::io::write(stop, &1_u64.to_ne_bytes());
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
