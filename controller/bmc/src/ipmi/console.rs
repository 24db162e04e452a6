//! The serial console over LAN.

use ipmi_client::{CompletionCode, IpmiError};

use super::IpmiBmc;
use crate::{BmcError, ConsoleAccess, ConsoleKind, ConsoleStream};

const ACT: &str = "opening its serial console";

impl IpmiBmc {
    /// IPMI always has the one way; whether it is switched on shows when it is opened.
    pub(super) fn console_access(&self) -> ConsoleAccess {
        let (host, port) = (self.address.host(), self.address.port());
        ConsoleAccess {
            kind: ConsoleKind::IpmiSol,
            enabled: None,
            port: Some(port),
            sessions: Some(1),
            hint: Some(format!("ipmitool -I lanplus -H {host} -p {port} -U {} sol activate", self.user)),
        }
    }

    pub(super) async fn open_serial(&self, take_over: bool) -> Result<Box<dyn ConsoleStream>, BmcError> {
        const TAKEN: CompletionCode = CompletionCode(0x80);
        const SWITCHED_OFF: CompletionCode = CompletionCode(0x81);
        const NOT_ENCRYPTED: CompletionCode = CompletionCode(0x83);
        match self.client.console(take_over).await {
            Ok(console) => Ok(Box::new(console)),
            Err(IpmiError::Completion { code, .. }) if matches!(code, SWITCHED_OFF | NOT_ENCRYPTED) => {
                let why = if code == SWITCHED_OFF {
                    "serial over lan is switched off in the bmc's settings"
                } else {
                    "the bmc gives its serial console without encryption only"
                };
                Err(BmcError::Unsupported { act: format!("bmc {}, {ACT}", self.address), why: why.to_owned() })
            }
            Err(IpmiError::Completion { code: TAKEN, .. }) => Err(BmcError::Busy {
                address: self.address.to_string(),
                act: ACT.to_owned(),
                why: "somebody else has it, or left it open a minute ago".to_owned(),
            }),
            Err(error) => Err(self.explain(ACT, error)),
        }
    }
}
