//! Payloads beside IPMI messages (§24): starting and ending the serial console.

use super::{APPLICATION, Command};
use crate::Malformed;
use crate::bytes::Reader;

const SERIAL_OVER_LAN: u8 = 1;
const FIRST_INSTANCE: u8 = 1;

/// Activate Payload (§24.1): serial over LAN, encrypted and authenticated.
#[derive(Clone, Copy, Debug)]
pub struct ActivateSol;

/// What the BMC settled on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolActivated {
    /// The largest payload the BMC takes, in bytes.
    pub to_bmc_max: u16,
    /// The largest payload the BMC sends, in bytes.
    pub from_bmc_max: u16,
    /// The UDP port of the payload, the session's own as a rule.
    pub port: u16,
}

impl SolActivated {
    /// Whether the console comes over a session at `port`. Some BMCs name none or turn the bytes round; the
    /// specification's own port is what a BMC names that is reached through another one.
    #[must_use]
    pub fn is_at(&self, port: u16) -> bool {
        const SPECIFIED: u16 = 623;
        [0, SPECIFIED, port, port.swap_bytes()].contains(&self.port)
    }
}

impl Command for ActivateSol {
    type Answer = SolActivated;
    const NAME: &'static str = "activate payload (serial over lan)";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x48;

    fn data(&self) -> Vec<u8> {
        const ENCRYPTED: u8 = 0x80;
        const AUTHENTICATED: u8 = 0x40;
        vec![SERIAL_OVER_LAN, FIRST_INSTANCE, ENCRYPTED | AUTHENTICATED, 0, 0, 0]
    }

    fn parse(data: &[u8]) -> Result<SolActivated, Malformed> {
        let mut reader = Reader::new("activate payload response", data);
        reader.take(4)?;
        Ok(SolActivated { to_bmc_max: reader.u16_le()?, from_bmc_max: reader.u16_le()?, port: reader.u16_le()? })
    }
}

/// Deactivate Payload (§24.2): serial over LAN, whoever activated it.
#[derive(Clone, Copy, Debug)]
pub struct DeactivateSol;

impl Command for DeactivateSol {
    type Answer = ();
    const NAME: &'static str = "deactivate payload (serial over lan)";
    const NETWORK_FUNCTION: u8 = APPLICATION;
    const NUMBER: u8 = 0x49;

    fn data(&self) -> Vec<u8> {
        vec![SERIAL_OVER_LAN, FIRST_INSTANCE, 0, 0, 0, 0]
    }

    fn parse(_: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_console_at_another_port_is_told_apart() {
        for (named, at, ours) in
            [(623, 623, true), (0, 6230, true), (623, 6230, true), (0x6f02, 623, true), (664, 623, false)]
        {
            let [low, high] = u16::to_le_bytes(named);
            let activated = ActivateSol::parse(&[0, 0, 0, 0, 0, 1, 0, 1, low, high, 0xff, 0xff]).unwrap();
            assert_eq!(activated.is_at(at), ours, "{named} {at}");
        }
    }
}
