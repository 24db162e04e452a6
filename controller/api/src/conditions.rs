//! Conditions: setting one without touching its time unless its status changed, and keeping their order steady.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The wanted content of one condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// `Ready`, …
    pub type_: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: Status,
    /// CamelCase, for programs.
    pub reason: String,
    /// For people; may be empty.
    pub message: String,
}

/// The three statuses.
#[api]
pub enum Status {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody can tell.
    Unknown,
}

impl Status {
    /// Reads the API's word; anything unheard-of is `Unknown`.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self::from_word(text).unwrap_or(Self::Unknown)
    }
}

impl From<bool> for Status {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// Shorthand for a [`Wanted`].
pub fn wanted(
    type_: &'static str,
    status: impl Into<Status>,
    reason: impl Into<String>,
    message: impl Into<String>,
) -> Wanted {
    Wanted { type_, status: status.into(), reason: reason.into(), message: message.into() }
}

/// Puts `wanted` into `list`. The transition time changes only with the status; an equal condition stays untouched.
pub fn set(list: &mut Vec<Condition>, wanted: Wanted, generation: Option<i64>, now: Time) {
    let status = wanted.status.as_str();
    let fresh = Condition {
        last_transition_time: now,
        message: wanted.message,
        observed_generation: generation,
        reason: wanted.reason,
        status: status.to_owned(),
        type_: wanted.type_.to_owned(),
    };
    match list.iter_mut().find(|old| old.type_ == wanted.type_) {
        None => {
            list.push(fresh);
            list.sort_by(|a, b| rank(&a.type_).cmp(&rank(&b.type_)));
        }
        Some(old) => {
            let since =
                if old.status == status { old.last_transition_time.clone() } else { fresh.last_transition_time };
            *old = Condition { last_transition_time: since, ..fresh };
        }
    }
}

/// The condition of that type.
#[must_use]
pub fn get<'a>(list: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    list.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition of that type is there and `True`.
#[must_use]
pub fn is_true(list: &[Condition], type_: &str) -> bool {
    get(list, type_).is_some_and(|condition| condition.status == "True")
}

/// Cluster API's order: what matters most first, then by name, deletion and pause last.
fn rank(type_: &str) -> (u8, &str) {
    let group = match type_ {
        "Available" => 0,
        "Ready" => 1,
        "UpToDate" => 2,
        "Deleting" => 4,
        "Paused" => 5,
        _ => 3,
    };
    (group, type_)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn at(seconds: i64) -> Time {
        Time(Timestamp::from_second(seconds).unwrap())
    }

    #[test]
    fn time_moves_only_with_the_status() {
        let mut list = Vec::new();
        set(&mut list, wanted("Ready", false, "Waiting", "for the host"), Some(1), at(10));
        set(&mut list, wanted("Ready", false, "Waiting", "for the image"), Some(1), at(20));
        assert_eq!((list[0].message.as_str(), &list[0].last_transition_time), ("for the image", &at(10)));
        set(&mut list, wanted("Ready", true, "Ready", ""), Some(1), at(30));
        assert_eq!(list[0].last_transition_time, at(30));
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
    fn order_does_not_depend_on_history() {
        let mut list = Vec::new();
        for type_ in ["Paused", "NodeHealthy", "Deleting", "Ready", "BootstrapConfigReady", "Available"] {
            set(&mut list, wanted(type_, true, "R", ""), None, at(1));
        }
        let order: Vec<&str> = list.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(order, ["Available", "Ready", "BootstrapConfigReady", "NodeHealthy", "Deleting", "Paused"]);
    }
}
