//! What can go wrong while an image is built, in words for whoever ran the command.

use std::path::PathBuf;

use crate::cache::CacheError;
use crate::fat::FatError;
use crate::file::FileError;
use crate::tool::ToolError;

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum OsImageError {
    /// Root file systems with their owners, and chroots, need root.
    #[error("the OS image is built as root: run as root or with sudo")]
    NotRoot,
    /// The file system of the cache is nearly full.
    #[error("{} has {free_mib} MiB free, the OS image needs {needed_mib}: free some or set BESSEMER_CACHE", path.display())]
    NoSpace {
        /// Folder of the cache.
        path: PathBuf,
        /// Free there, in MiB.
        free_mib: u64,
        /// Needed, in MiB.
        needed_mib: u64,
    },
    /// A tool is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The EFI system partition could not be made.
    #[error(transparent)]
    Fat(#[from] FatError),
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file that the root file system must have is not there.
    #[error("the root file system has no {0}")]
    Absent(String),
    /// kubeadm names a container image that this builder has no program for.
    #[error("kubeadm asks for the image {0}, which none of the built programs stands for")]
    UnknownImage(String),
    /// The partitions do not fit together.
    #[error("the disk layout is impossible: {0}")]
    Layout(String),
    /// The cache failed.
    #[error(transparent)]
    Cache(#[from] CacheError),
}
