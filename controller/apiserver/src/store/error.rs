//! What can go wrong with the files: each error names the file and what a person can do.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

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
    /// The file is damaged, truncated, not ours, or unreadable.
    #[error("cannot open {}: {source}; restore it from a backup, or move it away to start empty", path.display())]
    Open {
        /// The store's file.
        path: PathBuf,
        /// What the storage engine said.
        source: redb::Error,
    },
    /// A journal is damaged, or not one.
    #[error(
        "cannot read {}: {what}; restore all of the store's files from one backup, or move them away to start empty",
        path.display()
    )]
    Journal {
        /// The journal's file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The file's format is newer than this program.
    #[error("{} has format {found}, this program knows up to {known}; run the newer program", path.display())]
    NewerFormat {
        /// The store's file.
        path: PathBuf,
        /// The format number in the file.
        found: u64,
        /// The newest format this program reads.
        known: u64,
    },
    /// A record is not what this program writes.
    #[error("{} holds a damaged record under {key:?}; restore it from a backup", path.display())]
    Record {
        /// The store's file.
        path: PathBuf,
        /// The record's key.
        key: String,
    },
    /// A thread of the store could not be started.
    #[error("cannot start the store's writer thread: {0}")]
    Thread(io::Error),
    /// The disk is full; none of the commit's writes happened. Reads go on, and writes do once there is space.
    #[error("etcdserver: mvcc: database space exceeded: no space left for {}; free space on its disk", path.display())]
    NoSpace {
        /// The file that cannot grow.
        path: PathBuf,
    },
    /// A commit failed; none of its writes happened.
    #[error("cannot write {}: {source}", path.display())]
    Commit {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system could not make a write durable. What of it reached the disk is unknown, and so is what a later flush
    /// would report, so that no write is taken any more until a restart has read the files anew.
    #[error("{0}; check the disk, then restart this program: until then nothing can be written")]
    Broken(String),
    /// As for the commit as a whole, for each of its writes.
    #[error(transparent)]
    Shared(std::sync::Arc<StoreError>),
    /// The object is larger than what is stored.
    #[error("etcdserver: request is too large")]
    TooLarge,
    /// A fault of this program in the middle of deciding a write; none of it happened. Upstream's words.
    #[error("This request caused apiserver to panic. Look in the logs for details.")]
    Panicked,
    /// The server is shutting down.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether the disk is full.
    pub(crate) fn is_no_space(&self) -> bool {
        match self {
            Self::NoSpace { .. } => true,
            Self::Shared(error) => error.is_no_space(),
            _ => false,
        }
    }

    /// Whether the object was too large.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge)
    }
}
