//! Files as the store uses them: read, write, grow, flush. Behind a trait, so that tests can put a disk beneath the
//! store that is full, that fails, or that loses in a power cut what was not flushed.

use std::fmt;
use std::fs::{self, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One open file.
pub(super) trait File: fmt::Debug + Send + Sync + 'static {
    fn len(&self) -> io::Result<u64>;
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Returns once all that was written survives a power cut.
    fn sync(&self) -> io::Result<()>;
}

/// A place for files.
pub(super) trait Disk: Send + Sync + 'static {
    /// Opens or creates a file, locked against other processes.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>>;
}

/// The error of a file that another process has locked.
pub(super) const LOCKED: io::ErrorKind = io::ErrorKind::ResourceBusy;

/// The disk of the system.
pub(super) struct SystemDisk;

impl Disk for SystemDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        // For its owner only, whatever the umask and the directory allow: it holds every Secret.
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LOCKED.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let metadata = file.metadata()?;
        // One that an earlier release, or a restore from a backup, left open to others.
        if metadata.permissions().mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        if metadata.len() == 0 {
            // The name of a new file must survive a power cut, too.
            let dir =
                path.parent().filter(|dir| !dir.as_os_str().is_empty()).map_or(PathBuf::from("."), Path::to_owned);
            fs::File::open(dir)?.sync_all()?;
        }
        Ok(Arc::new(file))
    }
}

impl File for fs::File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(out, offset)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_all_at(data, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Self::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A file as redb wants it. Its lock is held by the file itself.
#[derive(Debug)]
pub(super) struct Backend(pub(super) Arc<dyn File>);

impl redb::StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        // After a failed flush nobody can say what reached the disk, also when the reason is want of space: it must not
        // pass for a write that could not be made and may be tried again.
        self.0.sync().map_err(|error| io::Error::other(format!("cannot flush it to the disk: {error}")))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_its_owners_only_and_one_process_s() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        for before in [None, Some(0o644), Some(0o600)] {
            if let Some(mode) = before {
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            }
            let held = SystemDisk.open(&path).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{before:?}");
            assert_eq!(SystemDisk.open(&path).unwrap_err().kind(), LOCKED);
            drop(held);
        }
    }
}
