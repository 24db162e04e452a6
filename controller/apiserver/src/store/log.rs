//! The durable half: one redb file with the objects as JSON bytes and the version counter. Only the writer thread
//! touches it after the start. Everything here is rebuilt into the [`Index`] when the file is opened.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::Value;
use thiserror::Error;

use super::{Change, ChangeKind, Index, Key};

const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const VERSION: &str = "resource-version";
const FORMAT: &str = "format";
/// Written into every file; a file with a higher number was written by a later release.
const FORMAT_NOW: u64 = 1;
/// Between the parts of a key. No name, namespace or resource can contain it.
const SEPARATOR: char = '\u{0}';

/// Why the store cannot be opened, or cannot take a write.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the file.
    #[error("{} is in use by another process; stop it, or choose another data directory", path.display())]
    InUse {
        /// The store's file.
        path: PathBuf,
    },
    /// The file is damaged or unreadable.
    #[error("cannot open {}: {source}; restore it from a backup, or move it away to start empty", path.display())]
    Open {
        /// The store's file.
        path: PathBuf,
        /// What the storage engine said.
        source: redb::Error,
    },
    /// The file's format is newer than this program.
    #[error("{} has format {found}, this program knows up to {FORMAT_NOW}; run the newer program", path.display())]
    NewerFormat {
        /// The store's file.
        path: PathBuf,
        /// The format number in the file.
        found: u64,
    },
    /// A record is not what this program writes.
    #[error("{} holds a damaged record under {key:?}; restore it from a backup", path.display())]
    Record {
        /// The store's file.
        path: PathBuf,
        /// The record's key.
        key: String,
    },
    /// The writer thread could not be started.
    #[error("cannot start the store's writer thread: {0}")]
    Thread(io::Error),
    /// A commit failed; none of its writes happened.
    #[error("cannot commit to the store: {0}")]
    Commit(redb::Error),
    /// As `Commit`, for the other writes of the same batch.
    #[error("{0}")]
    Rejected(String),
    /// The server is shutting down.
    #[error("the store is closed")]
    Closed,
}

pub(super) struct Log {
    db: Database,
    path: PathBuf,
}

impl Log {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let open = |source: redb::Error| StoreError::Open { path: path.to_owned(), source };
        make_private(path).map_err(|error| open(error.into()))?;
        let db = Database::create(path).map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => StoreError::InUse { path: path.to_owned() },
            other => open(other.into()),
        })?;
        let log = Self { db, path: path.to_owned() };
        let format = log.prepare().map_err(|source| StoreError::Open { path: log.path.clone(), source })?;
        if format > FORMAT_NOW {
            return Err(StoreError::NewerFormat { path: log.path, found: format });
        }
        Ok(log)
    }

    /// Creates the tables of a new file; answers the file's format.
    fn prepare(&self) -> Result<u64, redb::Error> {
        let txn = self.db.begin_write()?;
        let format = {
            let mut meta = txn.open_table(META)?;
            let found = meta.get(FORMAT)?.map(|guard| guard.value());
            match found {
                Some(format) => format,
                None => {
                    txn.open_table(OBJECTS)?;
                    meta.insert(FORMAT, FORMAT_NOW)?;
                    FORMAT_NOW
                }
            }
        };
        txn.commit()?;
        Ok(format)
    }

    /// Reads the whole file into a new index.
    pub(super) fn load(&self) -> Result<Index, StoreError> {
        let failed = |source: redb::Error| StoreError::Open { path: self.path.clone(), source };
        let txn = self.db.begin_read().map_err(|e| failed(e.into()))?;
        let meta = txn.open_table(META).map_err(|e| failed(e.into()))?;
        let version = meta.get(VERSION).map_err(|e| failed(e.into()))?.map(|guard| guard.value()).unwrap_or_default();
        let mut index = Index::new(version);
        let objects = txn.open_table(OBJECTS).map_err(|e| failed(e.into()))?;
        for record in objects.iter().map_err(|e| failed(e.into()))? {
            let (key, bytes) = record.map_err(|e| failed(e.into()))?;
            let damaged =
                || StoreError::Record { path: self.path.clone(), key: key.value().escape_debug().to_string() };
            let place = decode_key(key.value()).ok_or_else(damaged)?;
            let object: Value = serde_json::from_slice(bytes.value()).map_err(|_| damaged())?;
            index.restore(place, object);
        }
        Ok(index)
    }

    /// Makes `changes` durable: on return they survive a power cut.
    pub(super) fn commit(&self, changes: &[Arc<Change>]) -> Result<(), StoreError> {
        self.try_commit(changes).map_err(StoreError::Commit)
    }

    fn try_commit(&self, changes: &[Arc<Change>]) -> Result<(), redb::Error> {
        let txn = self.db.begin_write()?;
        {
            let mut objects = txn.open_table(OBJECTS)?;
            for change in changes {
                let key = encode_key(&change.key);
                if change.kind == ChangeKind::Deleted {
                    objects.remove(key.as_str())?;
                } else {
                    objects.insert(key.as_str(), change.object.to_string().as_bytes())?;
                }
            }
            if let Some(last) = changes.last() {
                txn.open_table(META)?.insert(VERSION, last.version)?;
            }
        }
        // redb's default durability: fsync before this returns.
        txn.commit()?;
        Ok(())
    }
}

/// Sees to it that the file is there, for its owner only, whatever the umask and the directory allow: it holds every Secret.
fn make_private(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    // One that an earlier release, or a restore from a backup, left open to others.
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(())
}

fn encode_key(key: &Key) -> String {
    format!("{}{SEPARATOR}{}{SEPARATOR}{}", key.resource, key.namespace, key.name)
}

fn decode_key(text: &str) -> Option<Key> {
    let mut parts = text.split(SEPARATOR);
    let key = Key { resource: parts.next()?.into(), namespace: parts.next()?.into(), name: parts.next()?.into() };
    parts.next().is_none().then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_its_owners_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        for before in [None, Some(0o644), Some(0o600)] {
            if let Some(mode) = before {
                std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            }
            drop(Log::open(&path).unwrap());
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{before:?}");
        }
    }
}
