//! How a machine that nobody knows says what it is. The report carries no secret, gets no certificate, and by itself
//! makes nobody a host: whoever administers the site decides that.

use serde::{Deserialize, Serialize};

use crate::{HardwareDetails, HardwareIdentity};

/// `POST /v1/discover`, without a client certificate and without a token. At most [`DiscoverRequest::MAX_BYTES`] as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverRequest {
    /// [`crate::PROTOCOL_VERSION`] of the agent.
    pub protocol: u32,
    /// The agent's version, for people.
    pub agent_version: String,
    /// Who it says it is. Nothing proves it.
    pub identity: HardwareIdentity,
    /// What it says it is made of.
    pub hardware: HardwareDetails,
}

impl DiscoverRequest {
    /// Largest body that is read, in bytes: a server with a hundred disks and NICs is well below.
    pub const MAX_BYTES: usize = 256 << 10;
}

/// The answer to a taken [`DiscoverRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResponse {
    /// Report again after so many seconds; none when there is nothing to wait for: the machine switches off.
    pub again_after_seconds: Option<u32>,
}
