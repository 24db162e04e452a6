//! Putting new firmware on a BMC or a part of its server.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Credentials, media};

/// When new firmware is to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FirmwareApply {
    /// As the BMC sees fit.
    #[default]
    Default,
    /// At once, which may reset the server.
    Immediate,
    /// At the server's next reset.
    OnReset,
}

/// What to update from, and what.
#[derive(Clone)]
pub struct FirmwareImage {
    /// Where the BMC fetches it.
    pub url: String,
    /// Paths of the firmware inventory to update; empty: what the image itself is for.
    pub targets: Vec<String>,
    /// When it is to be used.
    pub apply: FirmwareApply,
    /// User and password that the web server asks of the BMC.
    pub login: Option<Credentials>,
}

impl fmt::Debug for FirmwareImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("FirmwareImage");
        shown.field("url", &media::shown(&self.url)).field("targets", &self.targets);
        shown.field("apply", &self.apply).field("login", &self.login).finish()
    }
}

impl fmt::Display for FirmwareImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&media::shown(&self.url))
    }
}

/// The ways in which a BMC takes new firmware, as it says itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FirmwareWays {
    /// Whether it fetches images by itself ([`crate::Bmc::start_firmware_update`]).
    pub fetches: bool,
    /// How it fetches, as `HTTP`, `HTTPS`, `NFS`; empty when it does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
    /// Whether images can be pushed to it with targets ([`crate::Bmc::push_firmware_update`]).
    pub takes_forms: bool,
    /// Whether images can be pushed to it as they are.
    pub takes_files: bool,
    /// What can be updated by name; empty when it does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Which times to apply it can be asked for, as `Immediate`, `OnReset`; empty when it does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apply_times: Vec<String>,
    /// The largest image in bytes, where told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<u64>,
}

/// An image to push to a BMC, byte by byte, so that it is never whole in memory.
pub struct FirmwareFile {
    /// What it is called; some BMCs look at its ending.
    pub name: String,
    /// Its exact length in bytes.
    pub length: u64,
    /// Its bytes.
    pub bytes: futures::stream::BoxStream<'static, std::io::Result<bytes::Bytes>>,
    /// Paths of the firmware inventory to update; empty: what the image itself is for.
    pub targets: Vec<String>,
    /// When it is to be used.
    pub apply: FirmwareApply,
}

/// A firmware update that was started: what the BMC calls it. Plain text, so that it can be kept and asked for later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FirmwareJob(pub String);

impl fmt::Display for FirmwareJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How far a firmware update is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum FirmwareProgress {
    /// Accepted and not begun, or waiting, as for a reset of the server.
    Waiting {
        /// The BMC's word for it.
        why: String,
    },
    /// Under way.
    Running {
        /// Per cent done, where the BMC says.
        percent: Option<u64>,
        /// The BMC's word for it.
        step: String,
    },
    /// It ended well.
    Done,
    /// It ended badly.
    Failed {
        /// What the BMC says.
        why: String,
    },
    /// The BMC does not know it any more, as some do seconds after the end: the version in the inventory tells whether
    /// it ended well.
    Gone,
}
