//! From the protocol's errors to the situations callers tell apart.

use http::StatusCode;
use redfish_client::{Fault, RedfishError};

use super::RedfishBmc;
use crate::media::shown_within;
use crate::{BmcError, Credentials};

impl RedfishBmc {
    pub(super) fn explain(&self, act: &str, error: RedfishError) -> BmcError {
        let (address, act) = (self.address.to_string(), act.to_owned());
        let why = error.to_string();
        match error {
            // Whatever the status: it is no matter of who asks (Supermicro says 401).
            ref error if error.fault().is_some_and(is_about_a_licence) => {
                BmcError::Unsupported { act: format!("bmc {address}, {act}"), why }
            }
            RedfishError::Unauthorized { .. } | RedfishError::PasswordChangeRequired { .. } => {
                BmcError::BadCredentials { address, user: self.user.clone(), why }
            }
            RedfishError::Refused { status: StatusCode::FORBIDDEN, .. } => {
                BmcError::BadCredentials { address, user: self.user.clone(), why: format!("{act}: {why}") }
            }
            RedfishError::Address { .. }
            | RedfishError::Trust { .. }
            | RedfishError::Certificate { .. }
            | RedfishError::Handshake { .. }
            | RedfishError::Redirect { .. } => BmcError::BadAddress { address, problem: why },
            RedfishError::Connection { .. } => {
                BmcError::Unreachable { address, deadline: self.deadline(), why: format!("{act}: {why}") }
            }
            RedfishError::Timeout { after, .. } => {
                BmcError::Unreachable { address, deadline: after, why: format!("{act}: {why}") }
            }
            RedfishError::Refused { status, ref fault, .. }
                if status == StatusCode::SERVICE_UNAVAILABLE
                    || status == StatusCode::TOO_MANY_REQUESTS
                    || fault.has("UnableToModifyDuringSystemPOST")
                    || fault.has("SYS518") =>
            {
                BmcError::Busy { address, act, why }
            }
            _ => BmcError::Protocol { address, act, why },
        }
    }

    /// As [`RedfishBmc::explain`], of a write: what the BMC calls wrong in itself stays wrong.
    pub(super) fn explain_write(&self, act: &str, error: RedfishError) -> BmcError {
        let wrong = matches!(error.status(), Some(StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY));
        match self.explain(act, error) {
            BmcError::Protocol { why, .. } if wrong => self.wrong(act, why),
            other => other,
        }
    }

    pub(super) fn wrong(&self, act: &str, why: String) -> BmcError {
        BmcError::Refused { address: self.address.to_string(), act: act.to_owned(), why }
    }

    pub(super) fn unsupported(&self, act: &str, why: String) -> BmcError {
        BmcError::Unsupported { act: format!("bmc {}, {act}", self.address), why }
    }
}

/// `error` without what may be a secret of what was sent: services repeat it. `login` is what they were to use at the
/// address they were given.
pub(super) fn scrubbed(error: BmcError, login: Option<&Credentials>) -> BmcError {
    let clean = |text: String| {
        let text = shown_within(&text);
        match login.map(Credentials::expose_password).filter(|password| !password.is_empty()) {
            Some(password) => text.replace(password, "…"),
            None => text,
        }
    };
    match error {
        BmcError::Protocol { address, act, why } => BmcError::Protocol { address, act, why: clean(why) },
        BmcError::Refused { address, act, why } => BmcError::Refused { address, act, why: clean(why) },
        BmcError::Uncertain { address, act, why } => BmcError::Uncertain { address, act, why: clean(why) },
        BmcError::Busy { address, act, why } => BmcError::Busy { address, act, why: clean(why) },
        BmcError::Unsupported { act, why } => BmcError::Unsupported { act, why: clean(why) },
        BmcError::BadCredentials { address, user, why } => BmcError::BadCredentials { address, user, why: clean(why) },
        BmcError::Unreachable { address, deadline, why } => {
            BmcError::Unreachable { address, deadline, why: clean(why) }
        }
        BmcError::Contradicted { address, wrote, read } => BmcError::Contradicted { address, wrote, read: clean(read) },
        other @ (BmcError::BadAddress { .. } | BmcError::NotApplied { .. }) => other,
    }
}

/// Whether a service refuses for want of a licence.
fn is_about_a_licence(fault: &Fault) -> bool {
    let about = |text: &str| ["license", "licence"].iter().any(|word| text.to_ascii_lowercase().contains(word));
    fault.messages.iter().any(|message| about(&message.id) || about(&message.text))
}
