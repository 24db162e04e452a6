//! From the protocol's errors to the situations callers tell apart.

use ipmi_client::{CompletionCode, IpmiError};

use super::IpmiBmc;
use crate::BmcError;

impl IpmiBmc {
    pub(super) fn explain(&self, act: &str, error: IpmiError) -> BmcError {
        let address = self.address.to_string();
        let act = act.to_owned();
        match error {
            IpmiError::AuthenticationRejected { .. }
            | IpmiError::PrivilegeRefused { .. }
            | IpmiError::UserNameTooLong { .. }
            | IpmiError::PasswordTooLong { .. } => {
                BmcError::BadCredentials { address, user: self.user.clone(), why: error.to_string() }
            }
            IpmiError::Completion { code: CompletionCode::INSUFFICIENT_PRIVILEGE, .. } => {
                BmcError::BadCredentials { address, user: self.user.clone(), why: format!("{act}: {error}") }
            }
            IpmiError::Timeout { after, doing, last_error } => {
                let why = match last_error {
                    Some(error) => format!("no answer to {doing}, {error}"),
                    None => format!("no answer to {doing}"),
                };
                BmcError::Unreachable { address, deadline: after, why }
            }
            IpmiError::Unresolvable { ref source, .. } | IpmiError::Socket(ref source) => {
                let why = format!("{error}: {source}");
                BmcError::Unreachable { address, deadline: self.client.deadline(), why }
            }
            IpmiError::SessionRefused { status, .. } if status.is_transient() => {
                BmcError::Busy { address, act, why: error.to_string() }
            }
            IpmiError::Completion { code, .. } if code.is_transient() => {
                BmcError::Busy { address, act, why: error.to_string() }
            }
            IpmiError::NoCommonCipherSuite { .. } => {
                BmcError::Unsupported { act: format!("talking to bmc {address}"), why: error.to_string() }
            }
            IpmiError::Completion { code: CompletionCode::INVALID_COMMAND, .. }
            | IpmiError::ConsoleElsewhere { .. } => {
                BmcError::Unsupported { act: format!("bmc {address}, {act}"), why: error.to_string() }
            }
            IpmiError::SessionRefused { .. } | IpmiError::Completion { .. } | IpmiError::Malformed(_) => {
                BmcError::Protocol { address, act, why: error.to_string() }
            }
        }
    }
}
