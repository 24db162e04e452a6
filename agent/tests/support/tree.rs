//! What a run changed below a root, by path: kind, permissions, owner and content, and the difference between two of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// One changed thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `file`, `folder`, `link`, `gone` or `other`.
    pub(crate) kind: &'static str,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    /// Of a file its text, of a link its target.
    pub(crate) content: String,
}

pub(crate) type Tree = BTreeMap<String, Entry>;

/// Everything below an overlay's upper folder, other than what starts with one of `ignored`.
pub(crate) fn read(upper: &Path, ignored: &[&str]) -> Tree {
    let mut tree = Tree::new();
    walk(upper, upper, ignored, &mut tree);
    tree
}

fn walk(root: &Path, folder: &Path, ignored: &[&str], tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = format!("/{}", path.strip_prefix(root).unwrap().display());
        if ignored.iter().any(|start| name == *start || name.starts_with(&format!("{start}/"))) {
            continue;
        }
        let metadata = fs::symlink_metadata(&path).unwrap();
        let kind = metadata.file_type();
        let (kind, content) = if kind.is_dir() {
            walk(root, &path, ignored, tree);
            ("folder", String::new())
        } else if kind.is_symlink() {
            ("link", fs::read_link(&path).unwrap().display().to_string())
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap();
            let text = String::from_utf8(bytes).unwrap_or_else(|error| format!("{:?}", error.as_bytes()));
            ("file", text)
        } else if kind.is_char_device() && metadata.rdev() == 0 {
            ("gone", String::new())
        } else {
            ("other", String::new())
        };
        let entry = Entry { kind, mode: metadata.mode() & 0o7777, owner: (metadata.uid(), metadata.gid()), content };
        tree.insert(name, entry);
    }
}

/// Lines that say what differs, each starting with the path.
pub(crate) fn differences(ours: &Tree, theirs: &Tree) -> Vec<String> {
    let mut lines = Vec::new();
    let paths: std::collections::BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for path in paths {
        match (ours.get(path), theirs.get(path)) {
            (Some(_), None) => lines.push(format!("{path}: only ours")),
            (None, Some(_)) => lines.push(format!("{path}: only cloud-init's")),
            (Some(ours), Some(theirs)) if ours != theirs => {
                let about = |entry: &Entry| format!("{} {:o} {:?}", entry.kind, entry.mode, entry.owner);
                let what = if about(ours) == about(theirs) {
                    format!("content\n--- ours\n{}\n--- cloud-init's\n{}", ours.content, theirs.content)
                } else {
                    format!("{} / {}", about(ours), about(theirs))
                };
                lines.push(format!("{path}: {what}"));
            }
            _ => {}
        }
    }
    lines
}
