//! Getting and keeping an address by DHCPv4 on one interface.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use bessemer_protocol::Route;
use ring::rand::{SecureRandom, SystemRandom};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};

use super::dhcp4::{Ask, CLIENT_PORT, Kind, Reply, SERVER_PORT, decode, encode};
use super::links::Links;
use crate::backoff::Backoff;

/// An address that a server gave us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) address: Ipv4Addr,
    pub(super) prefix: u8,
    pub(super) routes: Vec<Route>,
    pub(super) mtu: Option<u32>,
    pub(super) resolvers: Vec<Ipv4Addr>,
    server: Ipv4Addr,
    seconds: u32,
}

/// The client of one interface.
#[derive(Debug)]
pub(super) struct Client {
    interface: String,
    index: u32,
    socket: UdpSocket,
    mac: [u8; 6],
    transaction: u32,
}

impl Client {
    /// Takes the client port on `interface` alone.
    pub(super) fn new(interface: &str, index: u32, mac: [u8; 6]) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_reuse_address(true)?;
        socket.set_broadcast(true)?;
        socket.bind_device(Some(interface.as_bytes()))?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, CLIENT_PORT)).into())?;
        let mut transaction = [0; 4];
        SystemRandom::new().fill(&mut transaction).map_err(|_| io::Error::other("no randomness"))?;
        Ok(Self {
            interface: interface.to_owned(),
            index,
            socket: UdpSocket::from_std(socket.into())?,
            mac,
            transaction: u32::from_ne_bytes(transaction),
        })
    }

    /// Asks until a server gives an address; the line is on the console each time nobody answers. A cable that is plugged in is asked through
    /// at once.
    pub(super) async fn obtain(&self, links: &Links) -> Lease {
        /// Some drivers never say that they have a link.
        const LINK: Duration = Duration::from_secs(10);
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(16));
        loop {
            if !links.carrier(self.index, LINK).await {
                info!("{}: no link; asking for an address all the same", self.interface);
            }
            let patience = backoff.next();
            let attempt = tokio::select! {
                attempt = self.attempt(patience) => attempt,
                () = links.plugged(self.index) => {
                    backoff.reset();
                    continue;
                }
            };
            match attempt {
                Ok(Some(lease)) => return lease,
                Ok(None) => {
                    info!("{}: no DHCP answer within {:.1} s, asking again", self.interface, patience.as_secs_f32())
                }
                Err(error) => {
                    info!("{}: {error}, asking again in {:.1} s", self.interface, patience.as_secs_f32());
                    tokio::time::sleep(patience).await;
                }
            }
        }
    }

    async fn attempt(&self, patience: Duration) -> io::Result<Option<Lease>> {
        let deadline = Instant::now() + patience;
        self.broadcast(Ask::Discover).await?;
        let Some(offer) = self.answer(deadline, &[Kind::Offer]).await? else { return Ok(None) };
        self.broadcast(Ask::Request { address: offer.address, server: offer.server }).await?;
        let answer = self.answer(deadline + patience, &[Kind::Acknowledge, Kind::Refuse]).await?;
        answer.map(granted).transpose()
    }

    /// Keeps `lease` alive for ever. A server that refuses or is gone costs a line, never the address: a host that is being
    /// written must not lose its network because of a lease file.
    pub(super) async fn keep(self, lease: Lease) {
        /// Between renewals of a server that gives absurdly short leases or does not answer.
        const SHORTEST: Duration = Duration::from_secs(30);
        let server = SocketAddr::V4(SocketAddrV4::new(lease.server, SERVER_PORT));
        let mut pause = Duration::from_secs(u64::from(lease.seconds) / 2).max(SHORTEST);
        loop {
            tokio::time::sleep(pause).await;
            let packet = encode(Ask::Renew { address: lease.address }, self.transaction, self.mac);
            let deadline = Instant::now() + Duration::from_secs(5);
            let answer = match self.socket.send_to(&packet, server).await {
                Ok(_) => self.answer(deadline, &[Kind::Acknowledge, Kind::Refuse]).await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(Some(Reply { kind: Kind::Acknowledge, lease_seconds, .. })) => {
                    pause = Duration::from_secs(u64::from(lease_seconds) / 2).max(SHORTEST);
                }
                Ok(answer) => {
                    let what = if answer.is_some() { "refused" } else { "not answered" };
                    warn!("{}: renewal of {} {what}; keeping it", self.interface, lease.address);
                    pause = SHORTEST;
                }
                Err(error) => {
                    warn!("{}: renewal of {}: {error}; keeping it", self.interface, lease.address);
                    pause = SHORTEST;
                }
            }
        }
    }

    async fn broadcast(&self, ask: Ask) -> io::Result<()> {
        let packet = encode(ask, self.transaction, self.mac);
        self.socket.send_to(&packet, (Ipv4Addr::BROADCAST, SERVER_PORT)).await.map(drop)
    }

    async fn answer(&self, deadline: Instant, kinds: &[Kind]) -> io::Result<Option<Reply>> {
        let mut buffer = vec![0; 2048];
        loop {
            let Ok(received) = timeout_at(deadline, self.socket.recv(&mut buffer)).await else { return Ok(None) };
            let packet = buffer.get(..received?).unwrap_or_default();
            if let Some(reply) = decode(packet, self.transaction, self.mac).filter(|reply| kinds.contains(&reply.kind))
            {
                return Ok(Some(reply));
            }
        }
    }
}

/// A refusal comes at once, so it must pause the asking as an error does: a server that has no address left refuses for ever.
fn granted(reply: Reply) -> io::Result<Lease> {
    match reply.kind {
        Kind::Acknowledge => Ok(Lease::from(reply)),
        _ => Err(io::Error::other(format!("the DHCP server {} refuses what it offered", reply.server))),
    }
}

impl From<Reply> for Lease {
    fn from(reply: Reply) -> Self {
        let Reply { address, prefix, routes, mtu, resolvers, server, lease_seconds, .. } = reply;
        Self { address, prefix, routes, mtu, resolvers, server, seconds: lease_seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_an_error_that_names_the_server() {
        let reply = |kind| Reply {
            kind,
            address: Ipv4Addr::new(10, 0, 0, 5),
            server: Ipv4Addr::new(10, 0, 0, 1),
            prefix: 24,
            routes: Vec::new(),
            mtu: None,
            resolvers: Vec::new(),
            lease_seconds: 600,
        };
        assert_eq!(granted(reply(Kind::Acknowledge)).unwrap().address, Ipv4Addr::new(10, 0, 0, 5));
        assert!(granted(reply(Kind::Refuse)).unwrap_err().to_string().contains("10.0.0.1"));
    }
}
