//! Field ownership and server-side apply: which manager set which field, what an apply changes, takes and leaves, and
//! who is in its way. Follows upstream's structured merge: objects are compared and merged by the types that their
//! schema gives them. Knows objects as JSON and schemas; knows nothing of requests, storage or kinds.

mod applying;
mod check;
mod compare;
mod conflict;
mod field_set;
mod fields_of;
mod last_applied;
mod managed;
mod merge;
mod path_element;
mod reconcile;
mod remove;
mod scale;
#[cfg(test)]
mod tests;
mod tracking;
mod types;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub(crate) use applying::{ApplyError, apply, describe, shown_kind};
pub(crate) use field_set::FieldSet;
pub(crate) use managed::{Managed, same_but_for_times, take as take_managed_fields};
pub(crate) use path_element::PathElement;
pub(crate) use scale::{from_scale, to_scale};
pub(crate) use tracking::track;
pub(crate) use types::metadata_schema;

use crate::schema::Schema;
use path_element::shown;
use types::Type;

/// An object in one version, with the schema of that version.
pub(crate) struct Versioned<'a> {
    pub(crate) object: Cow<'a, Value>,
    pub(crate) schema: Arc<Schema>,
}

impl Versioned<'_> {
    fn kind(&self) -> Type<'_> {
        Type::Object(&self.schema)
    }
}

/// Turns objects into other versions of their kind.
pub(crate) trait Versions {
    /// The object in `api_version`; `None` when that version is not served (any more).
    fn convert<'a>(&self, object: &'a Value, api_version: &str) -> Option<Versioned<'a>>;

    /// The schema of `api_version`; `None` when that version is not served (any more).
    fn schema(&self, api_version: &str) -> Option<Arc<Schema>>;
}

/// Who writes, through which path, and which fields that path never changes.
pub(crate) struct Writer<'a> {
    /// The field manager's name.
    pub(crate) manager: &'a str,
    /// The version that the request speaks.
    pub(crate) api_version: &'a str,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Fields that this path resets: nobody comes to own them through it.
    pub(crate) reset: FieldSet,
    /// What an object of the kind is before anything is set in it.
    pub(crate) nothing: Value,
    /// The kind comes from a definition.
    pub(crate) is_custom: bool,
    pub(crate) versions: &'a dyn Versions,
}

impl Writer<'_> {
    /// The object in the version of the request.
    fn versioned<'v>(&self, object: &'v Value) -> Result<Versioned<'v>, TypeError> {
        self.versions
            .convert(object, self.api_version)
            .ok_or_else(|| TypeError::new(&[], format!("no corresponding type for {}", self.api_version)))
    }
}

/// Why an object cannot be merged: problems by path, in upstream's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TypeError(Vec<(String, String)>);

impl TypeError {
    fn new(path: &[PathElement], problem: impl Into<String>) -> Self {
        Self(vec![(shown(path), problem.into())])
    }

    fn at_item(path: &[PathElement], at: usize, problem: &str) -> Self {
        Self::new(path, format!("element {at}: {problem}"))
    }

    fn push(&mut self, path: &[PathElement], problem: impl Into<String>) {
        self.0.push((shown(path), problem.into()));
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |(path, problem): &(String, String)| {
            if path.is_empty() { problem.clone() } else { format!("{path}: {problem}") }
        };
        match self.0.as_slice() {
            [only] => f.write_str(&line(only)),
            many => {
                let lines: Vec<String> = many.iter().map(|error| format!("  {}", line(error))).collect();
                write!(f, "errors:\n{}", lines.join("\n"))
            }
        }
    }
}

impl std::error::Error for TypeError {}
