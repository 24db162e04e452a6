//! Power, as every BMC understands it.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use tokio::time::Instant;

use crate::{Address, BmcError};

/// How long a BMC may take to apply a power act it has accepted: a firmware that stages power-on takes several seconds.
const SETTLES_WITHIN: Duration = Duration::from_secs(30);
/// The first and the longest pause between two reads. No protocol has an event for this that all BMCs keep.
const POLL_FIRST: Duration = Duration::from_millis(200);
const POLL_MAX: Duration = Duration::from_secs(2);

/// Whether the server's main power is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PowerState {
    /// Main power is on; the operating system may still be booting, or hung.
    On,
    /// Main power is off; the BMC itself stays alive.
    Off,
}

impl fmt::Display for PowerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

/// A change of power that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PowerAction {
    /// Power on; nothing happens when it is on already.
    On,
    /// Cut power at once, without telling the operating system.
    ForceOff,
    /// Press the power button: the operating system is asked to shut down, and may not.
    GracefulOff,
    /// Hard reset of a running server, without a power interruption.
    Reset,
    /// Cut power, wait as the BMC sees fit, power on. Only for a server that is on.
    Cycle,
}

impl fmt::Display for PowerAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "power on",
            Self::ForceOff => "forced power off",
            Self::GracefulOff => "graceful power off",
            Self::Reset => "reset",
            Self::Cycle => "power cycle",
        })
    }
}

/// How long to wait for a power act to show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) settles_within: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { settles_within: SETTLES_WITHIN }
    }
}

/// A protocol's way to read the power state.
#[async_trait]
pub(crate) trait ReadsPower: Send + Sync {
    /// Whose power it is.
    fn address(&self) -> &Address;

    /// The state now, as a part of `act`; none stands for a state in between.
    async fn power_now(&self, act: &str) -> Result<Option<PowerState>, BmcError>;
}

/// Reads the power state until it is `goal`.
pub(crate) async fn await_power(
    bmc: &dyn ReadsPower,
    act: &str,
    goal: PowerState,
    patience: Patience,
) -> Result<(), BmcError> {
    let deadline = patience.settles_within;
    let end = Instant::now() + deadline;
    let mut pause = POLL_FIRST;
    loop {
        let failure = match bmc.power_now(act).await {
            Ok(Some(state)) if state == goal => return Ok(()),
            Ok(state) => BmcError::NotApplied {
                address: bmc.address().to_string(),
                wrote: act.to_owned(),
                read: state.map_or_else(|| "a state in between".to_owned(), |state| state.to_string()),
                deadline,
            },
            Err(error) if error.is_transient() => error,
            Err(error) => return Err(error),
        };
        if Instant::now() + pause > end {
            return Err(failure);
        }
        tokio::time::sleep(pause).await;
        pause = POLL_MAX.min(pause * 2);
    }
}
