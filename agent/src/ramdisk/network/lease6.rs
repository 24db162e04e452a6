//! Getting and keeping an address by DHCPv6 on one interface.

use std::io;
use std::net::{Ipv6Addr, SocketAddrV6};
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::{debug, info, warn};

use super::dhcp6::{self, Answer, Ask, CLIENT_PORT, Kind, SERVER_PORT, SERVERS};
use super::links::Links;
use crate::backoff::Backoff;

/// An address that a server gave us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lease6 {
    pub(super) address: Ipv6Addr,
    pub(super) resolvers: Vec<Ipv6Addr>,
    server: Vec<u8>,
    seconds: u32,
}

/// The client of one interface.
#[derive(Debug)]
pub(super) struct Client6 {
    interface: String,
    index: u32,
    socket: UdpSocket,
    identity: dhcp6::Client,
}

impl Client6 {
    /// Takes the client port on `interface` alone.
    pub(super) fn new(interface: &str, index: u32, mac: [u8; 6]) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_only_v6(true)?;
        socket.set_reuse_address(true)?;
        socket.bind_device(Some(interface.as_bytes()))?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, CLIENT_PORT, 0, 0).into())?;
        let mut transaction = [0; 3];
        SystemRandom::new().fill(&mut transaction).map_err(|_| io::Error::other("no randomness"))?;
        let identity = dhcp6::Client { transaction, mac };
        Ok(Self { interface: interface.to_owned(), index, socket: UdpSocket::from_std(socket.into())?, identity })
    }

    /// Asks until a server gives an address.
    pub(super) async fn obtain(&self, links: &Links) -> Lease6 {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(32));
        let started = Instant::now();
        loop {
            let patience = backoff.next();
            match self.attempt(patience, started).await {
                Ok(Some(lease)) => return lease,
                Ok(None) => debug!("{}: no DHCPv6 answer within {:.1} s", self.interface, patience.as_secs_f32()),
                Err(error) => {
                    // At first there is no link-local address to ask from.
                    debug!("{}: DHCPv6: {error}", self.interface);
                    tokio::select! {
                        () = sleep(patience) => {}
                        () = links.plugged(self.index) => backoff.reset(),
                    }
                }
            }
        }
    }

    async fn attempt(&self, patience: Duration, started: Instant) -> io::Result<Option<Lease6>> {
        let deadline = Instant::now() + patience;
        self.send(&Ask::Solicit, started).await?;
        let Some(offer) = self.answer(deadline, Kind::Advertise).await? else { return Ok(None) };
        let Some(address) = offer.address else { return Err(refusal(&offer)) };
        self.send(&Ask::Request { server: offer.server, address }, started).await?;
        let Some(reply) = self.answer(deadline + patience, Kind::Reply).await? else { return Ok(None) };
        match reply.address {
            Some(address) => {
                Ok(Some(Lease6 { address, resolvers: reply.resolvers, server: reply.server, seconds: reply.valid }))
            }
            None => Err(refusal(&reply)),
        }
    }

    /// Keeps `lease` alive for ever. A server that refuses or is gone costs a line, never the address.
    pub(super) async fn keep(self, lease: Lease6) {
        const SHORTEST: Duration = Duration::from_secs(30);
        let mut pause = Duration::from_secs(u64::from(lease.seconds) / 2).max(SHORTEST);
        loop {
            sleep(pause).await;
            let ask = Ask::Renew { server: lease.server.clone(), address: lease.address };
            let deadline = Instant::now() + Duration::from_secs(5);
            let answer = match self.send(&ask, Instant::now()).await {
                Ok(()) => self.answer(deadline, Kind::Reply).await,
                Err(error) => Err(error),
            };
            pause = match answer {
                Ok(Some(Answer { address: Some(_), valid, .. })) => {
                    Duration::from_secs(u64::from(valid) / 2).max(SHORTEST)
                }
                Ok(_) => {
                    info!("{}: renewal of {} not granted; keeping it", self.interface, lease.address);
                    SHORTEST
                }
                Err(error) => {
                    warn!("{}: renewal of {}: {error}; keeping it", self.interface, lease.address);
                    SHORTEST
                }
            };
        }
    }

    async fn send(&self, ask: &Ask, started: Instant) -> io::Result<()> {
        let elapsed = u16::try_from(started.elapsed().as_millis() / 10).unwrap_or(u16::MAX);
        let packet = dhcp6::encode(ask, self.identity, elapsed);
        let to = SocketAddrV6::new(SERVERS, SERVER_PORT, 0, self.index);
        self.socket.send_to(&packet, to).await.map(drop)
    }

    async fn answer(&self, deadline: Instant, kind: Kind) -> io::Result<Option<Answer>> {
        let mut buffer = vec![0; 4096];
        loop {
            let Ok(received) = timeout_at(deadline, self.socket.recv(&mut buffer)).await else { return Ok(None) };
            let packet = buffer.get(..received?).unwrap_or_default();
            if let Some(answer) = dhcp6::decode(packet, self.identity).filter(|answer| answer.kind == kind) {
                return Ok(Some(answer));
            }
        }
    }
}

fn refusal(answer: &Answer) -> io::Error {
    match &answer.status {
        Some((code, words)) => io::Error::other(format!("the DHCPv6 server has no address: {words} (status {code})")),
        None => io::Error::other("the DHCPv6 server has no address"),
    }
}
