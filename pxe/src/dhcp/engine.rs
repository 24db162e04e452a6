//! One exchange from octets to octets, without sockets: what is not looked at, the questions to the directory, the
//! answer, and the event that tells it.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tracing::debug;

use super::beside;
use super::boot_file::Programs;
use super::client::{identify, phase};
use super::decide::{self, Decision, Request, Send, Served};
use super::options::code;
use super::packet::{MessageType, Packet};
use super::place::{Destination, Nowhere, subnet_of};
use super::relay::Agent;
use super::sources::Sources;
use crate::client::ClientIdentity;
use crate::config::{Config, Mode, Subnet};
use crate::deadline::ask;
use crate::directory::{BootTarget, DirectoryError};
use crate::identity::BootId;
use crate::metrics::Trouble;
use crate::trace::{Answer, Exchange, Observer, Protocol};

/// The port that heard a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Port {
    /// 67.
    Dhcp,
    /// 4011, PXE's boot server.
    BootServer,
}

/// The rules of one interface with what they need.
pub(crate) struct Engine {
    interface: Arc<str>,
    server: Ipv4Addr,
    config: Arc<Config>,
    programs: Programs,
    observer: Observer,
    sources: Sources,
    /// Another DHCP server gives the addresses in some subnet.
    is_beside: bool,
}

/// What came of one request.
pub(crate) struct Outcome {
    /// Octets to send, and to whom.
    pub(super) reply: Option<(Vec<u8>, Destination)>,
    exchange: Exchange,
}

impl Outcome {
    /// The octets to send.
    pub(super) fn message(&self) -> Option<&[u8]> {
        self.reply.as_ref().map(|(message, _)| message.as_slice())
    }
}

/// A request that is looked at.
pub(crate) struct Admitted {
    request: Request,
    from: SocketAddrV4,
    port: Port,
}

/// A decision in the words of an [`Exchange`].
struct Told {
    reply: Option<(Vec<u8>, Destination)>,
    answer: Answer,
    why: Option<Cow<'static, str>>,
}

impl Told {
    fn without_reply(answer: Answer, why: Option<Cow<'static, str>>) -> Self {
        Self { reply: None, answer, why }
    }
}

struct Verdict {
    decision: Result<Decision, DirectoryError>,
    boot_id: Option<BootId>,
}

impl Verdict {
    fn silent(why: &'static str) -> Self {
        Self { decision: Ok(Decision::Silent(why)), boot_id: None }
    }
}

impl Engine {
    pub(crate) fn new(
        interface: &str,
        server: Ipv4Addr,
        config: Arc<Config>,
        programs: Programs,
        observer: Observer,
    ) -> Self {
        let is_beside = config.subnets.iter().any(|subnet| subnet.mode == Mode::Proxy);
        Self { interface: interface.into(), server, config, programs, observer, sources: Sources::new(), is_beside }
    }

    pub(super) fn observer(&self) -> &Observer {
        &self.observer
    }

    /// A message that may deserve an answer. What does not is counted, and not told to the directory: anybody can send
    /// any amount of it.
    pub(crate) fn admit(&self, message: &[u8], from: SocketAddrV4, port: Port) -> Option<Admitted> {
        let packet = match Packet::decode(message) {
            Ok(packet) => packet,
            Err(why) => return self.ignore(Some(Trouble::Malformed), from, &why),
        };
        if !packet.whole {
            self.observer.metrics.trouble(Protocol::Dhcp4, Trouble::Malformed);
        }
        let Some(mac) = packet.mac() else { return self.ignore(None, from, &"no Ethernet address") };
        let Some(kind) = packet.message_type() else { return self.ignore(None, from, &"no known message type") };
        if !self.sources.admit(mac.hash(), Instant::now()) {
            return self.ignore(Some(Trouble::Flood), from, &mac);
        }
        let (phase, agent) = (phase(&packet), Agent::of(&packet));
        let request = Request { packet, kind, mac, phase, agent };
        match request.not_for(self.server) {
            // Which address of the other server it takes says where the boot will be.
            Some(why) if why == decide::ANOTHERS && self.is_beside && request.kind == MessageType::Request => {}
            Some(why) => return self.ignore(None, from, &why),
            None => {}
        }
        Some(Admitted { request, from, port })
    }

    fn ignore<T>(&self, trouble: Option<Trouble>, from: SocketAddrV4, why: &dyn std::fmt::Display) -> Option<T> {
        if let Some(trouble) = trouble {
            self.observer.metrics.trouble(Protocol::Dhcp4, trouble);
        }
        debug!(protocol = "dhcp4", %from, %why, "ignored");
        None
    }

    /// Asks the directory and decides. [`Engine::ended`] tells the outcome once it is known whether it was sent.
    pub(crate) async fn answer(&self, admitted: Admitted) -> Outcome {
        let Admitted { request, from, port } = admitted;
        let relay = request.agent.as_ref().map(|agent| agent.relay.clone());
        let client = identify(&request.packet, request.mac, request.phase, relay, self.interface.clone());
        let (protocol, verdict) = self.verdict(&request, from, port, &client).await;
        let Told { reply, answer, why } = self.told(verdict.decision, protocol);
        let mut peer = Some(*from.ip()).filter(|address| !address.is_unspecified()).map(IpAddr::V4);
        if let Some(address) = beside::address(&request, from, port, protocol) {
            peer = request.agent.is_none().then_some(address).or(peer);
            if let Some(boot_id) = verdict.boot_id.filter(|_| beside::fetches(request.phase)) {
                self.observer.bindings.learn(boot_id, address, Instant::now());
            }
        }
        let exchange = Exchange {
            at: SystemTime::now(),
            protocol,
            phase: request.phase,
            client: Some(client),
            peer,
            interface: self.interface.clone(),
            asked: Cow::Borrowed(request.asked()),
            answer,
            why,
            boot_id: verdict.boot_id,
        };
        Outcome { reply, exchange }
    }

    /// Tells what came of it; `sent` is what the system said of the answer.
    pub(crate) fn ended(&self, outcome: Outcome, sent: std::io::Result<()>) {
        let mut exchange = outcome.exchange;
        if let Err(error) = sent {
            self.observer.metrics.trouble(exchange.protocol, Trouble::NotSent);
            exchange.why = Some(format!("the system did not send it: {error}").into());
            exchange.answer = Answer::Failed;
        }
        self.observer.tell(&exchange);
    }

    fn told(&self, decision: Result<Decision, DirectoryError>, protocol: Protocol) -> Told {
        match decision {
            Ok(Decision::Silent(why)) => Told::without_reply(Answer::Silent, Some(why.into())),
            Ok(Decision::Noted(why)) => Told::without_reply(Answer::Noted, why.map(Into::into)),
            Ok(Decision::Dropped(why)) => Told::without_reply(Answer::Dropped, Some(why.into())),
            Ok(Decision::Reply(send)) => {
                let Send { packet, kind, address, boot_file, to, why } = *send;
                let address = address.map(IpAddr::V4);
                let answer = match kind {
                    MessageType::Offer => Answer::Offered { address, boot_file },
                    MessageType::Ack => Answer::Confirmed { address, boot_file },
                    _ => Answer::Refused { code: None },
                };
                Told { reply: Some((packet.encode(), to)), answer, why: why.map(Into::into) }
            }
            Err(why) => {
                let trouble = match why {
                    DirectoryError::Exhausted(_) | DirectoryError::ExhaustedV6(_) | DirectoryError::NoAddress(_) => {
                        Trouble::PoolExhausted
                    }
                    DirectoryError::Contradiction(_) => Trouble::Contradiction,
                    DirectoryError::Unavailable(_) => Trouble::Directory,
                };
                self.observer.metrics.trouble(protocol, trouble);
                Told::without_reply(Answer::Failed, Some(why.to_string().into()))
            }
        }
    }

    async fn verdict(
        &self,
        request: &Request,
        from: SocketAddrV4,
        port: Port,
        client: &ClientIdentity,
    ) -> (Protocol, Verdict) {
        let subnet = subnet_of(&request.packet, request.agent.as_ref(), *from.ip(), &self.interface, &self.config);
        let subnet = match subnet {
            Ok(subnet) => subnet,
            Err(Nowhere::NoSubnet) => {
                return (Protocol::Dhcp4, Verdict::silent("no subnet is configured on this interface"));
            }
            Err(Nowhere::ForeignRelay(giaddr)) => {
                self.observer.metrics.trouble(Protocol::Dhcp4, Trouble::ForeignRelay);
                let why = format!("the relay agent {giaddr} is of no configured subnet");
                return (Protocol::Dhcp4, Verdict { decision: Ok(Decision::Dropped(why)), boot_id: None });
            }
        };
        let is_anothers = request.is_for_another(self.server);
        match (port, subnet.mode) {
            (Port::Dhcp, Mode::Proxy) if is_anothers => {
                (Protocol::Proxy, self.boot_only(request, client, subnet, beside::taken).await)
            }
            _ if is_anothers => (Protocol::Dhcp4, Verdict::silent(decide::ANOTHERS)),
            (_, Mode::Off) => (Protocol::Dhcp4, Verdict::silent("DHCP is off in this subnet")),
            (Port::Dhcp, Mode::Full) => (Protocol::Dhcp4, self.full(request, client, subnet).await),
            (Port::Dhcp, Mode::Proxy) => {
                let served = self.boot_only(request, client, subnet, decide::proxy).await;
                (Protocol::Proxy, served)
            }
            (Port::BootServer, _) => {
                // Its answer goes to whoever sent the request: only to machines of ours.
                if !self.config.subnets.iter().any(|subnet| subnet.prefix.is_host(*from.ip())) {
                    return (Protocol::Proxy, Verdict::silent("not from a configured subnet"));
                }
                let decide = |request: &Request, served: Served<'_>| decide::boot_server(request, from, served);
                (Protocol::Proxy, self.boot_only(request, client, subnet, decide).await)
            }
        }
    }

    async fn full(&self, request: &Request, client: &ClientIdentity, subnet: &Subnet) -> Verdict {
        let asked = match request.kind {
            MessageType::Decline => self.declined(request, client).await,
            MessageType::Release => self.released(request, client).await,
            MessageType::Inform => self.informed(request, client, subnet).await,
            _ => self.leased(request, client, subnet).await,
        };
        asked.unwrap_or_else(|why| Verdict { decision: Err(why), boot_id: None })
    }

    async fn declined(&self, request: &Request, client: &ClientIdentity) -> Result<Verdict, DirectoryError> {
        let Some(address) = request.packet.options.address(code::REQUESTED_ADDRESS) else {
            return Ok(Verdict::silent("it names no address"));
        };
        ask(self.observer.directory.declined(client, address.into())).await?;
        let why = format!("it found {address} in use by another machine");
        Ok(Verdict { decision: Ok(Decision::Noted(Some(why))), boot_id: None })
    }

    async fn released(&self, request: &Request, client: &ClientIdentity) -> Result<Verdict, DirectoryError> {
        if request.packet.ciaddr.is_unspecified() {
            return Ok(Verdict::silent("it names no address"));
        }
        ask(self.observer.directory.released(client, request.packet.ciaddr.into())).await?;
        Ok(Verdict { decision: Ok(Decision::Noted(None)), boot_id: None })
    }

    /// A machine that has an address of its own (RFC 2131, section 4.3.5) is given none, whatever is left in the pool.
    async fn informed(
        &self,
        request: &Request,
        client: &ClientIdentity,
        subnet: &Subnet,
    ) -> Result<Verdict, DirectoryError> {
        let target = ask(self.observer.directory.boot_target(client)).await?;
        let (boot_file, boot_id) = match (client.arch, &target) {
            (_, BootTarget::Nothing) => return Ok(Verdict::silent("unknown machine")),
            (None, BootTarget::Discover { .. }) => return Ok(Verdict::silent("an unknown machine that does not boot")),
            (None, _) => (None, None),
            (Some(_), _) => match self.file(request, client, &target) {
                Ok(boot) => boot,
                Err(why) => return Ok(Verdict::silent(why)),
            },
        };
        let served = Served { server: self.server, subnet, boot_file };
        Ok(Verdict { decision: Ok(decide::full(request, request.packet.ciaddr, served)), boot_id })
    }

    async fn leased(
        &self,
        request: &Request,
        client: &ClientIdentity,
        subnet: &Subnet,
    ) -> Result<Verdict, DirectoryError> {
        let wanted = request.wanted().filter(|address| subnet.prefix.is_host(*address));
        let Some(lease) = ask(self.observer.directory.lease(client, subnet, wanted)).await? else {
            return Ok(Verdict::silent("unknown machine"));
        };
        let (boot_file, boot_id) = match self.boot(request, client).await? {
            Ok(boot) => boot,
            Err(why) => return Ok(Verdict::silent(why)),
        };
        let served = Served { server: self.server, subnet, boot_file };
        Ok(Verdict { decision: Ok(decide::full(request, lease.address, served)), boot_id })
    }

    async fn boot_only(
        &self,
        request: &Request,
        client: &ClientIdentity,
        subnet: &Subnet,
        decide: impl Fn(&Request, Served<'_>) -> Decision,
    ) -> Verdict {
        match self.boot(request, client).await {
            Ok(Ok((boot_file, boot_id))) => {
                let served = Served { server: self.server, subnet, boot_file };
                Verdict { decision: Ok(decide(request, served)), boot_id }
            }
            Ok(Err(why)) => Verdict::silent(why),
            Err(why) => Verdict { decision: Err(why), boot_id: None },
        }
    }

    /// The file for a boot client; the inner error is the reason for silence. Operating systems are not asked about.
    async fn boot(
        &self,
        request: &Request,
        client: &ClientIdentity,
    ) -> Result<Result<(Option<String>, Option<BootId>), &'static str>, DirectoryError> {
        if client.arch.is_none() {
            return Ok(Ok((None, None)));
        }
        let target = ask(self.observer.directory.boot_target(client)).await?;
        Ok(self.file(request, client, &target))
    }

    fn file(
        &self,
        request: &Request,
        client: &ClientIdentity,
        target: &BootTarget,
    ) -> Result<(Option<String>, Option<BootId>), &'static str> {
        let boot_id = match target {
            BootTarget::Ramdisk { boot_id } | BootTarget::Discover { boot_id } => Some(*boot_id),
            _ => None,
        };
        let file = self.programs.boot_file(request.phase, client.arch, target)?;
        Ok((file, boot_id))
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
