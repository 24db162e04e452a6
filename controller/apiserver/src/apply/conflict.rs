//! Fields that an apply would take from other managers, and the words in which upstream says so.

use std::collections::BTreeMap;

use super::field_set::FieldSet;
use super::managed::{Manager, Operation, Owned};
use super::path_element::shown;
use crate::status::{ApiError, Cause};

/// One manager in the way, and the fields it owns. The time is that of its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflicts(pub(crate) BTreeMap<Manager, Owned>);

impl Conflicts {
    /// All fields in conflict.
    pub(crate) fn fields(&self) -> FieldSet {
        self.0.values().fold(FieldSet::default(), |all, owned| all.union(&owned.fields))
    }

    /// The conflicts that are left when these fields are allowed.
    pub(crate) fn except(self, allowed: &FieldSet) -> Self {
        let left = self.0.into_iter().map(|(manager, owned)| {
            let fields = owned.fields.difference(allowed);
            (manager, Owned { fields, ..owned })
        });
        Self(left.filter(|(_, owned)| !owned.fields.is_empty()).collect())
    }

    /// The answer to the client.
    pub(crate) fn error(&self) -> ApiError {
        let named: Vec<(String, String)> = self
            .0
            .iter()
            .flat_map(|(manager, owned)| {
                let name = name(manager, owned);
                owned.fields.paths().into_iter().map(move |path| (name.clone(), shown(&path)))
            })
            .collect();
        let message = match named.as_slice() {
            [(manager, path)] => format!("Apply failed with 1 conflict: conflict with {manager}: {path}"),
            many => {
                let mut lines = Vec::new();
                let mut last = None;
                for (manager, path) in many {
                    if last != Some(manager) {
                        lines.push(format!("conflicts with {manager}:"));
                        last = Some(manager);
                    }
                    lines.push(format!("- {path}"));
                }
                format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
            }
        };
        let causes = named.iter().map(|(manager, path)| Cause::manager_conflict(path, manager)).collect();
        ApiError::apply_conflict(&message, causes)
    }
}

/// A manager as conflicts name it.
fn name(manager: &Manager, owned: &Owned) -> String {
    let mut text = format!("{:?}", manager.name);
    if !manager.subresource.is_empty() {
        text.push_str(&format!(" with subresource {:?}", manager.subresource));
    }
    if manager.operation == Operation::Update {
        text.push_str(&format!(" using {}", owned.api_version));
    }
    text
}
