//! What is told about a transfer or a refusal: one [`Exchange`] each.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::admission::Refusal;
use super::packet::Packet;
use crate::metrics::Trouble;
use crate::trace::{Answer, Exchange, Observer, Phase, Protocol};

/// RFC 2347: the client ends the transfer during option negotiation, as all PXE firmware does once it has read tsize.
const OPTIONS_REFUSED: u16 = 8;
/// Characters of a client's text that are told.
const LONGEST_TEXT: usize = 100;

/// How a transfer ended.
#[derive(Debug)]
pub(super) enum End {
    /// All of it is acknowledged.
    Done,
    /// The client ended it.
    Ended { code: u16, message: String },
    /// The client does not acknowledge.
    NoAnswer,
    /// It took longer than a transfer may.
    TooLong,
    /// The client's port is closed.
    Gone,
    /// The client began anew from the same port.
    Superseded,
    /// The system did not send.
    NotSent(io::Error),
}

impl End {
    /// The ERROR for the client, where it may still listen and does not know.
    pub(super) fn message(&self) -> Option<Vec<u8>> {
        let why = "the transfer took too long";
        matches!(self, Self::TooLong).then(|| Packet::Error { code: 0, message: why.to_owned() }.encode())
    }
}

/// How far a transfer came.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) bytes: u64,
    pub(super) took: Duration,
    pub(super) resent: u64,
    pub(super) block_size: u16,
    pub(super) window: u16,
}

impl Progress {
    pub(super) const NONE: Self = Self { bytes: 0, took: Duration::ZERO, resent: 0, block_size: 0, window: 0 };

    /// The speed, and the terms that explain it.
    fn summary(&self) -> String {
        let rate = self.bytes as f64 / self.took.as_secs_f64().max(1e-6) / 1e6;
        format!("{rate:.1} MB/s in windows of {} blocks of {} octets", self.window, self.block_size)
    }
}

/// Tells the observer.
pub(super) struct Reporter(pub(super) Observer);

impl Reporter {
    pub(super) fn ended(&self, peer: SocketAddr, interface: Arc<str>, name: &str, progress: &Progress, end: End) {
        let bytes = progress.bytes;
        let after = |why: &str| Some(Cow::Owned(format!("{why} after {bytes} octets")));
        let (answer, why) = match end {
            End::Done => {
                let answer = Answer::Sent { bytes, took: progress.took, resent: progress.resent };
                (answer, Some(progress.summary().into()))
            }
            End::Ended { code: OPTIONS_REFUSED, .. } if bytes == 0 => {
                (Answer::Noted, Some("the client asked for the size only".into()))
            }
            End::Ended { code, message } => {
                let said = format!("the client ended it with error {code} ({})", printable(&message));
                (Answer::Failed, after(&said))
            }
            End::NoAnswer => (Answer::Failed, after("no acknowledgement")),
            End::TooLong => (Answer::Failed, after("the transfer took too long")),
            End::Gone => (Answer::Failed, after("the client closed its port")),
            End::Superseded => (Answer::Noted, after("the client began anew")),
            End::NotSent(error) => {
                self.0.metrics.trouble(Protocol::Tftp, Trouble::NotSent);
                (Answer::Failed, Some(error.to_string().into()))
            }
        };
        self.tell(peer, interface, name, answer, why);
    }

    pub(super) fn refused(&self, peer: SocketAddr, interface: Arc<str>, refusal: &Refusal) {
        match refusal.code {
            None => self.0.metrics.trouble(Protocol::Tftp, Trouble::Malformed),
            Some(code) => {
                let asked = refusal.asked.as_deref().unwrap_or_default();
                self.tell(peer, interface, asked, Answer::Refused { code: Some(code) }, Some(refusal.why.into()));
            }
        }
    }

    pub(super) fn busy(&self, peer: SocketAddr, interface: Arc<str>, name: &str) {
        self.0.metrics.trouble(Protocol::Tftp, Trouble::Busy);
        self.tell(peer, interface, name, Answer::Dropped, Some("too many transfers at once".into()));
    }

    pub(super) fn flood(&self, peer: SocketAddr, interface: Arc<str>, name: &str) {
        self.0.metrics.trouble(Protocol::Tftp, Trouble::Flood);
        self.tell(peer, interface, name, Answer::Dropped, Some("too many transfers of this address at once".into()));
    }

    /// From an address of no subnet of ours: counted only, since its sender decides how often.
    pub(super) fn foreign(&self) {
        self.0.metrics.trouble(Protocol::Tftp, Trouble::Foreign);
    }

    fn tell(&self, peer: SocketAddr, interface: Arc<str>, name: &str, answer: Answer, why: Option<Cow<'static, str>>) {
        self.0.tell(&Exchange {
            at: SystemTime::now(),
            protocol: Protocol::Tftp,
            phase: Phase::Unknown,
            client: None,
            peer: Some(peer.ip()),
            interface,
            asked: format!("read {}", printable(name)).into(),
            answer,
            why,
            boot_id: None,
        });
    }
}

/// Bounded, and nothing that would act on a terminal.
fn printable(text: &str) -> String {
    text.escape_debug().take(LONGEST_TEXT).collect()
}
