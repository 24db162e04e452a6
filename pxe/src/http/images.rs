//! OS images from a plain directory, sent by the kernel from its page cache: an image is far larger than what one wants
//! in memory.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::OFlags;
use tracing::warn;

use super::content::{Content, Piece};
use super::reply::{BINARY, Refusal};

/// One visible file of the directory itself; symbolic links are followed.
pub(super) async fn open(directory: PathBuf, name: &str) -> Result<Content, Refusal> {
    if name.starts_with('.') || name.contains(['/', '\0']) {
        return Err(Refusal::not_found("not a plain file name"));
    }
    let path = directory.join(name);
    let opened = tokio::task::spawn_blocking(move || open_now(&path)).await;
    match opened.unwrap_or_else(|error| Err(io::Error::other(error))) {
        Ok(content) => Ok(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Refusal::not_found("no such image")),
        Err(error) => {
            warn!(name, %error, "an image cannot be read");
            Err(Refusal::new(500, "the image cannot be read"))
        }
    }
}

fn open_now(path: &std::path::Path) -> io::Result<Content> {
    // Opening a pipe would wait for its writer.
    let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(no_wait).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let etag = format!("\"{:x}-{:x}-{:x}-{:x}\"", about.ino(), about.len(), about.mtime(), about.mtime_nsec());
    let whole = Piece::Stored(Arc::new(file), 0..about.len());
    Ok(Content::new(BINARY, etag, vec![whole]))
}
