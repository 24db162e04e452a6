//! The DHCPv6 socket of one interface: packets in, questions to the directory, packets out.

use std::net::{IpAddr, Ipv6Addr, SocketAddrV6};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::client::{identify, link, phase};
use super::decide::{self, Facts, Granted, associations};
use super::options::{Association, code};
use super::packet::{Envelope, Kind, Message};
use super::socket::{Arrival, Socket};
use super::{CLIENT_PORT, SERVER_PORT};
use crate::client::ClientIdentity;
use crate::config::SubnetV6;
use crate::deadline::ask;
use crate::dhcp::{Programs, Sources};
use crate::directory::{BootTarget, DirectoryError};
use crate::identity::fnv;
use crate::metrics::Trouble;
use crate::trace::{Answer, Exchange, Observer, Phase, Protocol};

/// Requests being answered at once; more are dropped, and their clients ask again.
const IN_FLIGHT: usize = 256;
/// Eight relay agents' headers around a client's message fit easily.
const LONGEST_MESSAGE: usize = 4096;

/// The DHCPv6 server of one interface.
pub(super) struct Server {
    pub(super) socket: Socket,
    pub(super) interface: Arc<str>,
    /// The subnet of the interface's own link.
    pub(super) on_link: Option<SubnetV6>,
    /// That one, and those behind relay agents.
    pub(super) subnets: Vec<SubnetV6>,
    pub(super) duid: Vec<u8>,
    /// Where TFTP listens.
    pub(super) address: Ipv6Addr,
    pub(super) programs: Programs,
    pub(super) observer: Observer,
    pub(super) sources: Sources,
}

/// What is done about a request.
struct Done {
    reply: Option<Message>,
    answer: Answer,
    why: Option<String>,
}

impl Done {
    fn silent(why: impl Into<String>) -> Self {
        Self { reply: None, answer: Answer::Silent, why: Some(why.into()) }
    }
}

impl Server {
    /// Serves until cancelled.
    pub(super) async fn run(self, cancel: CancellationToken) {
        let server = Arc::new(self);
        let mut exchanges = JoinSet::new();
        let mut buffer = vec![0; LONGEST_MESSAGE];
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                Some(_) = exchanges.join_next() => {}
                received = server.socket.receive(&mut buffer) => match received {
                    Ok((len, arrival)) if exchanges.len() < IN_FLIGHT => {
                        if let Some(envelope) = server.read(buffer.get(..len).unwrap_or_default(), arrival) {
                            let server = server.clone();
                            exchanges.spawn(async move { server.exchange(envelope, arrival).await });
                        }
                    }
                    Ok(_) => server.observer.metrics.trouble(Protocol::Dhcp6, Trouble::Busy),
                    Err(error) => debug!(protocol = "dhcp6", %error, "receive failed"),
                },
            }
        }
    }

    fn read(&self, datagram: &[u8], arrival: Arrival) -> Option<Envelope> {
        let peer = *arrival.peer.ip();
        let envelope = match Envelope::decode(datagram) {
            Ok(envelope) => envelope,
            Err(why) => {
                self.observer.metrics.trouble(Protocol::Dhcp6, Trouble::Malformed);
                debug!(protocol = "dhcp6", %peer, %why, len = datagram.len(), "ignored");
                return None;
            }
        };
        if !self.sources.admit(source(&envelope, peer), Instant::now()) {
            self.observer.metrics.trouble(Protocol::Dhcp6, Trouble::Flood);
            return None;
        }
        if let Some(why) = decide::not_for_us(&envelope.message, &self.duid, is_direct(&envelope, arrival)) {
            debug!(protocol = "dhcp6", %peer, kind = %envelope.message.kind, why, "ignored");
            return None;
        }
        Some(envelope)
    }

    async fn exchange(&self, envelope: Envelope, arrival: Arrival) {
        let peer = arrival.peer;
        let (phase, client, mut done) = self.respond(&envelope, arrival).await;
        if let Some(reply) = &done.reply {
            let to = destination(&envelope, peer);
            if let Err(error) = self.socket.send(&envelope.wrap(reply), to).await {
                self.observer.metrics.trouble(Protocol::Dhcp6, Trouble::NotSent);
                done = Done { reply: None, answer: Answer::Failed, why: Some(format!("to {to}: {error}")) };
            }
        }
        self.observer.tell(&Exchange {
            at: SystemTime::now(),
            protocol: Protocol::Dhcp6,
            phase,
            client,
            peer: Some(IpAddr::V6(*peer.ip())),
            interface: self.interface.clone(),
            asked: envelope.message.kind.name().into(),
            answer: done.answer,
            why: done.why.map(Into::into),
            boot_id: None,
        });
    }

    async fn respond(&self, envelope: &Envelope, arrival: Arrival) -> (Phase, Option<ClientIdentity>, Done) {
        let request = &envelope.message;
        let phase = phase(&request.options);
        let client = identify(envelope, *arrival.peer.ip(), self.interface.clone());
        let done = match (self.subnet(envelope), &client) {
            _ if is_direct(envelope, arrival) => Done {
                reply: Some(decide::use_multicast(request, &self.duid)),
                answer: Answer::Refused { code: Some(decide::status::USE_MULTICAST) },
                why: Some("sent to this server's address, not to the group".into()),
            },
            (None, _) => {
                self.observer.metrics.trouble(Protocol::Dhcp6, Trouble::ForeignRelay);
                Done { reply: None, answer: Answer::Dropped, why: Some("no subnet of this link is served".into()) }
            }
            (_, None) => Done::silent("the client does not say who it is"),
            (Some(subnet), Some(client)) => match self.handle(request, phase, client, subnet).await {
                Ok(done) => done,
                Err(why) => {
                    self.observer.metrics.trouble(Protocol::Dhcp6, Trouble::Directory);
                    Done { reply: None, answer: Answer::Failed, why: Some(why.to_string()) }
                }
            },
        };
        (phase, client, done)
    }

    /// By the link that the relay agents name; without one the client is on our own.
    fn subnet(&self, envelope: &Envelope) -> Option<&SubnetV6> {
        match link(envelope) {
            Some(link) => self.subnets.iter().find(|subnet| subnet.contains(link)),
            None => self.on_link.as_ref(),
        }
    }

    async fn handle(
        &self,
        request: &Message,
        phase: Phase,
        client: &ClientIdentity,
        subnet: &SubnetV6,
    ) -> Result<Done, DirectoryError> {
        // Said to another server's client, "not on this link" costs it a good address.
        if matches!(request.kind, Kind::Confirm | Kind::Release | Kind::Decline) {
            let Some(association) = associations(request).into_iter().next() else {
                return Ok(Done::silent("names no address"));
            };
            if self.grant(request.kind, client, subnet, &association).await?.is_none() {
                return Ok(Done::silent("unknown machine"));
            }
        }
        match request.kind {
            Kind::Confirm => Ok(match decide::confirm(request, subnet, &self.duid) {
                None => Done::silent("names no address"),
                Some((reply, decide::status::SUCCESS)) => {
                    let answer = Answer::Confirmed { address: None, boot_file: None };
                    Done { reply: Some(reply), answer, why: None }
                }
                Some((reply, code)) => {
                    Done { reply: Some(reply), answer: Answer::Refused { code: Some(code) }, why: None }
                }
            }),
            Kind::Release | Kind::Decline => self.give_back(request, client).await,
            Kind::InformationRequest => self.inform(request, phase, client, subnet).await,
            _ => self.lease(request, phase, client, subnet).await,
        }
    }

    async fn give_back(&self, request: &Message, client: &ClientIdentity) -> Result<Done, DirectoryError> {
        let addresses: Vec<Ipv6Addr> =
            associations(request).into_iter().filter_map(|ia| ia.addresses.first().copied()).collect();
        for address in &addresses {
            let directory = &self.observer.directory;
            match request.kind {
                Kind::Decline => ask(directory.declined(client, IpAddr::V6(*address))).await?,
                _ => ask(directory.released(client, IpAddr::V6(*address))).await?,
            }
        }
        let named: Vec<String> = addresses.iter().map(Ipv6Addr::to_string).collect();
        let reply = decide::noted(request, &self.duid);
        Ok(Done { reply: Some(reply), answer: Answer::Noted, why: Some(named.join(" ")) })
    }

    /// Only what goes with an address. A stranger is told nothing, as in IPv4.
    async fn inform(
        &self,
        request: &Message,
        phase: Phase,
        client: &ClientIdentity,
        subnet: &SubnetV6,
    ) -> Result<Done, DirectoryError> {
        let target = ask(self.observer.directory.boot_target(client)).await?;
        match (phase, &target) {
            (_, BootTarget::Nothing) => return Ok(Done::silent("unknown machine, or nothing to boot")),
            (Phase::System | Phase::Unknown, BootTarget::Discover { .. }) => {
                return Ok(Done::silent("an unknown machine that does not boot"));
            }
            _ => {}
        }
        let boot_url = match self.boot_url(phase, client, &target) {
            Ok(boot_url) => boot_url,
            Err(why) => return Ok(Done::silent(why)),
        };
        let facts = Facts { subnet, server_duid: &self.duid, granted: &[], boot_url: boot_url.as_deref() };
        let reply = decide::answer(request, phase, &facts);
        Ok(Done { reply: Some(reply), answer: Answer::Confirmed { address: None, boot_file: boot_url }, why: None })
    }

    async fn lease(
        &self,
        request: &Message,
        phase: Phase,
        client: &ClientIdentity,
        subnet: &SubnetV6,
    ) -> Result<Done, DirectoryError> {
        let mut granted = Vec::new();
        for association in associations(request) {
            // A machine has one address in a subnet.
            if !granted.is_empty() {
                granted.push((association, Granted::Exhausted));
                continue;
            }
            let Some(found) = self.grant(request.kind, client, subnet, &association).await? else {
                return Ok(Done::silent("unknown machine"));
            };
            granted.push((association, found));
        }
        if granted.is_empty() {
            return Ok(Done::silent("asks for no address"));
        }
        let boot_url = match phase {
            Phase::System | Phase::Unknown => None,
            _ => {
                let target = ask(self.observer.directory.boot_target(client)).await?;
                match self.boot_url(phase, client, &target) {
                    Ok(boot_url) => boot_url,
                    Err(why) => return Ok(Done::silent(why)),
                }
            }
        };
        let facts = Facts { subnet, server_duid: &self.duid, granted: &granted, boot_url: boot_url.as_deref() };
        let reply = decide::answer(request, phase, &facts);
        let address = granted.iter().find_map(|(_, granted)| match granted {
            Granted::Address(address) => Some(IpAddr::V6(*address)),
            _ => None,
        });
        let code = match granted.first() {
            Some((_, Granted::Exhausted)) => decide::status::NO_ADDRESSES,
            _ => decide::status::NO_BINDING,
        };
        let answer = match (address, reply.kind) {
            (None, _) => Answer::Refused { code: Some(code) },
            (address, Kind::Advertise) => Answer::Offered { address, boot_file: boot_url },
            (address, _) => Answer::Confirmed { address, boot_file: boot_url },
        };
        let why = address.is_none().then(|| "no address for it".to_owned());
        Ok(Done { reply: Some(reply), answer, why })
    }

    /// `None` for a machine that is not ours.
    async fn grant(
        &self,
        asked: Kind,
        client: &ClientIdentity,
        subnet: &SubnetV6,
        association: &Association,
    ) -> Result<Option<Granted>, DirectoryError> {
        let wanted = association.addresses.first().copied().filter(|address| subnet.contains(*address));
        match ask(self.observer.directory.lease_v6(client, subnet, association.iaid, wanted)).await {
            Ok(Some(lease)) => Ok(Some(Granted::Address(lease.address))),
            // It named us as its server: it is told that its lease is gone, where silence would cost it minutes.
            Ok(None) => Ok((asked == Kind::Renew).then_some(Granted::Unknown)),
            Err(DirectoryError::Exhausted(_) | DirectoryError::ExhaustedV6(_) | DirectoryError::NoAddress(_)) => {
                self.observer.metrics.trouble(Protocol::Dhcp6, Trouble::PoolExhausted);
                Ok(Some(Granted::Exhausted))
            }
            Err(error) => Err(error),
        }
    }

    /// File names are TFTP's: DHCPv6 knows URLs only.
    fn boot_url(
        &self,
        phase: Phase,
        client: &ClientIdentity,
        target: &BootTarget,
    ) -> Result<Option<String>, &'static str> {
        let file = self.programs.boot_file(phase, client.arch, target)?;
        Ok(file.map(|file| if file.contains("://") { file } else { format!("tftp://[{}]/{file}", self.address) }))
    }
}

/// Relay agents may send to a server's address, clients may not.
fn is_direct(envelope: &Envelope, arrival: Arrival) -> bool {
    envelope.relays.is_empty() && !arrival.multicast
}

/// Whose rate a request is counted to: the neighbour that sent it, or the client behind a relay agent, which sends for
/// many.
fn source(envelope: &Envelope, peer: Ipv6Addr) -> u64 {
    let client = envelope.message.options.get(code::CLIENT_ID).filter(|_| !envelope.relays.is_empty());
    client.map_or_else(|| fnv(&peer.octets()), fnv)
}

/// Clients listen on their own port whichever they sent from; a relay agent may name another (RFC 8357).
fn destination(envelope: &Envelope, peer: SocketAddrV6) -> SocketAddrV6 {
    let port = match envelope.relays.first() {
        None => CLIENT_PORT,
        Some(relay) if relay.options.has(code::RELAY_PORT) => peer.port(),
        Some(_) => SERVER_PORT,
    };
    SocketAddrV6::new(*peer.ip(), port, 0, peer.scope_id())
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
