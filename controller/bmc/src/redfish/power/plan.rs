//! What a power act is made of, in the words of one BMC, and what a refusal of a word means. Pure.

use http::StatusCode;
use redfish_client::{RedfishError, Resource};

use crate::redfish::quirks::{Habit, Subject};
use crate::{PowerAction, PowerState};

/// Reset types (`ResetType`) in the order in which they are asked for.
pub(crate) type Way = &'static [&'static str];

/// The reset type that is the power button: it also switches on.
pub(super) const BUTTON: &str = "PushPowerButton";

/// What the state is, if it says; a state in between, an unknown and a missing one are none.
pub(crate) fn power_of(system: &Resource) -> Option<PowerState> {
    match system.text("PowerState")? {
        "On" => Some(PowerState::On),
        "Off" => Some(PowerState::Off),
        _ => None,
    }
}

/// The ways to do `action`, best first, of the reset types that are `listed` (none: the BMC lists nothing). The next is
/// for a BMC that refuses what it lists, or lists nothing.
///
/// # Errors
/// When no way is listed; says what is.
pub(crate) fn plan(action: PowerAction, listed: Option<&[String]>, subject: &Subject<'_>) -> Result<Vec<Way>, String> {
    let ways: &[Way] = match action {
        PowerAction::On => &[&["On"], &["ForceOn"]],
        PowerAction::ForceOff => &[&["ForceOff"]],
        // Never a hard one instead: the difference is somebody's data.
        PowerAction::GracefulOff => &[&["GracefulShutdown"], &[BUTTON]],
        PowerAction::Reset if subject.has(Habit::RestartHangs) => &[&["ForceOff", "On"]],
        PowerAction::Reset => &[&["ForceRestart"], &["ForceOff", "On"]],
        PowerAction::Cycle => &[&["PowerCycle"], &["ForceOff", "On"]],
    };
    let Some(listed) = listed else { return Ok(ways.to_vec()) };
    let is_listed = |way: &&Way| way.iter().all(|word| listed.iter().any(|known| known == word));
    let known: Vec<Way> = ways.iter().filter(is_listed).copied().collect();
    if known.is_empty() { Err(format!("it knows only {}", listed.join(", "))) } else { Ok(known) }
}

/// The state in which `word` leaves the server, where it is sure to leave it in one.
pub(super) fn goal(word: &str) -> Option<PowerState> {
    match word {
        "GracefulShutdown" | BUTTON => None,
        "ForceOff" => Some(PowerState::Off),
        _ => Some(PowerState::On),
    }
}

/// Whether asking twice for `word` is the same as asking once.
pub(super) fn is_repeatable(word: &str) -> bool {
    matches!(word, "On" | "ForceOn" | "ForceOff" | "GracefulShutdown")
}

/// What the refusal of a reset type means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The BMC does not do this one at all, whatever it lists.
    NotKnown,
    /// It does not fit the state that the server is in: it is there already, or something still goes on.
    NotNow,
    /// Anything else.
    Other,
}

pub(super) fn refusal(error: &RedfishError) -> Refusal {
    let (Some(status), Some(fault)) = (error.status(), error.fault()) else { return Refusal::Other };
    let says = |keys: &[&str]| keys.iter().any(|key| fault.has(key));
    // PSU501: Dell's "server is already powered on".
    if says(&[
        "ActionParameterValueConflict",
        "InvalidOperationForSystemState",
        "PSU501",
        "ResourceInUse",
        "ServiceTemporarilyUnavailable",
        "UnableToModifyDuringSystemPOST",
    ]) {
        return Refusal::NotNow;
    }
    let unknown = says(&[
        "ActionParameterNotSupported",
        "ActionParameterUnknown",
        "ActionParameterValueFormatError",
        "ActionParameterValueNotInList",
        "ActionParameterValueTypeError",
        "ActionNotSupported",
        "PropertyValueNotInList",
        "UnsupportedOperation",
    ]);
    match status {
        StatusCode::NOT_IMPLEMENTED | StatusCode::METHOD_NOT_ALLOWED => Refusal::NotKnown,
        _ if unknown => Refusal::NotKnown,
        StatusCode::CONFLICT | StatusCode::BAD_REQUEST => Refusal::NotNow,
        _ => Refusal::Other,
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use redfish_client::{Fault, Reference};
    use serde_json::{Value, json};

    use super::*;

    const ANY: Subject<'_> = Subject { vendor: "", model: "", bios: "" };

    fn listed(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn ways() {
        type Case<'a> = (PowerAction, &'a [&'a str], &'a [Way]);
        let all = ["On", "ForceOff", "GracefulShutdown", "ForceRestart", "PushPowerButton", "PowerCycle", "Nmi"];
        let cases: [Case<'_>; 7] = [
            (PowerAction::On, &all, &[&["On"]]),
            (PowerAction::On, &["ForceOn"], &[&["ForceOn"]]),
            (PowerAction::GracefulOff, &["On", "ForceOff", "PushPowerButton"], &[&["PushPowerButton"]]),
            (PowerAction::Reset, &all, &[&["ForceRestart"], &["ForceOff", "On"]]),
            (PowerAction::Reset, &["On", "ForceOff"], &[&["ForceOff", "On"]]),
            (PowerAction::Cycle, &["On", "ForceOff"], &[&["ForceOff", "On"]]),
            (PowerAction::Cycle, &all, &[&["PowerCycle"], &["ForceOff", "On"]]),
        ];
        for (action, words, wanted) in cases {
            assert_eq!(plan(action, Some(&listed(words)), &ANY).unwrap(), wanted, "{action} {words:?}");
        }
        assert_eq!(plan(PowerAction::Cycle, None, &ANY).unwrap()[0], ["PowerCycle"]);
        let error = plan(PowerAction::ForceOff, Some(&listed(&["On"])), &ANY).unwrap_err();
        assert!(error.contains("it knows only On"), "{error}");
    }

    #[test]
    fn q66_a_graceful_act_is_never_swapped_for_a_hard_one() {
        // iDRAC 8, and HPE's iLO 5 1.45, list no graceful shutdown.
        let words = listed(&["On", "ForceOff", "ForceRestart", "Nmi"]);
        assert!(plan(PowerAction::GracefulOff, Some(&words), &ANY).is_err());
        let unlisted = plan(PowerAction::GracefulOff, None, &ANY).unwrap();
        assert!(!unlisted.concat().iter().any(|word| word.starts_with("Force")), "{unlisted:?}");
    }

    #[test]
    fn q70_a_server_whose_restart_hangs_is_switched_off_and_on() {
        let words = listed(&["On", "ForceOff", "ForceRestart", "GracefulShutdown"]);
        let sr675 = Subject { vendor: "Lenovo", model: "ThinkSystem SR675 V3", bios: "QGE138G" };
        assert_eq!(plan(PowerAction::Reset, Some(&words), &sr675).unwrap(), [["ForceOff", "On"]]);
        let sr670 = Subject { model: "ThinkSystem SR670 V2", ..sr675 };
        assert_eq!(plan(PowerAction::Reset, Some(&words), &sr670).unwrap()[0], ["ForceRestart"]);
    }

    #[test]
    fn q72_states_in_between_and_unknown_ones_are_none() {
        let state = |state: Value| power_of(&Resource::new(Reference::root(), None, json!({ "PowerState": state })));
        assert_eq!(state("On".into()), Some(PowerState::On));
        assert_eq!(state("Off".into()), Some(PowerState::Off));
        for between in ["PoweringOn", "PoweringOff", "Paused", "", "Unheard"] {
            assert_eq!(state(between.into()), None, "{between}");
        }
        assert_eq!(state(Value::Null), None);
        assert_eq!(power_of(&Resource::new(Reference::root(), None, json!({}))), None);
    }

    #[test]
    fn refusals() {
        let refused = |status: u16, id: &str| {
            let fault = Fault::of(&json!({"error": {"@Message.ExtendedInfo": [{"MessageId": id}]}}));
            let status = StatusCode::from_u16(status).unwrap();
            refusal(&RedfishError::Refused { method: Method::POST, url: String::new(), status, fault })
        };
        for (status, id, wanted) in [
            (409, "IDRAC.2.8.PSU501", Refusal::NotNow),
            (400, "iLO.2.14.InvalidOperationForSystemState", Refusal::NotNow),
            (409, "Base.1.12.ActionParameterValueConflict", Refusal::NotNow),
            (409, "", Refusal::NotNow),
            (400, "Base.1.0.ActionParameterNotSupported", Refusal::NotKnown),
            (400, "Base.1.0.PropertyValueNotInList", Refusal::NotKnown),
            (501, "", Refusal::NotKnown),
            (403, "Base.1.0.InsufficientPrivilege", Refusal::Other),
        ] {
            assert_eq!(refused(status, id), wanted, "{status} {id}");
        }
    }
}
