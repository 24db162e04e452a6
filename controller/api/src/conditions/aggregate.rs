//! One condition out of the same one of many objects.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::bullets::behind_colon;
use super::{Priority, Reasons, Wanted, get, wanted};
use crate::contract::plural;

/// Most messages that are shown, and most objects that are named for one.
const MOST: usize = 3;

/// How the same condition of many objects becomes one. Its polarity is that of the source.
#[derive(Clone, Copy, Default)]
pub struct Aggregate<'a> {
    /// Type of the objects' condition.
    pub source: &'a str,
    /// Type of the condition to be.
    pub target: &'static str,
    /// Both are well when `False`.
    pub negative: bool,
    /// Its reasons.
    pub reasons: Reasons,
}

/// One object that reports conditions.
#[derive(Debug, Clone, Copy)]
pub struct Reporter<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// It is a Machine of a control plane: these are shown first.
    pub control_plane: bool,
    /// Its conditions.
    pub conditions: &'a [Condition],
}

/// Who says the same.
struct Group<'a> {
    message: String,
    priority: Priority,
    control_plane: bool,
    names: Vec<&'a str>,
}

impl Aggregate<'_> {
    /// The condition to be; none if there are no objects.
    #[must_use]
    pub fn of(&self, objects: &[Reporter<'_>]) -> Option<Wanted> {
        let mut reports: Vec<_> = objects.iter().map(|object| self.report(object)).collect();
        // who has said it longest is named first among equals
        reports.sort_by_key(|(_, condition, _)| condition.as_ref().map(|condition| &condition.last_transition_time));
        let worst = reports.iter().map(|(priority, _, _)| *priority).min()?;
        let shown = |priority: Priority| (priority == Priority::Info) == (worst == Priority::Info);
        let mut kinds: BTreeMap<&str, Vec<Group<'_>>> = BTreeMap::new();
        let first: BTreeSet<&str> =
            objects.iter().filter(|object| object.control_plane).map(|object| object.name).collect();
        for (priority, condition, object) in reports.iter().filter(|(priority, _, _)| shown(*priority)) {
            let message = condition.as_ref().map_or_else(
                || format!("Condition {} not yet reported", self.source),
                |condition| condition.message.clone(),
            );
            if !(message.is_empty() && *priority == Priority::Info) {
                join(kinds.entry(object.kind).or_default(), message, *priority, object);
            }
        }
        let mut left = MOST;
        let lines: Vec<String> =
            kinds.into_iter().flat_map(|(kind, groups)| lines(kind, groups, &first, &mut left)).collect();
        Some(wanted(self.target, worst.status(self.negative), self.reasons.of(worst), lines.join("\n")))
    }

    fn report<'o>(&self, object: &'o Reporter<'o>) -> (Priority, Option<&'o Condition>, &'o Reporter<'o>) {
        let condition = get(object.conditions, self.source);
        let priority = condition.map_or(Priority::Unknown, |condition| Priority::of(condition, self.negative));
        (priority, condition, object)
    }
}

/// Adds one object to those who say the same; of their priorities the worst counts.
fn join<'a>(groups: &mut Vec<Group<'a>>, message: String, priority: Priority, object: &Reporter<'a>) {
    match groups.iter_mut().find(|group| group.message == message) {
        Some(group) => {
            group.priority = group.priority.min(priority);
            group.control_plane |= object.control_plane;
            group.names.push(object.name);
        }
        None => {
            let Reporter { control_plane, name, .. } = *object;
            groups.push(Group { message, priority, control_plane, names: vec![name] });
        }
    }
}

/// The messages of one kind's objects, as far as there is room; then how many objects are not shown.
fn lines(kind: &str, mut groups: Vec<Group<'_>>, first: &BTreeSet<&str>, left: &mut usize) -> Vec<String> {
    groups.sort_by_cached_key(|group| {
        (!group.control_plane, group.priority, Reverse(group.names.len()), group.names.join(","))
    });
    let mut lines = Vec::new();
    let mut others: BTreeMap<Priority, usize> = BTreeMap::new();
    for mut group in groups {
        if *left == 0 {
            *others.entry(group.priority).or_default() += group.names.len();
            continue;
        }
        *left -= 1;
        group.names.sort_by_key(|name| (!first.contains(name), *name));
        lines.push(format!("* {}:{}", named(kind, &group.names), behind_colon(&group.message)));
    }
    for (priority, count) in others {
        let what = match priority {
            Priority::Issue => "with other issues",
            Priority::Unknown => "with status unknown",
            Priority::Info => "with additional info",
        };
        let kind = if count == 1 { kind.to_owned() } else { plural(kind) };
        lines.push(format!("And {count} {kind} {what}"));
    }
    lines
}

fn named(kind: &str, names: &[&str]) -> String {
    match names {
        [only] => format!("{kind} {only}"),
        [a, b, c, rest @ ..] if !rest.is_empty() => {
            format!("{} {a}, {b}, {c}, ... ({} more)", plural(kind), rest.len())
        }
        few => format!("{} {}", plural(kind), few.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::conditions::Status;

    /// Kind, name, status and message; without a status there is no condition. `cp…` is of a control plane.
    type Said = (&'static str, &'static str, &'static str, &'static str);

    fn aggregate(said: &[Said], negative: bool) -> Option<Wanted> {
        let lists: Vec<Vec<Condition>> = said
            .iter()
            .map(|(_, _, status, message)| {
                let condition = Condition {
                    last_transition_time: Time(Timestamp::UNIX_EPOCH),
                    message: (*message).to_owned(),
                    observed_generation: None,
                    reason: "R".to_owned(),
                    status: (*status).to_owned(),
                    type_: "Ready".to_owned(),
                };
                if status.is_empty() { Vec::new() } else { vec![condition] }
            })
            .collect();
        let reporters: Vec<Reporter<'_>> = said
            .iter()
            .zip(&lists)
            .map(|((kind, name, _, _), conditions)| Reporter {
                kind,
                name,
                control_plane: name.starts_with("cp"),
                conditions,
            })
            .collect();
        Aggregate { source: "Ready", target: "MachinesReady", negative, ..Aggregate::default() }.of(&reporters)
    }

    #[test]
    fn equal_messages_are_one_and_the_rest_is_counted() {
        const M: &str = "Machine";
        let table: [(&[Said], Status, &str, &str); 9] = [
            (&[(M, "a", "True", ""), (M, "b", "True", "")], Status::True, "InfoReported", ""),
            (&[(M, "a", "True", "fine"), (M, "b", "True", "")], Status::True, "InfoReported", "* Machine a: fine"),
            (
                &[(M, "b", "False", "x"), (M, "a", "False", "x"), (M, "c", "True", "fine")],
                Status::False,
                "IssuesReported",
                "* Machines a, b: x",
            ),
            (
                &[
                    (M, "e", "False", "x"),
                    (M, "d", "False", "x"),
                    (M, "c", "False", "x"),
                    (M, "b", "False", "x"),
                    (M, "cp1", "False", "x"),
                ],
                Status::False,
                "IssuesReported",
                "* Machines cp1, b, c, ... (2 more): x",
            ),
            (
                &[(M, "a", "", ""), (M, "b", "Unknown", "y\nz")],
                Status::Unknown,
                "UnknownReported",
                "* Machine a: Condition Ready not yet reported\n* Machine b:\n  * y\n  * z",
            ),
            (
                &[(M, "a", "False", "x"), (M, "b", "False", "x"), (M, "c", "False", "y"), (M, "cp", "Unknown", "z")],
                Status::False,
                "IssuesReported",
                "* Machine cp: z\n* Machines a, b: x\n* Machine c: y",
            ),
            (
                &[
                    (M, "a", "False", "1"),
                    (M, "b", "False", "2"),
                    (M, "c", "False", "3"),
                    (M, "d", "False", "4"),
                    (M, "e", "Unknown", "5"),
                    (M, "f", "Unknown", "6"),
                ],
                Status::False,
                "IssuesReported",
                "* Machine a: 1\n* Machine b: 2\n* Machine c: 3\nAnd 1 Machine with other issues\n\
                 And 2 Machines with status unknown",
            ),
            (
                &[(M, "a", "False", "same"), (M, "b", "Unknown", "same"), (M, "c", "Unknown", "other")],
                Status::False,
                "IssuesReported",
                "* Machines a, b: same\n* Machine c: other",
            ),
            (
                &[(M, "a", "False", "x"), ("MachinePool", "p", "False", "x"), ("MachineDeployment", "d", "False", "x")],
                Status::False,
                "IssuesReported",
                "* Machine a: x\n* MachineDeployment d: x\n* MachinePool p: x",
            ),
        ];
        for (said, status, reason, message) in table {
            let shown = aggregate(said, false).unwrap();
            assert_eq!((shown.status, shown.reason.as_str(), shown.message.as_str()), (status, reason, message));
        }
    }

    #[test]
    fn polarity_is_the_sources() {
        let said = |status| [("MachineSet", "a", status, "scaling"), ("MachineSet", "b", "False", "")];
        for (status, merged) in [("True", Status::True), ("False", Status::False), ("Unknown", Status::Unknown)] {
            assert_eq!(aggregate(&said(status), true).unwrap().status, merged);
        }
        assert!(aggregate(&[], true).is_none());
    }
}
