//! The redb file: all objects up to a version, brought up to date from the journal now and then. Everything in it is
//! read once, when the store is opened.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::disk::{Backend, Disk, File, LOCKED};
use super::journal::Written;
use super::record::Record;
use super::{Index, Key, StoreError};

const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const VERSION: &str = "resource-version";
const FORMAT: &str = "format";
/// Written into every file; a file with a higher number was written by a later release. 1: JSON alone, no journal.
const FORMAT_NOW: u64 = 2;
/// Pages that redb keeps in memory, in bytes: all reads are served from the index.
const CACHE: usize = 4 * 1024 * 1024;

/// The open file. Between a failure and the next use it is closed: redb does not go on after one.
pub(super) struct Base {
    file: Arc<dyn File>,
    db: Option<Database>,
    path: PathBuf,
}

impl Base {
    /// Opens or creates the file; its pages' checksums are verified. `was_used` answers whether a store was ever opened
    /// on it.
    pub(super) fn open(
        disk: &dyn Disk,
        path: &Path,
        was_used: impl FnOnce() -> io::Result<bool>,
    ) -> Result<Self, StoreError> {
        let file = disk.open(path).map_err(|error| match error.kind() {
            LOCKED => StoreError::InUse { path: path.to_owned() },
            _ => StoreError::Open { path: path.to_owned(), source: error.into() },
        })?;
        // redb writes its title last: without one, the making of the file was cut short. It is begun again, unless there
        // are signs that the file was whole once.
        let unfinished = || Ok::<bool, io::Error>(is_untitled(&*file)? && !was_used()?);
        let begun_anew = unfinished().and_then(|unfinished| if unfinished { file.set_len(0) } else { Ok(()) });
        begun_anew.map_err(|error| StoreError::Open { path: path.to_owned(), source: error.into() })?;
        let mut base = Self { file, db: None, path: path.to_owned() };
        let format = base.prepare()?;
        if format > FORMAT_NOW {
            return Err(StoreError::NewerFormat { path: base.path, found: format, known: FORMAT_NOW });
        }
        Ok(base)
    }

    fn failed(&self, source: impl Into<redb::Error>) -> StoreError {
        StoreError::Open { path: self.path.clone(), source: source.into() }
    }

    fn database(&mut self, check: bool) -> Result<&Database, StoreError> {
        if self.db.is_none() {
            let backend = Backend(Arc::clone(&self.file));
            let open = || {
                let mut builder = Builder::new();
                builder.set_cache_size(CACHE).set_check_integrity_on_open(check);
                builder.create_with_backend(backend)
            };
            let opened = guarded(open).map_err(|e| self.failed(e))?.map_err(|e| self.failed(e))?;
            self.db = Some(opened);
        }
        self.db.as_ref().ok_or(StoreError::Closed)
    }

    /// Creates the tables of a new file; answers the file's format.
    fn prepare(&mut self) -> Result<u64, StoreError> {
        let path = self.path.clone();
        let db = self.database(true)?;
        let prepare = || {
            let txn = db.begin_write()?;
            let format = {
                let mut meta = txn.open_table(META)?;
                let found = meta.get(FORMAT)?.map(|guard| guard.value());
                if found.is_none_or(|found| found < FORMAT_NOW) {
                    txn.open_table(OBJECTS)?;
                    meta.insert(FORMAT, FORMAT_NOW)?;
                }
                found
            };
            if format.is_some_and(|format| format >= FORMAT_NOW) {
                txn.abort()?
            } else {
                txn.commit()?
            }
            Ok::<u64, redb::Error>(format.unwrap_or(FORMAT_NOW))
        };
        guarded(prepare).and_then(|prepared| prepared).map_err(|source| StoreError::Open { path, source })
    }

    /// Reads the whole file into a new index.
    pub(super) fn load(&mut self) -> Result<Index, StoreError> {
        let path = self.path.clone();
        let db = self.database(false)?;
        let loaded = guarded(|| load(db, &path));
        loaded.map_err(|source| StoreError::Open { path: path.clone(), source })?
    }

    /// Writes objects and the version that the file then has, durably. What fails is as if it had not been tried.
    pub(super) fn commit(&mut self, written: &[Written], version: u64) -> Result<(), StoreError> {
        let path = self.path.clone();
        let committed = match self.database(false) {
            Ok(db) => guarded(|| commit(db, written, version)).and_then(|committed| committed),
            Err(StoreError::Open { source, .. }) => Err(source),
            Err(other) => return Err(other),
        };
        committed.map_err(|error| {
            self.db = None;
            match &error {
                redb::Error::Io(io) if is_full(io) => StoreError::NoSpace { path },
                _ => StoreError::Broken(format!("cannot bring {} up to date: {error}", path.display())),
            }
        })
    }
}

fn is_untitled(file: &dyn File) -> io::Result<bool> {
    let mut title = [0; 8];
    if file.len()? < title.len() as u64 {
        return Ok(true);
    }
    file.read(0, &mut title)?;
    Ok(title == [0; 8])
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// redb asserts things about its pages that a damaged file can break.
fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, redb::Error> {
    catch_unwind(AssertUnwindSafe(run))
        .map_err(|_| redb::Error::Corrupted("its pages contradict each other".to_owned()))
}

fn load(db: &Database, path: &Path) -> Result<Index, StoreError> {
    let failed = |source: redb::Error| StoreError::Open { path: path.to_owned(), source };
    let txn = db.begin_read().map_err(|e| failed(e.into()))?;
    let meta = txn.open_table(META).map_err(|e| failed(e.into()))?;
    let version = meta.get(VERSION).map_err(|e| failed(e.into()))?.map(|guard| guard.value()).unwrap_or_default();
    let mut index = Index::new(version);
    let mut newest = version;
    let objects = txn.open_table(OBJECTS).map_err(|e| failed(e.into()))?;
    for record in objects.iter().map_err(|e| failed(e.into()))? {
        let (key, bytes) = record.map_err(|e| failed(e.into()))?;
        let damaged = || StoreError::Record { path: path.to_owned(), key: key.value().escape_debug().to_string() };
        let place = Key::decode(key.value()).ok_or_else(damaged)?;
        let record = Record::read(bytes.value()).ok_or_else(damaged)?;
        newest = newest.max(record.version());
        index.restore(place, Some(Arc::new(record))).ok_or_else(damaged)?;
    }
    index.advance(newest);
    Ok(index)
}

fn commit(db: &Database, written: &[Written], version: u64) -> Result<(), redb::Error> {
    let txn = db.begin_write()?;
    {
        let mut objects = txn.open_table(OBJECTS)?;
        for (key, record) in written {
            let key = key.encode();
            match record {
                Some(record) => objects.insert(key.as_str(), record.bytes())?,
                None => objects.remove(key.as_str())?,
            };
        }
        txn.open_table(META)?.insert(VERSION, version)?;
    }
    // redb's default durability: flushed before this returns.
    txn.commit()?;
    Ok(())
}
