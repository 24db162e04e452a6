//! One condition out of several of the same object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

use super::bullets::behind_colon;
use super::{NOT_YET_REPORTED, Priority, Reasons, Status, Wanted, get, wanted};

/// How the conditions of one object become one more of them, which is always well when `True`.
#[derive(Clone, Copy, Default)]
pub struct Summary<'a> {
    /// Type of the condition to be.
    pub target: &'static str,
    /// Types of those it is made from, what matters most first.
    pub types: &'a [&'a str],
    /// Those among them that are well when `False`.
    pub negative: &'a [&'a str],
    /// Those among them that may be missing; every other one is unknown when it is.
    pub optional: &'a [&'a str],
    /// Looked at in place of the object's of the same type.
    pub overrides: &'a [Condition],
    /// Its reasons.
    pub reasons: Reasons,
    /// How much a condition counts, if that is not told by its status alone.
    pub priority: Option<fn(&Condition) -> Option<Priority>>,
    /// Last change of the message's bullets.
    pub transform: Option<fn(Vec<String>) -> Vec<String>>,
}

impl Summary<'_> {
    /// The condition to be; none if there is nothing to make it from.
    #[must_use]
    pub fn of(&self, list: &[Condition]) -> Option<Wanted> {
        let parts: Vec<(Priority, Condition)> = self.types.iter().filter_map(|type_| self.part(list, type_)).collect();
        let worst = parts.iter().map(|(priority, _)| *priority).min()?;
        let mut bullets: Vec<String> = parts
            .iter()
            .filter(|(priority, condition)| match priority {
                Priority::Info => worst == Priority::Info && !condition.message.is_empty(),
                Priority::Issue | Priority::Unknown => true,
            })
            .map(|(_, condition)| bullet(condition))
            .collect();
        if let Some(transform) = self.transform {
            bullets = transform(bullets);
        }
        Some(wanted(self.target, worst.status(false), self.reasons.of(worst), bullets.join("\n")))
    }

    fn part(&self, list: &[Condition], type_: &str) -> Option<(Priority, Condition)> {
        let there = get(list, type_).map(|own| get(self.overrides, type_).unwrap_or(own).clone());
        let condition = match there {
            Some(condition) => condition,
            None if self.optional.contains(&type_) => return None,
            None => missing(type_),
        };
        let by_status = || Priority::of(&condition, self.negative.contains(&type_));
        let priority = self.priority.and_then(|priority| priority(&condition)).unwrap_or_else(by_status);
        Some((priority, condition))
    }
}

fn missing(type_: &str) -> Condition {
    Condition {
        message: "Condition not yet reported".to_owned(),
        reason: NOT_YET_REPORTED.to_owned(),
        status: Status::Unknown.as_str().to_owned(),
        type_: type_.to_owned(),
        last_transition_time: Time(Timestamp::default()),
        observed_generation: None,
    }
}

fn bullet(condition: &Condition) -> String {
    if condition.message.is_empty() {
        format!("* {}: {}", condition.type_, condition.reason)
    } else {
        format!("* {}:{}", condition.type_, behind_colon(&condition.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(conditions: &[(&str, &str, &str, &str)]) -> Vec<Condition> {
        let condition = |(type_, status, reason, message): &(&str, &str, &str, &str)| Condition {
            status: (*status).to_owned(),
            reason: (*reason).to_owned(),
            message: (*message).to_owned(),
            ..missing(type_)
        };
        conditions.iter().map(condition).collect()
    }

    const OF: Summary<'static> = Summary {
        target: "Available",
        types: &["B", "A", "Deleting", "Gate"],
        negative: &["Deleting"],
        optional: &["Gate"],
        overrides: &[],
        reasons: Reasons { issue: "NotAvailable", unknown: "AvailableUnknown", info: "Available" },
        priority: None,
        transform: None,
    };

    #[test]
    fn issues_then_the_unknown_then_what_is_well() {
        let well = [("A", "True", "Ok", ""), ("B", "True", "Ok", ""), ("Deleting", "False", "NotDeleting", "")];
        let with = |changes: &[(&'static str, &'static str, &'static str, &'static str)]| {
            let kept = well.iter().filter(|old| changes.iter().all(|change| change.0 != old.0));
            list(&kept.chain(changes).copied().collect::<Vec<_>>())
        };
        for (conditions, status, reason, message) in [
            (with(&[]), Status::True, "Available", ""),
            (with(&[("A", "True", "Ok", "all of it")]), Status::True, "Available", "* A: all of it"),
            (with(&[("Deleting", "True", "Draining", "")]), Status::False, "NotAvailable", "* Deleting: Draining"),
            (
                with(&[("A", "Unknown", "Lost", "no answer"), ("B", "True", "Ok", "not shown")]),
                Status::Unknown,
                "AvailableUnknown",
                "* A: no answer",
            ),
            (
                with(&[("A", "False", "Bad", "a\nb"), ("B", "Unknown", "Lost", "")]),
                Status::False,
                "NotAvailable",
                "* B: Lost\n* A:\n  * a\n  * b",
            ),
            (with(&[("Gate", "False", "Bad", "* C: c")]), Status::False, "NotAvailable", "* Gate:\n  * C: c"),
            (
                list(&[("A", "True", "Ok", "")]),
                Status::Unknown,
                "AvailableUnknown",
                "* B: Condition not yet reported\n* Deleting: Condition not yet reported",
            ),
            (with(&[("A", "Maybe", "Odd", "m")]), Status::Unknown, "AvailableUnknown", "* A: m"),
        ] {
            let shown = OF.of(&conditions).unwrap();
            assert_eq!(
                (shown.type_, shown.status, shown.reason.as_str(), shown.message.as_str()),
                ("Available", status, reason, message)
            );
        }
    }

    #[test]
    fn a_rule_of_ones_own_an_override_and_a_last_change() {
        let conditions = list(&[("A", "False", "Upgrading", "moving"), ("B", "False", "Bad", "broken")]);
        let overrides = list(&[("B", "False", "Bad", "broken since noon")]);
        let summary = Summary {
            types: &["A", "B"],
            overrides: &overrides,
            priority: Some(|condition| (condition.reason == "Upgrading").then_some(Priority::Info)),
            transform: Some(|bullets| bullets.into_iter().map(|bullet| bullet + "!").collect()),
            ..OF
        };
        assert_eq!(summary.of(&conditions).unwrap().message, "* B: broken since noon!");
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert!(Summary { types: &[], ..OF }.of(&[]).is_none());
        assert!(Summary { types: &["Gate"], ..OF }.of(&[]).is_none());
        assert_eq!(Summary { reasons: Reasons::default(), ..OF }.of(&[]).unwrap().reason, "UnknownReported");
    }
}
