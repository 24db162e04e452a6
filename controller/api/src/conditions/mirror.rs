//! A condition that shows another object's.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{INVALID_CONDITION_REPORTED, NO_REASON_REPORTED, NOT_YET_REPORTED, Status, Wanted, get, wanted};

/// The condition `source` of `list` under the name `target`, with its own transition time. If it is not there:
/// `fallback`, or that it is not yet reported.
#[must_use]
pub fn mirror(list: &[Condition], source: &str, target: &'static str, fallback: Option<Wanted>) -> Wanted {
    let Some(condition) = get(list, source) else {
        let missing =
            || wanted(target, Status::Unknown, NOT_YET_REPORTED, format!("Condition {source} not yet reported"));
        return fallback.map_or_else(missing, |fallback| Wanted { type_: target, ..fallback });
    };
    let Some(status) = Status::from_word(&condition.status) else {
        let message = format!("status for the {source} condition must be one of True, False, Unknown");
        return wanted(target, Status::Unknown, INVALID_CONDITION_REPORTED, message);
    };
    let reason = if condition.reason.is_empty() { NO_REASON_REPORTED } else { &condition.reason };
    let since = Some(condition.last_transition_time.clone());
    Wanted { since, ..wanted(target, status, reason, condition.message.clone()) }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    #[test]
    fn the_source_is_shown_or_what_is_wrong_with_it() {
        let since = Time(Timestamp::from_second(7).unwrap());
        let source = |status: &str, reason: &str| Condition {
            last_transition_time: since.clone(),
            message: "m".to_owned(),
            observed_generation: Some(3),
            reason: reason.to_owned(),
            status: status.to_owned(),
            type_: "Ready".to_owned(),
        };
        let fallback = wanted("Else", false, "NotReady", "status.ready is false");
        for (list, fallback, status, reason, message) in [
            (vec![source("True", "R")], None, Status::True, "R", "m"),
            (vec![source("False", "")], Some(fallback.clone()), Status::False, "NoReasonReported", "m"),
            (
                vec![source("Yes", "R")],
                None,
                Status::Unknown,
                "InvalidConditionReported",
                "status for the Ready condition must be one of True, False, Unknown",
            ),
            (vec![], None, Status::Unknown, "NotYetReported", "Condition Ready not yet reported"),
            (vec![], Some(fallback), Status::False, "NotReady", "status.ready is false"),
        ] {
            let shown = mirror(&list, "Ready", "InfrastructureReady", fallback);
            assert_eq!(
                (shown.type_, shown.status, shown.reason.as_str(), shown.message.as_str()),
                ("InfrastructureReady", status, reason, message)
            );
            let known = !list.is_empty() && reason != "InvalidConditionReported";
            assert_eq!(shown.since, known.then(|| since.clone()));
        }
    }
}
