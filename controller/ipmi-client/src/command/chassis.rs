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

/// Chassis Identify (§28.5): the lamp by which a person finds the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChassisIdentify {
    /// For this many seconds; 0 switches it off.
    Seconds(u8),
    /// Until told otherwise. Optional: some BMCs take it for the default of 15 s, some refuse it.
    UntilToldOtherwise,
}

impl Command for ChassisIdentify {
    type Answer = ();
    const NAME: &'static str = "chassis identify";
    const NETWORK_FUNCTION: u8 = CHASSIS;
    const NUMBER: u8 = 0x04;

    fn data(&self) -> Vec<u8> {
        match *self {
            Self::Seconds(seconds) => vec![seconds],
            Self::UntilToldOtherwise => vec![0, 1],
        }
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q148_power_is_a_bit_whatever_stands_around_it() {
        for (power, on) in [(0x00, false), (0x01, true), (0x60, false), (0x61, true), (0x20, false), (0x21, true)] {
            // Four bytes from BMCs that tell of front panel buttons, three from the others.
            assert_eq!(GetChassisStatus::parse(&[power, 0x10, 0x40, 0x54]).unwrap().power_is_on, on, "{power:#04x}");
            assert_eq!(GetChassisStatus::parse(&[power, 0, 0]).unwrap().power_is_on, on, "{power:#04x}");
        }
    }
}
