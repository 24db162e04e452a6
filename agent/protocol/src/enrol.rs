//! How a freshly booted machine becomes a known agent: what the overlay tells it, and what it says first.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BootId, HostId, NetworkConfig, OLDEST_PROTOCOL};

/// Which of its two lives an agent is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// PID 1 of the ramdisk: inspects, writes, leaves.
    Ramdisk,
    /// A service of the installed host: bootstraps Kubernetes and reports.
    Node,
}

/// The per-boot overlay's only file, [`crate::BOOT_CONFIG_PATH`], as JSON.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BootConfig {
    /// `https://address:port` of each controller, to be tried in turn.
    pub controllers: Vec<String>,
    /// The CA that signed the controllers' certificates, PEM.
    pub ca: String,
    /// Good for one enrolment of this boot. Empty for a machine that nobody knows: it may report its hardware
    /// ([`crate::DiscoverRequest`]) and nothing else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// This boot.
    pub boot_id: BootId,
    /// Seconds since the epoch when the overlay was made; the agent's clock is set to the later of this and the RTC
    /// before any TLS.
    pub time: i64,
    /// Given when the host cannot just ask a DHCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkConfig>,
}

impl fmt::Debug for BootConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootConfig")
            .field("controllers", &self.controllers)
            .field("boot_id", &self.boot_id)
            .field("time", &self.time)
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

/// What a machine is by its own firmware; compared with what the controller expects of that boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HardwareIdentity {
    /// SMBIOS system UUID in the text form that DMI shows.
    pub smbios_uuid: Option<String>,
    /// SMBIOS system serial number.
    pub serial: Option<String>,
    /// Permanent addresses of every NIC, lower case, colons.
    pub macs: Vec<String>,
}

/// `POST /v1/enrol`. The same token with the same key gets the same answer until the stream is first used.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnrolRequest {
    /// The version that the agent wants to speak, [`crate::PROTOCOL_VERSION`] at first.
    pub protocol: u32,
    /// From [`BootConfig`].
    pub token: String,
    /// From [`BootConfig`].
    pub boot_id: BootId,
    /// PKCS#10 request, PEM. The key is made on the host and never leaves it; the subject is ignored.
    pub csr: String,
    /// Who is asking.
    pub identity: HardwareIdentity,
    /// The agent's version, for people.
    pub agent_version: String,
}

impl fmt::Debug for EnrolRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnrolRequest")
            .field("boot_id", &self.boot_id)
            .field("identity", &self.identity)
            .field("agent_version", &self.agent_version)
            .finish_non_exhaustive()
    }
}

/// The answer to an accepted [`EnrolRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnrolResponse {
    /// Client certificate for the key of the CSR, PEM.
    pub certificate: String,
    /// Who the controller knows this machine as.
    pub host_id: HostId,
    /// The version that both speak.
    #[serde(default = "oldest")]
    pub protocol: u32,
}

/// Whoever says no version is of the first.
pub(crate) fn oldest() -> u32 {
    OLDEST_PROTOCOL
}

/// Body of every refusal: what was refused and what would help, fit to be shown to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Lower case, no trailing stop, no secret.
    pub message: String,
    /// Whether asking again later can help.
    pub retry: bool,
    /// The newest version that the refusing side speaks, when the version was the reason: the other may fall back to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaks: Option<u32>,
}

impl Refusal {
    /// A refusal for another reason than the protocol's version.
    pub fn new(message: impl Into<String>, retry: bool) -> Self {
        Self { message: message.into(), retry, speaks: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_prints() {
        let config = BootConfig {
            controllers: vec!["https://192.0.2.1:8443".into()],
            ca: "PEM".into(),
            token: "s3cr3t".into(),
            boot_id: BootId::random(),
            time: 0,
            network: None,
        };
        assert!(!format!("{config:?}").contains("s3cr3t"));
    }
}
