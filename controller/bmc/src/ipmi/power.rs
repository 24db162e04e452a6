//! Power over IPMI: one chassis control, then reading the state until it is what was asked.

use async_trait::async_trait;
use ipmi_client::command::{ChassisControl, GetChassisStatus};
use ipmi_client::{CompletionCode, IpmiError};

use super::IpmiBmc;
use crate::power::{ReadsPower, await_power};
use crate::{Address, BmcError, PowerAction, PowerState};

#[async_trait]
impl ReadsPower for IpmiBmc {
    fn address(&self) -> &Address {
        &self.address
    }

    async fn power_now(&self, _act: &str) -> Result<Option<PowerState>, BmcError> {
        self.read_power().await.map(Some)
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
            Some(goal) => await_power(self, &act, goal, self.patience).await,
            None => Ok(()),
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
