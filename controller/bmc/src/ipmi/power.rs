//! Power over IPMI: one chassis control, then reading the state until it is what was asked.

use std::time::Duration;

use ipmi_client::command::{ChassisControl, GetChassisStatus};
use ipmi_client::{CompletionCode, IpmiError};
use tokio::time::Instant;

use super::IpmiBmc;
use crate::{BmcError, PowerAction, PowerState};

/// How long a BMC may take to apply a power act it has accepted: a firmware that stages power-on takes several seconds.
const SETTLES_WITHIN: Duration = Duration::from_secs(30);
/// The first and the longest pause between two reads. IPMI over LAN has no event for this.
const POLL_FIRST: Duration = Duration::from_millis(200);
const POLL_MAX: Duration = Duration::from_secs(2);

/// How long to wait for a power act to show.
pub(super) struct Patience {
    pub(super) settles_within: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { settles_within: SETTLES_WITHIN }
    }
}

impl IpmiBmc {
    pub(super) async fn read_power(&self) -> Result<PowerState, BmcError> {
        let status = self.execute("reading the power state", &GetChassisStatus).await?;
        Ok(if status.power_is_on { PowerState::On } else { PowerState::Off })
    }

    pub(super) async fn act_on_power(&self, action: PowerAction) -> Result<(), BmcError> {
        let act = action.to_string();
        let (control, goal) = plan(action);
        // Sent even when the state reads as wanted: a server that is being switched off still reads on.
        match self.client.execute(&control).await {
            Ok(()) => {}
            // What is on already cannot be switched on, says many a BMC.
            Err(IpmiError::Completion { code: CompletionCode::WRONG_STATE, .. })
                if matches!(action, PowerAction::On | PowerAction::ForceOff | PowerAction::GracefulOff)
                    && self.read_power().await? == goal.unwrap_or(PowerState::Off) =>
            {
                return Ok(());
            }
            Err(error) => return Err(self.explain(&act, error)),
        }
        match goal {
            Some(goal) => self.await_power(&act, goal).await,
            None => Ok(()),
        }
    }

    async fn await_power(&self, act: &str, goal: PowerState) -> Result<(), BmcError> {
        let deadline = self.patience.settles_within;
        let end = Instant::now() + deadline;
        let mut pause = POLL_FIRST;
        loop {
            let failure = match self.read_power().await {
                Ok(state) if state == goal => return Ok(()),
                Ok(state) => BmcError::NotApplied {
                    address: self.address.to_string(),
                    wrote: act.to_owned(),
                    read: state.to_string(),
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
}

/// The command for an action, and the state that must follow; a graceful shutdown may rightly be ignored.
fn plan(action: PowerAction) -> (ChassisControl, Option<PowerState>) {
    match action {
        PowerAction::On => (ChassisControl::PowerUp, Some(PowerState::On)),
        PowerAction::ForceOff => (ChassisControl::PowerDown, Some(PowerState::Off)),
        PowerAction::GracefulOff => (ChassisControl::SoftShutdown, None),
        PowerAction::Reset => (ChassisControl::HardReset, Some(PowerState::On)),
        PowerAction::Cycle => (ChassisControl::PowerCycle, Some(PowerState::On)),
    }
}
