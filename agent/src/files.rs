//! Reading the kernel's little text files, where "not there" and "empty" mean the same: unknown.

use std::fs;
use std::path::{Path, PathBuf};

/// The trimmed content, `None` when the file is absent, unreadable, not text or blank.
pub(crate) fn line(path: impl AsRef<Path>) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// The content as a number.
pub(crate) fn number<T: std::str::FromStr>(path: impl AsRef<Path>) -> Option<T> {
    line(path)?.parse().ok()
}

/// What is in a folder, sorted by name; nothing when it is not there.
pub(crate) fn entries(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The last part of a path as text.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
