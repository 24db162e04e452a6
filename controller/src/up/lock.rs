//! One process per state directory.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Held for as long as the state directory is ours.
#[derive(Debug)]
pub(crate) struct StateLock {
    _file: File,
}

/// Why it is not ours.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    #[error("cannot write to the state directory {}: {source}; choose another with --state", .path.display())]
    NotWritable { path: PathBuf, source: io::Error },
    #[error("the state directory {} is in use by another process; end that one, or choose another with --state", .path.display())]
    InUse { path: PathBuf },
}

/// Makes the directory if it is missing, for its owner only, and takes it.
pub(crate) fn take(path: &Path) -> Result<StateLock, StateError> {
    let not_writable = |source| StateError::NotWritable { path: path.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(not_writable)?;
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path.join("lock"))
        .map_err(not_writable)?;
    match file.try_lock() {
        Ok(()) => Ok(StateLock { _file: file }),
        Err(TryLockError::WouldBlock) => Err(StateError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(not_writable(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_taken_once_and_free_again_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/state");
        let first = take(&path).unwrap();
        assert!(matches!(take(&path), Err(StateError::InUse { .. })));
        drop(first);
        take(&path).unwrap();
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(take(&file.path().join("state")), Err(StateError::NotWritable { .. })));
    }
}
