//! Power over IPMI: one chassis control, then reading the state until it is what was asked.
//!
//! A control is sent once. Where its answer is lost, the state is looked at for acts that it shows (on, off); those that it
//! does not show (reset, cycle) are uncertain.

use std::time::Duration;

use async_trait::async_trait;
use ipmi_client::command::{ChassisControl, GetChassisStatus};
use ipmi_client::{CompletionCode, IpmiError};
use tokio::time::{Instant, sleep};

use super::IpmiBmc;
use crate::power::{ReadsPower, await_power};
use crate::{Address, BmcError, PowerAction, PowerState};

/// A server that is being switched off reads on for about as long.
const GOES_OFF_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks; a power cycle leaves a server off for at least a second (§28.3).
const LOOK_AGAIN: Duration = Duration::from_millis(250);

#[async_trait]
impl ReadsPower for IpmiBmc {
    fn address(&self) -> &Address {
        &self.address
    }

    async fn power_now(&self, _act: &str) -> Result<Option<PowerState>, BmcError> {
        self.read_power().await.map(Some)
    }
}

/// What a BMC made of a control.
enum Taken {
    Accepted,
    /// What is on already cannot be switched on, say many, nor what is on its way off.
    WrongState(IpmiError),
    /// The control got lost, or its answer did.
    Unknown(IpmiError),
}

impl IpmiBmc {
    pub(super) async fn read_power(&self) -> Result<PowerState, BmcError> {
        let status = self.execute("reading the power state", &GetChassisStatus).await?;
        Ok(if status.power_is_on { PowerState::On } else { PowerState::Off })
    }

    pub(super) async fn act_on_power(&self, action: PowerAction) -> Result<(), BmcError> {
        let act = action.to_string();
        match action {
            PowerAction::On => self.switch_on(&act).await,
            PowerAction::ForceOff => self.switch_off(&act, ChassisControl::PowerDown).await,
            PowerAction::GracefulOff => self.switch_off(&act, ChassisControl::SoftShutdown).await,
            PowerAction::Reset => self.restart(&act, ChassisControl::HardReset).await,
            PowerAction::Cycle => self.restart(&act, ChassisControl::PowerCycle).await,
        }
    }

    /// The state before, and what became of the control. The state is read first even where nobody asks for it: that heals
    /// a session which the BMC has forgotten, and which the control would be lost with.
    async fn control(&self, act: &str, control: ChassisControl) -> Result<(PowerState, Taken), BmcError> {
        let before = self.read_power().await?;
        let taken = match self.client.execute(&control).await {
            Ok(()) => Taken::Accepted,
            Err(error @ IpmiError::Completion { code: CompletionCode::WRONG_STATE, .. }) => Taken::WrongState(error),
            Err(error @ IpmiError::Timeout { .. }) => Taken::Unknown(error),
            Err(error) => return Err(self.explain(act, error)),
        };
        Ok((before, taken))
    }

    /// A server that reads on may be on its way off, and heed nothing until it is: it is asked again then.
    async fn switch_on(&self, act: &str) -> Result<(), BmcError> {
        let end = Instant::now() + self.patience.settles_within;
        loop {
            match self.control(act, ChassisControl::PowerUp).await? {
                (PowerState::Off, Taken::Accepted) => {
                    return await_power(self, act, PowerState::On, self.patience).await;
                }
                (PowerState::Off, Taken::WrongState(error) | Taken::Unknown(error)) if Instant::now() >= end => {
                    return Err(self.explain(act, error));
                }
                (PowerState::Off, _) => sleep(LOOK_AGAIN).await,
                (PowerState::On, _) if !self.is_seen_off().await? => return Ok(()),
                (PowerState::On, _) if Instant::now() >= end => {
                    let (address, deadline) = (self.address.to_string(), self.patience.settles_within);
                    return Err(BmcError::NotApplied {
                        address,
                        wrote: act.to_owned(),
                        read: "off".to_owned(),
                        deadline,
                    });
                }
                (PowerState::On, _) => {}
            }
        }
    }

    async fn switch_off(&self, act: &str, control: ChassisControl) -> Result<(), BmcError> {
        match self.control(act, control).await? {
            (_, Taken::Accepted) => {}
            (_, Taken::WrongState(error)) => {
                let off = self.read_power().await? == PowerState::Off;
                return if off { Ok(()) } else { Err(self.explain(act, error)) };
            }
            // Asking a system that is shutting down once more changes nothing, nor does cutting the power that is cut.
            (_, Taken::Unknown(_)) => self.execute(act, &control).await?,
        }
        match control {
            // An operating system may rightly ignore it.
            ChassisControl::SoftShutdown => Ok(()),
            _ => await_power(self, act, PowerState::Off, self.patience).await,
        }
    }

    async fn restart(&self, act: &str, control: ChassisControl) -> Result<(), BmcError> {
        match self.control(act, control).await? {
            (_, Taken::Accepted) => {}
            (_, Taken::WrongState(error)) => return Err(self.explain(act, error)),
            (_, Taken::Unknown(error)) => {
                let (address, act) = (self.address.to_string(), act.to_owned());
                return Err(BmcError::Uncertain { address, act, why: error.to_string() });
            }
        }
        // On before and on after proves nothing by itself.
        if control == ChassisControl::PowerCycle && !self.is_seen_off().await? {
            tracing::debug!(bmc = %self.address, "nobody saw the server off during its power cycle");
        }
        await_power(self, act, PowerState::On, self.patience).await
    }

    /// Whether the server is off at some time soon.
    async fn is_seen_off(&self) -> Result<bool, BmcError> {
        let end = Instant::now() + GOES_OFF_WITHIN;
        while self.read_power().await? == PowerState::On {
            if Instant::now() >= end {
                return Ok(false);
            }
            sleep(LOOK_AGAIN).await;
        }
        Ok(true)
    }
}
