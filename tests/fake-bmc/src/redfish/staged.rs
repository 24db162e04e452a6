//! Writes that take hold when the machine starts next. Nothing waits for the start: each remembers how many starts there
//! had been, and is settled when somebody looks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::merge;

#[derive(Debug)]
struct Staged {
    patch: Value,
    boots: u64,
}

/// By the path of the resource that will change.
#[derive(Debug, Default)]
pub(super) struct Stage {
    staged: BTreeMap<String, Staged>,
}

impl Stage {
    /// Adds to what the next start changes; `boots` is how many there have been.
    pub(super) fn add(&mut self, path: &str, patch: &Value, boots: u64) {
        let staged =
            self.staged.entry(path.to_owned()).or_insert_with(|| Staged { patch: serde_json::json!({}), boots });
        merge(&mut staged.patch, patch);
        staged.boots = boots;
    }

    /// What waits for the next start.
    pub(super) fn pending(&self, path: &str) -> Option<&Value> {
        self.staged.get(path).map(|staged| &staged.patch)
    }

    /// Takes out what a start since has made true.
    pub(super) fn settle(&mut self, path: &str, boots: u64) -> Option<Value> {
        let due = self.staged.get(path).is_some_and(|staged| staged.boots < boots);
        due.then(|| self.staged.remove(path)).flatten().map(|staged| staged.patch)
    }
}
