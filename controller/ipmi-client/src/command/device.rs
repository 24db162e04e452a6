//! Restarting the BMC itself (§20.2, §20.3).

use super::{APPLICATION, Command};
use crate::Malformed;

/// Cold Reset: the BMC starts as after power on; sessions end. Many do not answer before they go.
#[derive(Clone, Copy, Debug)]
pub struct ColdReset;

/// Warm Reset: the BMC's programs start anew, its hardware does not. Optional, and seldom there.
#[derive(Clone, Copy, Debug)]
pub struct WarmReset;

impl Command for ColdReset {
    type Answer = ();
    const NAME: &'static str = "cold reset";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x02;
    const REPEATABLE: bool = false;

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}

impl Command for WarmReset {
    type Answer = ();
    const NAME: &'static str = "warm reset";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x03;
    const REPEATABLE: bool = false;

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}
