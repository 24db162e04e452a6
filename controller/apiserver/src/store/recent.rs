//! The trees of the objects written last: whoever writes an object again, or reads it, need not read its bytes. Bounded
//! by what the bytes would be, since a tree takes several times as much.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use super::{Change, ChangeKind};

/// JSON whose trees are held at most.
const MOST_BYTES: usize = 512 * 1024;

#[derive(Default)]
pub(super) struct Recent {
    /// Each with the length of its JSON.
    trees: VecDeque<(Arc<Value>, usize)>,
    bytes: usize,
}

impl Recent {
    /// Holds what these changes wrote, and lets go of what was written long ago.
    pub(super) fn hold(&mut self, changes: &[Arc<Change>]) {
        for change in changes.iter().filter(|change| change.kind != ChangeKind::Deleted) {
            let len = change.record.json_len();
            self.bytes = self.bytes.saturating_add(len);
            self.trees.push_back((Arc::clone(&change.object), len));
        }
        while self.bytes > MOST_BYTES
            && let Some((_, len)) = self.trees.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::RwLock;

    use serde_json::json;

    use super::super::{Index, Key, Txn};
    use super::*;

    #[test]
    fn holds_the_newest_up_to_the_bound() {
        let index = RwLock::new(Index::new(0));
        let mut recent = Recent::default();
        let mut last = Vec::new();
        for n in 0..20 {
            let mut txn = Txn::new(&index);
            let key = Key { resource: "g/things".into(), namespace: String::new(), name: n.to_string() };
            let object = txn.put(key, json!({"metadata": {"name": n.to_string()}, "data": "x".repeat(MOST_BYTES / 8)}));
            last.push(Arc::downgrade(&object));
            recent.hold(&txn.into_changes());
        }
        let held: Vec<bool> = last.iter().map(|tree| tree.upgrade().is_some()).collect();
        assert_eq!(held.iter().filter(|held| **held).count(), 7, "{held:?}");
        assert!(held.ends_with(&[true; 7]) && recent.bytes <= MOST_BYTES);
    }
}
