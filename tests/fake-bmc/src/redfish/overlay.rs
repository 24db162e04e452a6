//! What was written to one host, over the tree of its model.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::merge;
use super::tree::Tree;

/// Properties by path.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    patches: BTreeMap<String, Value>,
}

impl Overlay {
    /// A body as it stands.
    pub(super) fn read(&self, tree: &Tree, path: &str) -> Option<Value> {
        let mut body = tree.get(path)?.clone();
        if let Some(patch) = self.patches.get(path) {
            merge(&mut body, patch);
        }
        Some(body)
    }

    /// Writes properties.
    pub(super) fn patch(&mut self, path: &str, patch: &Value) {
        let held = self.patches.entry(path.to_owned()).or_insert_with(|| Value::Object(serde_json::Map::new()));
        merge(held, patch);
    }
}
