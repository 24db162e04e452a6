//! `bmc power`.

use std::time::Duration;

use bessemer_bmc::{Bmc, BmcError, PowerAction, PowerState};
use serde::Serialize;
use tokio::time::Instant;

use super::exit::Failure;
use super::options::PowerCommand;
use super::output::{Format, show};

/// Between two looks whether an operating system has shut down: no BMC tells.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Power {
    #[serde(skip_serializing_if = "Option::is_none")]
    act: Option<String>,
    power: PowerState,
}

pub(super) async fn status(bmc: &dyn Bmc, format: Format) -> Result<(), Failure> {
    let power = bmc.power_state().await?;
    show(format, &Power { act: None, power }, |is| format!("{}\n", is.power))
}

pub(super) async fn act(bmc: &dyn Bmc, command: &PowerCommand, format: Format) -> Result<(), Failure> {
    let done = match command {
        PowerCommand::Status => return status(bmc, format).await,
        PowerCommand::On => PowerAction::On,
        PowerCommand::Cycle => PowerAction::Cycle,
        PowerCommand::Reset => PowerAction::Reset,
        PowerCommand::Off { soft: false, .. } => PowerAction::ForceOff,
        PowerCommand::Off { timeout, force, .. } => soft_off(bmc, *timeout, *force).await?,
    };
    if done != PowerAction::GracefulOff {
        bmc.power(done).await?;
    }
    let power = bmc.power_state().await?;
    show(format, &Power { act: Some(done.to_string()), power }, |is| {
        format!("{done}: done, the server is {}\n", is.power)
    })
}

/// Asks the operating system and waits; says what is left to do.
async fn soft_off(bmc: &dyn Bmc, timeout: Duration, force: bool) -> Result<PowerAction, Failure> {
    let end = Instant::now() + timeout;
    bmc.power(PowerAction::GracefulOff).await?;
    while !is_off(bmc).await? {
        if Instant::now() + LOOK_AGAIN <= end {
            tokio::time::sleep(LOOK_AGAIN).await;
        } else if force {
            eprintln!("still on after {timeout:?}: cutting power");
            return Ok(PowerAction::ForceOff);
        } else {
            return Err(Failure::timed_out(format!(
                "the server was asked to shut down and is still on after {timeout:?}: wait longer with --timeout, or cut \
                 its power with --force"
            )));
        }
    }
    Ok(PowerAction::GracefulOff)
}

async fn is_off(bmc: &dyn Bmc) -> Result<bool, Failure> {
    match bmc.power_state().await {
        Ok(power) => Ok(power == PowerState::Off),
        // on its way
        Err(BmcError::Busy { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
