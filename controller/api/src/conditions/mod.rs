//! Conditions: setting one without touching its time unless its status changed, keeping their order steady, and making
//! one out of many as Cluster API does: [`Summary`] of different conditions of one object, [`Aggregate`] of the same
//! condition of many objects, [`mirror`] of another object's.
//!
//! All of it is pure. This room must not know any kind; what a condition means is its reconciler's to say.

mod aggregate;
mod bullets;
mod merge;
mod mirror;
mod order;
mod summary;
mod words;

pub use aggregate::{Aggregate, Reporter};
pub use merge::{Priority, Reasons};
pub use mirror::mirror;
pub use summary::Summary;
pub use words::{INVALID_CONDITION_REPORTED, NO_REASON_REPORTED, NOT_YET_REPORTED, Status, Wanted, wanted};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

/// Puts `wanted` into `list`. The transition time changes only with the status, to `wanted.since` or else to `now`, in
/// whole seconds; an equal condition stays untouched.
pub fn set(list: &mut Vec<Condition>, wanted: Wanted, generation: Option<i64>, now: Time) {
    let status = wanted.status.as_str();
    let fresh = Condition {
        last_transition_time: whole_seconds(wanted.since.unwrap_or(now)),
        message: wanted.message,
        observed_generation: generation,
        reason: wanted.reason,
        status: status.to_owned(),
        type_: wanted.type_.to_owned(),
    };
    match list.iter_mut().find(|old| old.type_ == wanted.type_) {
        None => {
            list.push(fresh);
            list.sort_by(|a, b| order::compare(&a.type_, &b.type_));
        }
        Some(old) => {
            let since =
                if old.status == status { old.last_transition_time.clone() } else { fresh.last_transition_time };
            *old = Condition { last_transition_time: since, ..fresh };
        }
    }
}

/// Takes the condition of that type out of `list`.
pub fn delete(list: &mut Vec<Condition>, type_: &str) {
    list.retain(|condition| condition.type_ != type_);
}

/// The condition of that type.
#[must_use]
pub fn get<'a>(list: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    list.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition of that type is there and `True`.
#[must_use]
pub fn is_true(list: &[Condition], type_: &str) -> bool {
    has_status(list, type_, Status::True)
}

/// Whether the condition of that type is there and `False`.
#[must_use]
pub fn is_false(list: &[Condition], type_: &str) -> bool {
    has_status(list, type_, Status::False)
}

fn has_status(list: &[Condition], type_: &str, status: Status) -> bool {
    get(list, type_).is_some_and(|condition| condition.status == status.as_str())
}

/// As the API keeps times: what is written reads back equal.
fn whole_seconds(time: Time) -> Time {
    Time(Timestamp::from_second(time.0.as_second()).unwrap_or(time.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time(Timestamp::from_second(seconds).unwrap())
    }

    #[test]
    fn time_moves_only_with_the_status() {
        let mut list = Vec::new();
        set(&mut list, wanted("Ready", false, "Waiting", "for the host"), Some(1), at(10));
        set(&mut list, wanted("Ready", false, "Waiting", "for the image"), Some(2), at(20));
        assert_eq!((list[0].message.as_str(), &list[0].last_transition_time), ("for the image", &at(10)));
        assert_eq!(list[0].observed_generation, Some(2));
        set(&mut list, wanted("Ready", true, "Ready", ""), Some(2), at(30));
        assert_eq!(list[0].last_transition_time, at(30));
        let since = Wanted { since: Some(at(5)), ..wanted("Ready", true, "Ready", "") };
        set(&mut list, since, Some(2), at(40));
        assert_eq!(list[0].last_transition_time, at(30), "the status did not change");
        assert_eq!(list.len(), 1);
    }

    #[test]
    fn setting_an_equal_condition_changes_nothing() {
        let mut list = Vec::new();
        set(&mut list, wanted("Ready", true, "Ready", ""), Some(1), at(10));
        let before = list.clone();
        set(&mut list, wanted("Ready", true, "Ready", ""), Some(1), at(99));
        assert_eq!(list, before);
    }

    #[test]
    fn times_are_whole_seconds() {
        let mut list = Vec::new();
        let now = Time(Timestamp::from_millisecond(1_999).unwrap());
        set(&mut list, wanted("Ready", true, "Ready", ""), None, now);
        assert_eq!(list[0].last_transition_time, at(1));
    }

    #[test]
    fn order_does_not_depend_on_history() {
        let mut list = Vec::new();
        for type_ in ["Deleting", "NodeHealthy", "Paused", "Ready", "MyGate", "BootstrapConfigReady", "Available"] {
            set(&mut list, wanted(type_, true, "R", ""), None, at(1));
        }
        let order: Vec<&str> = list.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(
            order,
            ["Available", "Ready", "BootstrapConfigReady", "NodeHealthy", "MyGate", "Paused", "Deleting"]
        );
    }

    #[test]
    fn what_is_deleted_is_gone() {
        let mut list = Vec::new();
        for type_ in ["Ready", "Available"] {
            set(&mut list, wanted(type_, false, "R", ""), None, at(1));
        }
        delete(&mut list, "Ready");
        delete(&mut list, "NeverThere");
        assert!(get(&list, "Ready").is_none() && is_false(&list, "Available") && !is_true(&list, "Available"));
    }
}
