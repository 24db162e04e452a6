//! Power.

use super::{CHASSIS, Command};
use crate::Malformed;
use crate::bytes::Reader;

/// Get Chassis Status (§28.2).
#[derive(Clone, Copy, Debug)]
pub struct GetChassisStatus;

/// What Get Chassis Status says of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChassisStatus {
    /// Whether system power is on.
    pub power_is_on: bool,
    /// Whether the last power change was a fault: overload, interlock, main power or power control.
    pub power_fault: bool,
}

impl Command for GetChassisStatus {
    type Answer = ChassisStatus;
    const NAME: &'static str = "get chassis status";
    const NETWORK_FUNCTION: u8 = CHASSIS;
    const NUMBER: u8 = 0x01;

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn parse(data: &[u8]) -> Result<ChassisStatus, Malformed> {
        let [power, _last_event, _misc] = Reader::new("get chassis status response", data).array()?;
        Ok(ChassisStatus { power_is_on: power & 0x01 != 0, power_fault: power & 0x1e != 0 })
    }
}

/// Chassis Control (§28.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ChassisControl {
    /// Power off at once.
    PowerDown = 0,
    /// Power on.
    PowerUp = 1,
    /// Off for at least a second, then on.
    PowerCycle = 2,
    /// Hard reset.
    HardReset = 3,
    /// Ask the operating system to shut down, by an over-temperature emulation.
    SoftShutdown = 5,
}

impl Command for ChassisControl {
    type Answer = ();
    const NAME: &'static str = "chassis control";
    const NETWORK_FUNCTION: u8 = CHASSIS;
    const NUMBER: u8 = 0x02;
    const REPEATABLE: bool = false;

    fn data(&self) -> Vec<u8> {
        vec![*self as u8]
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}
