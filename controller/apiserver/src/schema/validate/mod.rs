//! Checking an object against its schema: the same faults, in the words and the order of a stock API server (where that
//! has an order: among the fields of one object it has none, here it is that of the alphabet).
//!
//! Schema first, then embedded objects, then the keys of lists, then CEL rules, and these only when nothing found
//! before leaves them without sense.

mod embedded;
mod lists;
mod node;
mod scalar;
mod unchanged;

use serde_json::Value;

use super::path::Path;
use super::{Schema, rules};
use crate::status::Cause;
use node::Run;
pub(crate) use unchanged::{counterpart, same};

/// Faults reported at most: a bad list of a million items must not make an answer of a million lines.
const MOST_CAUSES: usize = 500;

/// What of an object is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// All of it.
    Whole,
    /// Only `status`, through its own path.
    Status,
}

/// Adds to `causes` every way in which an object breaks its schema, up to a limit. Faults of `old`, the object that
/// this one replaces, are tolerated where nothing changed.
pub(crate) fn validate(
    schema: &Schema,
    object: &Value,
    old: Option<&Value>,
    subject: Subject,
    causes: &mut Vec<Cause>,
) {
    match subject {
        Subject::Whole => check(schema, object, old, "", causes),
        Subject::Status => {
            if let (Some(schema), Some(status)) = (schema.properties.get("status"), object.get("status")) {
                check(schema, status, old.and_then(|old| old.get("status")), "status", causes);
            }
        }
    }
    if subject == Subject::Whole && schema.inside.embedded {
        embedded::check(schema, object, &Path::root(""), causes);
    }
    if schema.inside.keyed {
        check_lists(schema, object, old, causes);
    }
    if schema.inside.rules {
        if causes.iter().any(leaves_rules_without_sense) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            causes.push(Cause::invalid("<nil>", &Value::Null, detail));
        } else {
            rules::check(schema, object, old, "", causes);
        }
    }
    causes.truncate(MOST_CAUSES);
}

fn leaves_rules_without_sense(cause: &Cause) -> bool {
    const BLOCKING: &[&str] = &[
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    ];
    BLOCKING.contains(&cause.reason())
}

fn check_lists(schema: &Schema, object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let mut found = Vec::new();
    lists::check(schema, object, &Path::root(""), &mut found);
    let was_faulty = |old: &Value| {
        let mut before = Vec::new();
        lists::check(schema, old, &Path::root(""), &mut before);
        !before.is_empty()
    };
    if !found.is_empty() && !old.is_some_and(was_faulty) {
        causes.append(&mut found);
    }
}

/// Schema validation alone. `prefix` is where the value is, for the fields named in causes; their texts name it
/// relative to the value, as upstream.
pub(crate) fn check(schema: &Schema, value: &Value, old: Option<&Value>, prefix: &str, causes: &mut Vec<Cause>) {
    let mut run = Run::new(prefix, MOST_CAUSES);
    run.node(schema, value, old, &Path::root(""));
    causes.append(&mut run.into_causes());
}

/// What keeps an object from being read: an embedded object whose own fields have the wrong type.
pub(crate) fn unreadable(schema: &Schema, object: &Value) -> Option<String> {
    embedded::unreadable(schema, object, &Path::root(""))
}

#[cfg(test)]
mod tests;
