//! OS images from a plain directory, sent by the kernel from its page cache: an image is far larger than what one wants
//! in memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use tracing::warn;

use super::content::{Content, Piece};
use super::reply::{BINARY, Refusal};

/// One visible file of the directory itself; symbolic links are followed.
pub(super) async fn open(directory: PathBuf, name: &str) -> Result<Content, Refusal> {
    if name.starts_with('.') || name.contains(['/', '\0']) {
        return Err(Refusal::not_found("not a plain file name"));
    }
    let path = directory.join(name);
    let opened = match open_known(&path) {
        Some(opened) => opened,
        None => {
            let opened = tokio::task::spawn_blocking(move || open_now(&path)).await;
            opened.unwrap_or_else(|error| Err(io::Error::other(error)))
        }
    };
    match opened {
        Ok(content) => Ok(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Refusal::not_found("no such image")),
        Err(error) => {
            warn!(name, %error, "an image cannot be read");
            Err(Refusal::new(500, "the image cannot be read"))
        }
    }
}

/// Without waiting for a disk or a server, if the kernel has in memory what it needs (Linux 5.12): a thread for each
/// request costs more than all the rest of it. `None` if it has not.
fn open_known(path: &Path) -> Option<io::Result<Content>> {
    // Opening a pipe would wait for its writer.
    let how = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::openat2(rustix::fs::CWD, path, how, Mode::empty(), ResolveFlags::CACHED) {
        Ok(file) => Some(content(file.into())),
        // Also what is missing: the kernel does not remember that for sure.
        Err(_) => None,
    }
}

fn open_now(path: &Path) -> io::Result<Content> {
    let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    content(OpenOptions::new().read(true).custom_flags(no_wait).open(path)?)
}

fn content(file: File) -> io::Result<Content> {
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let etag = format!("\"{:x}-{:x}-{:x}-{:x}\"", about.ino(), about.len(), about.mtime(), about.mtime_nsec());
    let whole = Piece::Stored(Arc::new(file), 0..about.len());
    Ok(Content::new(BINARY, etag, vec![whole]))
}
