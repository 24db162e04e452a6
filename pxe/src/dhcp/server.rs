//! The DHCP socket: packets in, questions to the directory, packets out.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::SystemTime;

use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::client::{identify, phase};
use super::decide::{Decision, Subnet, decide, not_for_us};
use super::options::code;
use super::packet::{MessageType, Packet};
use crate::client::ClientIdentity;
use crate::deadline::ask;
use crate::directory::{DirectoryError, Lease};
use crate::identity::MacAddr;
use crate::metrics::Trouble;
use crate::script::Urls;
use crate::trace::{Answer, Exchange, Observer, Phase, Protocol};

/// Requests being answered at once; more are dropped, and their clients ask again.
const IN_FLIGHT: usize = 256;
const CLIENT_PORT: u16 = 68;

/// The DHCP server of one interface.
pub(super) struct DhcpServer {
    pub(super) socket: UdpSocket,
    pub(super) interface: Arc<str>,
    pub(super) subnet: Subnet,
    pub(super) urls: Urls,
    pub(super) observer: Observer,
}

impl DhcpServer {
    /// Serves until cancelled.
    pub(super) async fn run(self, cancel: CancellationToken) {
        let server = Arc::new(self);
        let mut exchanges = JoinSet::new();
        // Longer messages than an Ethernet frame are no client's of ours; what does not fit is cut and fails to decode.
        let mut buffer = vec![0; 2048];
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                Some(_) = exchanges.join_next() => {}
                received = server.socket.recv_from(&mut buffer) => match received {
                    Ok((len, _)) if exchanges.len() < IN_FLIGHT => {
                        let message = buffer.get(..len).unwrap_or_default();
                        if let Some((request, mac)) = server.read(message) {
                            let server = server.clone();
                            exchanges.spawn(async move { server.exchange(request, mac).await });
                        }
                    }
                    Ok(_) => server.observer.metrics.trouble(Protocol::Dhcp4, Trouble::Busy),
                    Err(error) => debug!(phase = "dhcp", %error, "receive failed"),
                },
            }
        }
    }

    fn read(&self, message: &[u8]) -> Option<(Packet, MacAddr)> {
        let request = match Packet::decode(message) {
            Ok(request) => request,
            Err(why) => {
                self.observer.metrics.trouble(Protocol::Dhcp4, Trouble::Malformed);
                debug!(phase = "dhcp", %why, len = message.len(), "ignored");
                return None;
            }
        };
        let Some(mac) = request.mac() else {
            debug!(phase = "dhcp", htype = request.htype, why = "no Ethernet address", "ignored");
            return None;
        };
        if let Some(why) = not_for_us(&request, self.subnet.server) {
            debug!(phase = "dhcp", %mac, why, "ignored");
            return None;
        }
        Some((request, mac))
    }

    async fn exchange(&self, request: Packet, mac: MacAddr) {
        let Some(asked) = request.message_type() else { return };
        let phase = phase(&request);
        let client = identify(&request, mac, self.interface.clone());
        let (answer, why) = self.answer(&request, asked, phase, &client).await;
        self.observer.tell(&Exchange {
            at: SystemTime::now(),
            protocol: Protocol::Dhcp4,
            phase,
            client: Some(client),
            peer: None,
            interface: self.interface.clone(),
            asked: asked.name().into(),
            answer,
            why: why.map(Into::into),
            boot_id: None,
        });
    }

    async fn answer(
        &self,
        request: &Packet,
        asked: MessageType,
        phase: Phase,
        client: &ClientIdentity,
    ) -> (Answer, Option<String>) {
        match asked {
            MessageType::Release => return (Answer::Noted, None),
            MessageType::Decline => {
                if let Some(address) = request.options.address(code::REQUESTED_ADDRESS) {
                    let told = ask(self.observer.directory.declined(client, address.into())).await;
                    return (
                        Answer::Noted,
                        Some(told.err().map_or_else(|| address.to_string(), |why| why.to_string())),
                    );
                }
                return (Answer::Noted, None);
            }
            _ => {}
        }
        let (lease, decision) = match self.question(request, phase, client).await {
            Ok(Some(answer)) => answer,
            Ok(None) => return (Answer::Silent, Some("unknown machine".into())),
            Err(why) => {
                self.observer.metrics.trouble(Protocol::Dhcp4, Trouble::Directory);
                return (Answer::Failed, Some(why.to_string()));
            }
        };
        match decision {
            Decision::Silent(why) => (Answer::Silent, Some(why.into())),
            Decision::Reply { packet, kind, boot_file } => {
                let to = destination(request, kind, lease);
                if let Err(why) = self.socket.send_to(&packet.encode(), to).await {
                    self.observer.metrics.trouble(Protocol::Dhcp4, Trouble::NotSent);
                    return (Answer::Failed, Some(format!("{kind} to {to}: {why}")));
                }
                let address = Some(IpAddr::V4(lease.address));
                let answer = match kind {
                    MessageType::Offer => Answer::Offered { address, boot_file },
                    MessageType::Ack => Answer::Confirmed { address, boot_file },
                    _ => Answer::Refused { code: None },
                };
                (answer, None)
            }
        }
    }

    async fn question(
        &self,
        request: &Packet,
        phase: Phase,
        client: &ClientIdentity,
    ) -> Result<Option<(Lease, Decision)>, DirectoryError> {
        let wanted = request.options.address(code::REQUESTED_ADDRESS);
        let directory = &self.observer.directory;
        let Some(lease) = ask(directory.lease(client, &self.subnet.config, wanted)).await? else { return Ok(None) };
        let target = match phase {
            Phase::System => None,
            _ => Some(ask(directory.boot_target(client)).await?),
        };
        let decision = decide(request, phase, client.arch, lease, target, &self.subnet, &self.urls);
        Ok(Some((lease, decision)))
    }
}

/// RFC 2131, section 4.1: to a client that has its address already, by unicast; else by broadcast, since a client
/// without an address answers no ARP. An address that we did not lease is never sent to.
fn destination(request: &Packet, kind: MessageType, lease: Lease) -> SocketAddr {
    let address = match kind {
        MessageType::Ack if request.ciaddr == lease.address => request.ciaddr,
        _ => Ipv4Addr::BROADCAST,
    };
    SocketAddr::from((address, CLIENT_PORT))
}
