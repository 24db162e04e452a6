//! The TFTP sockets: port 69 for requests, then one socket for each transfer, whose port identifies it.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::packet::Packet;
use super::transfer::{Step, Transfer};
use crate::config::TftpLimits;

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
    pub(crate) files: Arc<BTreeMap<&'static str, Bytes>>,
    pub(crate) limits: TftpLimits,
}

impl TftpServer {
    /// Serves until cancelled.
    pub(crate) async fn run(self, cancel: CancellationToken) {
        let mut transfers = JoinSet::new();
        let mut buffer = vec![0; 2048];
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                Some(_) = transfers.join_next() => {}
                received = self.socket.recv_from(&mut buffer) => match received {
                    Ok((len, peer)) => match self.admit(buffer.get(..len).unwrap_or_default()) {
                        Ok((name, transfer)) if transfers.len() < self.limits.transfers => {
                            transfers.spawn(serve(self.address, peer, name, transfer));
                        }
                        Ok((name, _)) => warn!(phase = "tftp", %peer, name, why = "too many transfers at once", "dropped"),
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

async fn serve(address: Ipv4Addr, peer: SocketAddr, name: &'static str, mut transfer: Transfer) {
    let started = Instant::now();
    let ended = converse(address, peer, &mut transfer).await;
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
