//! Asking over UDP until an answer comes: the only place with a socket and a clock.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

use crate::IpmiError;

/// More than any IPMI packet: longer datagrams are cut and then fail their length check.
pub(crate) const DATAGRAM_MAX: usize = 1024;
/// Ceiling of the growing pause between two transmissions.
const RETRANSMIT_MAX: Duration = Duration::from_secs(4);

/// One question and whatever counts as its answer.
pub(crate) trait Exchange {
    /// What an answer amounts to.
    type Outcome;

    /// The datagram to send, made anew for every transmission.
    fn datagram(&mut self) -> Vec<u8>;

    /// What a received datagram amounts to; `None` to go on waiting.
    fn receive(&mut self, datagram: &[u8]) -> Option<Self::Outcome>;
}

/// Nothing usable came back.
pub(crate) struct NoAnswer {
    /// What the network reported last, if anything.
    pub(crate) last_error: Option<io::Error>,
}

/// A UDP socket that hears one BMC only.
pub(crate) struct Wire {
    socket: UdpSocket,
}

impl Wire {
    /// Resolves `host` and connects to its first address.
    pub(crate) async fn connect(host: &str, port: u16, end: Instant) -> Result<Self, IpmiError> {
        let unresolvable = |source| IpmiError::Unresolvable { host: host.to_owned(), source };
        let resolved = timeout_at(end, tokio::net::lookup_host((host, port)))
            .await
            .map_err(|_| unresolvable(io::ErrorKind::TimedOut.into()))?
            .map_err(unresolvable)?
            .next();
        let peer = resolved.ok_or_else(|| unresolvable(io::ErrorKind::NotFound.into()))?;
        let local: SocketAddr = match peer {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(local).await.map_err(IpmiError::Socket)?;
        socket.connect(peer).await.map_err(IpmiError::Socket)?;
        Ok(Self { socket })
    }

    /// Sends the exchange's datagram, and again after pauses that grow from `retransmit_after`, until an answer comes
    /// or `end` passes. What the network reports ("connection refused") is remembered and not believed: a BMC that
    /// restarts refuses for a while.
    pub(crate) async fn ask<E: Exchange>(
        &self,
        exchange: &mut E,
        retransmit_after: Duration,
        end: Instant,
    ) -> Result<E::Outcome, NoAnswer> {
        let mut last_error = None;
        let mut pause = retransmit_after;
        let mut buffer = vec![0; DATAGRAM_MAX];
        while Instant::now() < end {
            let datagram = exchange.datagram();
            if let Err(error) = self.send(&datagram).await {
                last_error = Some(error);
            }
            let next = end.min(Instant::now() + pause);
            while let Some(received) = before(next, self.socket.recv(&mut buffer)).await {
                match received {
                    Ok(length) => {
                        if let Some(outcome) = exchange.receive(buffer.get(..length).unwrap_or_default()) {
                            return Ok(outcome);
                        }
                    }
                    Err(error) => last_error = Some(error),
                }
            }
            pause = RETRANSMIT_MAX.min(pause.mul_f32(1.5));
        }
        Err(NoAnswer { last_error })
    }

    /// Sends once, without waiting for anything: for last words.
    pub(crate) fn tell(&self, datagram: &[u8]) {
        if let Err(error) = self.socket.try_send(datagram) {
            tracing::debug!(%error, "could not send last words to a bmc");
        }
    }

    /// The next datagram's length.
    pub(crate) async fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.recv(buffer).await
    }

    /// Sends, without waiting for an answer.
    pub(crate) async fn send(&self, datagram: &[u8]) -> io::Result<()> {
        // A first error may be the pending one of an earlier datagram, and then nothing was sent.
        if self.socket.send(datagram).await.is_err() {
            self.socket.send(datagram).await?;
        }
        Ok(())
    }
}

async fn before<T>(end: Instant, future: impl Future<Output = T>) -> Option<T> {
    timeout_at(end, future).await.ok()
}
