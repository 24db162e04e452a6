//! The build cache: things made from outside sources (Go modules, Debian packages) and kept
//! between runs, outside any checkout. An entry is named by a hash of everything it was made
//! from, built in a temporary folder and renamed when complete, so an interrupted build is never
//! taken for a whole one. This room knows files and hashes, not what is built into them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::file::FileError;

/// Names the folder of the cache; without it `$XDG_CACHE_HOME/bessemer`, then `~/.cache/bessemer`.
pub const CACHE_VARIABLE: &str = "BESSEMER_CACHE";

/// What can go wrong with the cache itself; what a build does is its caller's error type.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Nothing in the environment says where the cache is.
    #[error("no folder for the build cache: set BESSEMER_CACHE, XDG_CACHE_HOME or HOME")]
    NoFolder,
    /// A file operation failed.
    #[error("build cache: {0}")]
    File(#[from] FileError),
}

impl CacheError {
    /// For `map_err`: names what was tried on which path.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let failed = FileError::io(action, path);
        move |source| Self::File(failed(source))
    }
}

/// A folder of finished builds.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The user's cache, as the environment names it. Errors if it names none.
    pub fn from_env() -> Result<Self, CacheError> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set(CACHE_VARIABLE)
            .or_else(|| set("XDG_CACHE_HOME").map(|path| path.join("bessemer")))
            .or_else(|| set("HOME").map(|path| path.join(".cache/bessemer")))
            .map(Self::at)
            .ok_or(CacheError::NoFolder)
    }

    /// The cache in `root`, which is made when first written.
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The folder the cache is in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The finished entry `kind`/`key`, built by `build` into the folder it is given if it is not
    /// there yet. Of each kind the `keep` entries used last are kept, older ones are removed.
    /// Processes that want the same kind wait for each other.
    pub fn entry<E: From<CacheError>>(
        &self,
        kind: &str,
        key: &str,
        keep: usize,
        build: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let shelf = self.root.join(kind);
        fs::create_dir_all(&shelf).map_err(CacheError::io("create", &shelf))?;
        let lock_path = shelf.join(".lock");
        let lock = File::create(&lock_path).map_err(CacheError::io("create", &lock_path))?;
        lock.lock().map_err(CacheError::io("lock", &lock_path))?;
        let entry = shelf.join(key);
        if !entry.is_dir() {
            let partial = shelf.join(format!(".{key}.partial"));
            remove(&partial)?;
            fs::create_dir(&partial).map_err(CacheError::io("create", &partial))?;
            if let Err(error) = build(&partial) {
                remove(&partial)?;
                return Err(error);
            }
            fs::rename(&partial, &entry).map_err(CacheError::io("complete", &entry))?;
        }
        File::open(&entry)
            .and_then(|folder| folder.set_modified(SystemTime::now()))
            .map_err(CacheError::io("touch", &entry))?;
        prune(&shelf, keep)?;
        Ok(entry)
    }
}

fn remove(folder: &Path) -> Result<(), CacheError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CacheError::io("remove", folder)(error)),
        _ => Ok(()),
    }
}

fn prune(shelf: &Path, keep: usize) -> Result<(), CacheError> {
    let failed = || CacheError::io("list", shelf);
    let mut entries = Vec::new();
    for entry in fs::read_dir(shelf).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let metadata = entry.metadata().map_err(failed())?;
        if metadata.is_dir() {
            entries.push((metadata.modified().map_err(failed())?, entry.path()));
        }
    }
    entries.sort_by(|left, right| right.cmp(left));
    entries.iter().skip(keep).try_for_each(|(_, path)| remove(path))
}

/// Collects what an entry is made from into the name of the entry.
#[derive(Debug, Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Adds one ingredient. The label and the lengths keep neighbours apart.
    pub fn add(&mut self, label: &str, content: impl AsRef<[u8]>) -> &mut Self {
        let content = content.as_ref();
        self.0.update(format!("{label}\n{}\n", content.len()));
        self.0.update(content);
        self
    }

    /// Adds the content of a file.
    pub fn add_file(&mut self, label: &str, path: &Path) -> Result<&mut Self, CacheError> {
        let content = fs::read(path).map_err(CacheError::io("read", path))?;
        Ok(self.add(label, content))
    }

    /// The name: 16 hexadecimal digits.
    pub fn finish(self) -> String {
        hex(&self.0.finalize()).chars().take(16).collect()
    }
}

/// Lower-case hexadecimal digits of `bytes`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_build_leaves_nothing_and_a_finished_one_is_not_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let build = |content: &'static str, fail: bool| {
            cache.entry("thing", "k1", 2, |dir| {
                fs::write(dir.join("file"), content).map_err(CacheError::io("write", dir))?;
                if fail { Err(CacheError::NoFolder) } else { Ok(()) }
            })
        };
        assert!(build("broken", true).is_err());
        assert!(!folder.path().join("thing/k1").exists());
        let made = build("first", false).unwrap();
        assert_eq!(fs::read_to_string(made.join("file")).unwrap(), "first");
        let again = build("second", false).unwrap();
        assert_eq!(fs::read_to_string(again.join("file")).unwrap(), "first");
    }

    #[test]
    fn the_entries_used_last_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        for key in ["a", "b", "a", "c"] {
            cache.entry("thing", key, 2, |_| Ok::<(), CacheError>(())).unwrap();
        }
        let there = |key| folder.path().join("thing").join(key).exists();
        assert_eq!((there("a"), there("b"), there("c")), (true, false, true));
    }

    #[test]
    fn a_fingerprint_tells_neighbours_apart() {
        let name = |parts: &[(&str, &str)]| {
            let mut fingerprint = Fingerprint::default();
            for (label, content) in parts {
                fingerprint.add(label, content);
            }
            fingerprint.finish()
        };
        assert_ne!(name(&[("a", "bc"), ("d", "")]), name(&[("a", "b"), ("d", "c")]));
        assert_eq!(name(&[("a", "b")]).len(), 16);
    }
}
