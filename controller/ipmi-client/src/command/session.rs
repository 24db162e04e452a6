//! Commands about the session itself.

use super::{APPLICATION, Command};
use crate::{Malformed, Privilege};

/// Set Session Privilege Level (§22.18).
#[derive(Clone, Copy, Debug)]
pub struct SetSessionPrivilege(pub Privilege);

impl Command for SetSessionPrivilege {
    type Answer = ();
    const NAME: &'static str = "set session privilege level";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x3b;

    fn data(&self) -> Vec<u8> {
        vec![self.0 as u8]
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}

/// Close Session (§22.19), by the BMC's session id.
#[derive(Clone, Copy, Debug)]
pub struct CloseSession(pub u32);

impl Command for CloseSession {
    type Answer = ();
    const NAME: &'static str = "close session";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x3c;

    fn data(&self) -> Vec<u8> {
        self.0.to_le_bytes().to_vec()
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}
