//! From the protocol's errors to the situations callers tell apart.

use http::StatusCode;
use redfish_client::{Fault, RedfishError};

use super::RedfishBmc;
use crate::media::shown_within;
use crate::{BmcError, Credentials};

/// What leads to old TLS from here; see [`super::client`].
const OLD_TLS: &str = if cfg!(feature = "legacy-tls") {
    "bessemer does so where it does not verify the certificate of the bmc: disable its verification"
} else {
    "bessemer does so when it is built with the feature legacy-tls, where it does not verify the certificate of the bmc"
};

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
            RedfishError::Refused { status: StatusCode::FORBIDDEN, ref fault, .. } if is_about_the_user(fault) => {
                BmcError::BadCredentials { address, user: self.user.clone(), why: format!("{act}: {why}") }
            }
            RedfishError::Handshake { old: true, .. } => {
                BmcError::BadAddress { address, problem: format!("{why}; {OLD_TLS}") }
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

/// Whether a service that forbids something does so because of who asks: it says so, or nothing at all. Else it is the
/// state of the server or of the one resource (a lockdown, a setting), which no other user changes.
fn is_about_the_user(fault: &Fault) -> bool {
    const KEYS: [&str; 5] = [
        "InsufficientPrivilege",
        "AccessDenied",
        "ResourceAtUriUnauthorized",
        "NoValidSession",
        "InsufficientPrivileges",
    ];
    let about = |text: &str| ["privilege", "permission", "credential"].iter().any(|word| text.contains(word));
    let text = fault.to_string().to_ascii_lowercase();
    *fault == Fault::default() || KEYS.iter().any(|key| fault.has(key)) || about(&text)
}

/// Whether a service refuses for want of a licence.
fn is_about_a_licence(fault: &Fault) -> bool {
    let about = |text: &str| ["license", "licence"].iter().any(|word| text.to_ascii_lowercase().contains(word));
    fault.messages.iter().any(|message| about(&message.id) || about(&message.text))
}

#[cfg(test)]
mod tests {
    use http::Method;
    use redfish_client::Options;
    use serde_json::json;

    use super::*;
    use crate::power::Patience;

    fn explained(error: RedfishError) -> BmcError {
        let (address, user) = ("redfish://192.0.2.7".parse().unwrap(), Credentials::new("admin", "secret"));
        let patience = Patience { settles_within: std::time::Duration::from_secs(1) };
        RedfishBmc::with(&address, &user, Options::default(), patience).unwrap().explain("reset", error)
    }

    #[test]
    fn what_is_forbidden_for_a_state_is_no_matter_of_the_password() {
        for (id, text, about_the_user) in [
            ("Base.1.8.InsufficientPrivilege", "There are insufficient privileges.", true),
            ("Base.1.8.AccessDenied", "While attempting to access the resource.", true),
            ("Vendor.1.0.X", "The user has no permission for this.", true),
            ("", "", true),
            ("IDRAC.2.8.SYS484", "The system is in lockdown mode.", false),
            ("Vendor.1.0.Y", "The setting is not changeable while the host is on.", false),
        ] {
            let fault = Fault::of(&json!({"@Message.ExtendedInfo": [{"MessageId": id, "Message": text}]}));
            let (method, url) = (Method::POST, "https://192.0.2.7/redfish/v1/Systems/1".to_owned());
            let error = explained(RedfishError::Refused { method, url, status: StatusCode::FORBIDDEN, fault });
            assert_eq!(matches!(error, BmcError::BadCredentials { .. }), about_the_user, "{id}: {error:?}");
            assert_eq!(error.is_transient(), !about_the_user, "{id}: {error:?}");
        }
    }

    #[test]
    fn old_tls_names_a_way_that_is_there() {
        let of = |old: bool| {
            let (url, why) = ("https://192.0.2.7/".to_owned(), "no version in common".to_owned());
            explained(RedfishError::Handshake { url, why, old }).to_string()
        };
        let way = if cfg!(feature = "legacy-tls") { "disable its verification" } else { "the feature legacy-tls" };
        assert!(of(true).contains(way), "{}", of(true));
        assert!(!of(false).contains(way), "{}", of(false));
    }
}
