//! One process per state directory.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
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
    #[error("the state directory {} is one that all users share; choose one of its own with --state", .path.display())]
    Shared { path: PathBuf },
    #[error("the state directory {} is in use by another process; end that one, or choose another with --state", .path.display())]
    InUse { path: PathBuf },
}

/// Makes the directory if it is missing and takes it, for its owner only: keys and the hosts' credentials are in it.
pub(crate) fn take(path: &Path) -> Result<StateLock, StateError> {
    let not_writable = |source| StateError::NotWritable { path: path.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(not_writable)?;
    close_to_others(path)?;
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

/// A directory that was there before may be open to others.
fn close_to_others(path: &Path) -> Result<(), StateError> {
    /// Set on directories such as `/tmp`, which must stay as they are.
    const STICKY: u32 = 0o1000;
    let not_writable = |source| StateError::NotWritable { path: path.to_owned(), source };
    let mode = fs::metadata(path).map_err(not_writable)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    if mode & STICKY != 0 {
        return Err(StateError::Shared { path: path.to_owned() });
    }
    fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(not_writable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_closed_to_others_unless_it_is_everybodys() {
        let dir = tempfile::tempdir().unwrap();
        let mode = || fs::metadata(dir.path()).unwrap().permissions().mode() & 0o7777;
        for (before, taken, after) in
            [(0o700, true, 0o700), (0o755, true, 0o700), (0o770, true, 0o700), (0o1777, false, 0o1777)]
        {
            fs::set_permissions(dir.path(), Permissions::from_mode(before)).unwrap();
            assert_eq!((take(dir.path()).is_ok(), mode()), (taken, after), "{before:o}");
        }
    }

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
