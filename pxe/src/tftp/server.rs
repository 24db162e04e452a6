//! The TFTP sockets: port 69 for requests, then one socket for each transfer, whose port identifies it.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use tokio::net::UdpSocket;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::limits::TftpLimits;
use super::packet::Packet;
use super::transfer::{Step, Transfer};
use crate::config::Config;

/// Error numbers of RFC 1350.
const NOT_FOUND: u16 = 1;
const ACCESS_VIOLATION: u16 = 2;
const ILLEGAL_OPERATION: u16 = 4;
/// RFC 2347: the client ends the transfer during option negotiation, as all PXE firmware does once it has read tsize.
const OPTIONS_REFUSED: u16 = 8;

/// The TFTP server on one address.
pub(crate) struct TftpServer {
    pub(crate) socket: UdpSocket,
    pub(crate) address: Ipv4Addr,
    /// Only machines of its subnets are served.
    pub(crate) config: Arc<Config>,
    pub(crate) files: Arc<BTreeMap<&'static str, Bytes>>,
    pub(crate) limits: TftpLimits,
}

impl TftpServer {
    /// Serves until cancelled.
    pub(crate) async fn run(self, cancel: CancellationToken) {
        let mut transfers = JoinSet::new();
        let mut peers = HashMap::new();
        let mut buffer = vec![0; 2048];
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                Some(ended) = transfers.join_next_with_id() => {
                    peers.remove(&ended.map_or_else(|error| error.id(), |(id, ())| id));
                }
                received = self.socket.recv_from(&mut buffer) => match received {
                    // Not even refused: the answer would go to whomever the sender's address was forged from.
                    Ok((_, peer)) if !is_known(peer.ip(), &self.config) => {
                        debug!(phase = "tftp", %peer, why = "in none of our subnets", "dropped");
                    }
                    Ok((len, peer)) => match self.admit(buffer.get(..len).unwrap_or_default()) {
                        Ok((name, _)) if self.is_too_much(peer.ip(), &peers) => {
                            warn!(phase = "tftp", %peer, name, why = "too many transfers at once", "dropped");
                        }
                        Ok((name, transfer)) => {
                            let whole = Instant::now() + self.limits.whole;
                            let task = transfers.spawn(serve(self.address, peer, name, transfer, whole));
                            peers.insert(task.id(), peer.ip());
                        }
                        Err(Refusal { code, why }) => {
                            debug!(phase = "tftp", %peer, why, "refused");
                            if let Some(code) = code {
                                let error = Packet::Error { code, message: why.to_owned() };
                                // A lost refusal is the client's timeout.
                                let _ = self.socket.send_to(&error.encode(), peer).await;
                            }
                        }
                    },
                    Err(error) => debug!(phase = "tftp", %error, "receive failed"),
                },
            }
        }
    }

    fn is_too_much(&self, peer: IpAddr, peers: &HashMap<Id, IpAddr>) -> bool {
        let of_peer = peers.values().filter(|other| **other == peer).count();
        peers.len() >= self.limits.transfers || of_peer >= self.limits.transfers_each
    }

    fn admit(&self, message: &[u8]) -> Result<(&'static str, Transfer), Refusal> {
        let (file, mode, options) = match Packet::decode(message) {
            Ok(Packet::Read { file, mode, options }) => (file, mode, options),
            Ok(Packet::Write) => return Err(Refusal { code: Some(ACCESS_VIOLATION), why: "this server is read-only" }),
            // An error is never answered with an error, and noise not at all.
            Ok(Packet::Error { .. }) | Err(_) => return Err(Refusal { code: None, why: "not a request" }),
            Ok(_) => return Err(Refusal { code: Some(ILLEGAL_OPERATION), why: "not a request" }),
        };
        if !mode.eq_ignore_ascii_case("octet") {
            return Err(Refusal { code: Some(ILLEGAL_OPERATION), why: "only mode octet is served" });
        }
        let name = file.trim_start_matches(['/', '\\']);
        let (name, content) =
            self.files.get_key_value(name).ok_or(Refusal { code: Some(NOT_FOUND), why: "no such file" })?;
        Ok((name, Transfer::new(content.clone(), &options, self.limits)))
    }
}

struct Refusal {
    code: Option<u16>,
    why: &'static str,
}

fn is_known(peer: IpAddr, config: &Config) -> bool {
    matches!(peer, IpAddr::V4(peer) if config.subnets.iter().any(|subnet| subnet.prefix.contains(peer)))
}

async fn serve(address: Ipv4Addr, peer: SocketAddr, name: &'static str, mut transfer: Transfer, whole: Instant) {
    let started = Instant::now();
    let late = || io::Error::from(io::ErrorKind::TimedOut);
    let ended = timeout_at(whole, converse(address, peer, &mut transfer)).await.unwrap_or_else(|_| Err(late()));
    let bytes = transfer.acknowledged();
    let took = started.elapsed();
    match ended {
        Ok(Step::Done) => info!(phase = "tftp", %peer, name, bytes, ?took, answer = "sent", "served"),
        Ok(Step::Ended { code: OPTIONS_REFUSED, .. }) => {
            debug!(phase = "tftp", %peer, name, answer = "size", "the client asked for the size only");
        }
        Ok(Step::Ended { code, message }) => {
            // Bounded by the receive buffer; control characters do not reach a terminal.
            let why = message.escape_debug();
            warn!(phase = "tftp", %peer, name, bytes, code, %why, "the client ended the transfer");
        }
        Ok(_) => warn!(phase = "tftp", %peer, name, bytes, ?took, why = "no acknowledgement", "gave up"),
        Err(error) => warn!(phase = "tftp", %peer, name, bytes, %error, "failed"),
    }
}

/// Ends with the step that ended the transfer; each message has [`Transfer::timeout`] to be acknowledged.
async fn converse(address: Ipv4Addr, peer: SocketAddr, transfer: &mut Transfer) -> io::Result<Step> {
    let socket = UdpSocket::bind((address, 0)).await?;
    // Connected, so that the kernel turns away messages from other ports.
    socket.connect(peer).await?;
    // Acknowledgements are four octets, error texts are cut.
    let mut buffer = [0; 512];
    let mut step = transfer.send();
    let mut deadline = Instant::now() + transfer.timeout();
    loop {
        match step {
            Step::Send(message) => {
                socket.send(&message).await?;
                deadline = Instant::now() + transfer.timeout();
            }
            Step::Wait => {}
            ended => return Ok(ended),
        }
        step = match timeout_at(deadline, socket.recv(&mut buffer)).await {
            Ok(len) => transfer.receive(buffer.get(..len?).unwrap_or_default()),
            Err(_) => transfer.send(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Reach, Subnet};

    fn config() -> Arc<Config> {
        let subnet = |text: &str| Subnet::new(text.parse().unwrap(), Reach::Relayed);
        Arc::new(Config {
            interfaces: vec![],
            subnets: vec![subnet("127.0.0.0/8"), subnet("10.77.0.0/24")],
            http_port: 0,
            tftp: TftpLimits::default(),
            ipxe: Default::default(),
            ramdisk: Default::default(),
            images_dir: None,
        })
    }

    #[test]
    fn only_our_subnets_are_served() {
        for (peer, expected) in [("10.77.0.10", true), ("127.0.0.9", true), ("10.77.1.10", false), ("::1", false)] {
            assert_eq!(is_known(peer.parse().unwrap(), &config()), expected, "{peer}");
        }
    }

    async fn server(limits: TftpLimits) -> (SocketAddr, CancellationToken) {
        let address = Ipv4Addr::LOCALHOST;
        let socket = UdpSocket::bind((address, 0)).await.unwrap();
        let at = socket.local_addr().unwrap();
        let files = Arc::new(BTreeMap::from([("file", Bytes::from_static(&[7; 2000]))]));
        let cancel = CancellationToken::new();
        tokio::spawn(TftpServer { socket, address, config: config(), files, limits }.run(cancel.clone()));
        (at, cancel)
    }

    async fn ask(server: SocketAddr) -> UdpSocket {
        let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        client.send_to(b"\0\x01file\0octet\0", server).await.unwrap();
        client
    }

    async fn hears(client: &UdpSocket, patience: u64) -> bool {
        let patience = std::time::Duration::from_millis(patience);
        tokio::time::timeout(patience, client.recv_from(&mut [0; 1024])).await.is_ok()
    }

    #[tokio::test]
    async fn one_peer_has_a_few_transfers_each_of_which_ends() {
        let whole = std::time::Duration::from_millis(1500);
        let limits = TftpLimits { transfers_each: 2, attempts: 100, whole, ..TftpLimits::default() };
        let (server, cancel) = server(limits).await;
        let (first, second) = (ask(server).await, ask(server).await);
        assert!(hears(&first, 1000).await && hears(&second, 1000).await);
        assert!(!hears(&ask(server).await, 300).await, "a third one was served");
        tokio::time::sleep(whole).await;
        assert!(hears(&ask(server).await, 1000).await, "the first two never ended");
        cancel.cancel();
    }
}
