//! The DHCP socket: packets in, questions to the directory, packets out.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::client::{Program, identify};
use super::decide::{Decision, Subnet, decide, not_for_us};
use super::packet::{MessageType, Packet};
use crate::deadline::ask;
use crate::directory::{BootEvent, ClientIdentity, DirectoryError, HostDirectory, Lease};
use crate::identity::MacAddr;
use crate::script::Urls;

/// Requests being answered at once; more are dropped, and their clients ask again.
const IN_FLIGHT: usize = 256;
const CLIENT_PORT: u16 = 68;

/// The DHCP server of one interface.
pub(crate) struct DhcpServer {
    pub(crate) socket: UdpSocket,
    pub(crate) interface: String,
    pub(crate) subnet: Subnet,
    pub(crate) urls: Urls,
    pub(crate) directory: Arc<dyn HostDirectory>,
}

impl DhcpServer {
    /// Serves until cancelled.
    pub(crate) async fn run(self, cancel: CancellationToken) {
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
                    Ok(_) => warn!(phase = "dhcp", why = "too many requests at once", "dropped"),
                    Err(error) => debug!(phase = "dhcp", %error, "receive failed"),
                },
            }
        }
    }

    fn read(&self, message: &[u8]) -> Option<(Packet, MacAddr)> {
        let request = match Packet::decode(message) {
            Ok(request) => request,
            Err(why) => {
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
        let program = Program::of(&request);
        let client = identify(&request, mac, &self.interface);
        let arch = client.arch.map(tracing::field::display);
        match asked {
            MessageType::Release => {
                // Addresses stay with their MAC, so there is nothing to give back.
                debug!(phase = "dhcp", %mac, answer = "none", "release");
                return;
            }
            MessageType::Decline => {
                let address = request.options.address(super::options::code::REQUESTED_ADDRESS);
                warn!(phase = "dhcp", %mac, ?address, "the client found its address in use by another machine");
                if let Some(address) = address {
                    self.directory.observed(BootEvent::Declined { client, address }).await;
                }
                return;
            }
            _ => {}
        }
        let (lease, decision) = match self.question(&request, program, &client).await {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                debug!(phase = "dhcp", %mac, arch, program = program.name(), %asked, why = "unknown machine", "silent");
                return;
            }
            Err(why) => {
                warn!(phase = "dhcp", %mac, arch, program = program.name(), %asked, %why, "silent");
                return;
            }
        };
        match decision {
            Decision::Silent(why) => info!(phase = "dhcp", %mac, arch, program = program.name(), %asked, why, "silent"),
            Decision::Reply { packet, kind, boot_file } => {
                let to = destination(&request, kind, lease);
                let file = boot_file.as_deref().unwrap_or("-");
                match self.socket.send_to(&packet.encode(), to).await {
                    Ok(_) => info!(phase = "dhcp", %mac, arch, program = program.name(), %asked, answer = %kind,
                        address = %lease.address, file, "answered"),
                    Err(why) => warn!(phase = "dhcp", %mac, arch, program = program.name(), %asked, answer = %kind,
                        %to, %why, "the answer was not sent"),
                }
                match kind {
                    MessageType::Offer => {
                        self.directory.observed(BootEvent::Offered { client, lease, boot_file }).await
                    }
                    MessageType::Ack => {
                        self.directory.observed(BootEvent::Acknowledged { client, lease, boot_file }).await;
                    }
                    _ => {}
                }
            }
        }
    }

    async fn question(
        &self,
        request: &Packet,
        program: Program,
        client: &ClientIdentity,
    ) -> Result<Option<(Lease, Decision)>, DirectoryError> {
        let Some(lease) = ask(self.directory.lease(client, &self.subnet.pool)).await? else { return Ok(None) };
        let target = match program {
            Program::System => None,
            _ => Some(ask(self.directory.boot_target(client)).await?),
        };
        let decision = decide(request, program, client.arch, lease, target, &self.subnet, &self.urls);
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
