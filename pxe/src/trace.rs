//! One exchange with a booting machine as one event: what was asked, what was answered, and why. It goes to the log, to
//! the counters and to the embedding program, which tells a machine's story from it.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tracing::{debug, info, warn};

use crate::binding::Bindings;
use crate::client::ClientIdentity;
use crate::config::Config;
use crate::directory::HostDirectory;
use crate::identity::{BootId, ClientArch, MacAddr};
use crate::metrics::Metrics;

/// How the machine spoke to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// DHCPv4, as the server of addresses.
    Dhcp4,
    /// DHCPv4 beside another server: boot files only (ports 67 and 4011).
    Proxy,
    /// DHCPv6.
    Dhcp6,
    /// TFTP.
    Tftp,
    /// HTTP or HTTPS.
    Http,
}

impl Protocol {
    pub(crate) const ALL: [Self; 5] = [Self::Dhcp4, Self::Proxy, Self::Dhcp6, Self::Tftp, Self::Http];

    /// The word for logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dhcp4 => "dhcp4",
            Self::Proxy => "proxy",
            Self::Dhcp6 => "dhcp6",
            Self::Tftp => "tftp",
            Self::Http => "http",
        }
    }
}

/// How far the machine's boot is, by the program that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Firmware that boots over TFTP (RFC 4578, vendor class `PXEClient`).
    PxeFirmware,
    /// UEFI firmware that boots over HTTP (vendor class `HTTPClient`).
    HttpFirmware,
    /// iPXE, in ROM or loaded by us.
    Ipxe,
    /// Anything else that speaks DHCP, usually an operating system.
    System,
    /// The request does not tell (TFTP, most of HTTP).
    Unknown,
}

impl Phase {
    pub(crate) const ALL: [Self; 5] = [Self::PxeFirmware, Self::HttpFirmware, Self::Ipxe, Self::System, Self::Unknown];

    /// The word for logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::PxeFirmware => "pxe-firmware",
            Self::HttpFirmware => "http-firmware",
            Self::Ipxe => "ipxe",
            Self::System => "system",
            Self::Unknown => "unknown",
        }
    }
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// An address or a boot file was offered (DHCPOFFER, ADVERTISE).
    Offered {
        /// The address; none beside another DHCP server.
        address: Option<IpAddr>,
        /// Boot file name or URL, for boot clients.
        boot_file: Option<String>,
    },
    /// It was confirmed (DHCPACK, REPLY); the same fields.
    Confirmed {
        /// The address; none beside another DHCP server, or where the client has its own.
        address: Option<IpAddr>,
        /// Boot file name or URL, for boot clients.
        boot_file: Option<String>,
    },
    /// The protocol's refusal was sent.
    Refused {
        /// TFTP's error code, HTTP's or DHCPv6's status; none for a DHCPNAK.
        code: Option<u16>,
    },
    /// A file was sent to its end.
    Sent {
        /// Octets of it: all, or the range asked for.
        bytes: u64,
        /// How long it took.
        took: Duration,
        /// TFTP: datagrams sent more than once.
        resent: u64,
    },
    /// Something was said that needs no answer (decline, release, a size probe).
    Noted,
    /// No answer on purpose.
    Silent,
    /// Not looked at: malformed, too many, from nowhere.
    Dropped,
    /// An answer was due and could not be given, or the client went away in the middle of it.
    Failed,
}

impl Answer {
    pub(crate) const NAMES: [&'static str; 8] =
        ["offered", "confirmed", "refused", "sent", "noted", "silent", "dropped", "failed"];

    pub(crate) fn index(&self) -> usize {
        match self {
            Self::Offered { .. } => 0,
            Self::Confirmed { .. } => 1,
            Self::Refused { .. } => 2,
            Self::Sent { .. } => 3,
            Self::Noted => 4,
            Self::Silent => 5,
            Self::Dropped => 6,
            Self::Failed => 7,
        }
    }

    /// The word for logs and metrics.
    pub fn name(&self) -> &'static str {
        Self::NAMES.get(self.index()).copied().unwrap_or_default()
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Offered { address, boot_file } | Self::Confirmed { address, boot_file } => {
                if let Some(address) = address {
                    write!(f, " {address}")?;
                }
                if let Some(file) = boot_file {
                    write!(f, " {file}")?;
                }
                Ok(())
            }
            Self::Refused { code: Some(code) } => write!(f, " ({code})"),
            Self::Sent { bytes, .. } => write!(f, " {bytes} bytes"),
            _ => Ok(()),
        }
    }
}

/// One question and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// When it ended.
    pub at: SystemTime,
    /// How the machine spoke to us.
    pub protocol: Protocol,
    /// Which of its programs spoke.
    pub phase: Phase,
    /// What it said of itself; DHCP only.
    pub client: Option<ClientIdentity>,
    /// Where the question came from: the machine's address, or its relay's; none for a broadcast without an address, unless
    /// it says there which address of another DHCP server it takes.
    pub peer: Option<IpAddr>,
    /// The interface of ours that heard it.
    pub interface: Arc<str>,
    /// What it asked: `discover`, `read ipxe.efi`, `GET /b/…/kernel`. Bounded in length, without control characters.
    pub asked: Cow<'static, str>,
    /// What came of it.
    pub answer: Answer,
    /// Why, where the answer does not say it all.
    pub why: Option<Cow<'static, str>>,
    /// The boot that it belongs to, where that is known.
    pub boot_id: Option<BootId>,
}

impl Exchange {
    /// The machine's (first) hardware address.
    pub fn mac(&self) -> Option<MacAddr> {
        self.client.as_ref().and_then(ClientIdentity::mac)
    }

    /// The machine's architecture.
    pub fn arch(&self) -> Option<ClientArch> {
        self.client.as_ref().and_then(|client| client.arch)
    }
}

/// To whom exchanges are told. Every part of the server has one; clones share everything.
#[derive(Clone)]
pub(crate) struct Observer {
    pub(crate) directory: Arc<dyn HostDirectory>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) bindings: Arc<Bindings>,
}

impl Observer {
    pub(crate) fn new(directory: Arc<dyn HostDirectory>, config: &Config) -> Self {
        Self { directory, metrics: Arc::default(), bindings: Arc::new(Bindings::new(config)) }
    }

    /// Counts, logs and passes on.
    pub(crate) fn tell(&self, exchange: &Exchange) {
        self.metrics.count(exchange.protocol, exchange.phase, &exchange.answer);
        // Values only if the level is on: this is on the path of every answer.
        macro_rules! log {
            ($level:ident) => {
                $level!(
                    protocol = exchange.protocol.name(),
                    phase = exchange.phase.name(),
                    interface = %exchange.interface,
                    mac = exchange.mac().map(tracing::field::display),
                    arch = exchange.arch().map(tracing::field::display),
                    peer = exchange.peer.map(tracing::field::display),
                    boot_id = exchange.boot_id.map(tracing::field::display),
                    asked = %exchange.asked,
                    answer = %exchange.answer,
                    why = exchange.why.as_deref(),
                    "exchange"
                )
            };
        }
        match exchange.answer {
            Answer::Failed => log!(warn),
            Answer::Dropped | Answer::Silent => log!(debug),
            _ => log!(info),
        }
        self.directory.observed(exchange);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_name_at_their_index() {
        let lease = |address| (address, Some("ipxe.efi".to_owned()));
        let (address, boot_file) = lease(Some(IpAddr::from([10, 0, 0, 9])));
        for (answer, said) in [
            (Answer::Offered { address, boot_file: boot_file.clone() }, "offered 10.0.0.9 ipxe.efi"),
            (Answer::Confirmed { address: None, boot_file }, "confirmed ipxe.efi"),
            (Answer::Refused { code: Some(8) }, "refused (8)"),
            (Answer::Sent { bytes: 7, took: Duration::ZERO, resent: 0 }, "sent 7 bytes"),
            (Answer::Noted, "noted"),
            (Answer::Silent, "silent"),
            (Answer::Dropped, "dropped"),
            (Answer::Failed, "failed"),
        ] {
            assert_eq!(answer.to_string(), said);
            assert!(said.starts_with(answer.name()));
        }
    }
}
