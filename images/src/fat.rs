//! Writes FAT file systems, of EFI system partitions and boot images: for any sector size, and always the same bytes for the same
//! content, because one time is recorded for everything.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use crate::file::FileError;
use crate::tool::{Tool, ToolError};

/// What the tools of this room belong to.
pub(crate) const TOOLS: [(&str, &str); 3] = [("mkfs.vfat", "dosfstools"), ("mmd", "mtools"), ("mcopy", "mtools")];

/// Recorded as the time of everything built, in seconds since 1970 (1 January 2024): the same inputs give the same bytes.
pub(crate) const TIME: &str = "1704067200";

const LIMIT: Duration = Duration::from_secs(120);

/// Why a FAT file system was not written.
#[derive(Debug, thiserror::Error)]
pub enum FatError {
    /// A tool is missing or failed; also when the content does not fit.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What a file in it holds.
pub(crate) enum Content<'a> {
    Bytes(&'a [u8]),
    File(&'a Path),
}

/// Makes the file `path` of `size` bytes with a file system for a disk with sectors of `sector` bytes, named `label`, and
/// `files` (`EFI/BOOT/BOOTX64.EFI`) in it; folders are made as needed. It is FAT32 if it is large enough.
pub(crate) fn write(
    path: &Path,
    size: u64,
    sector: u64,
    label: &str,
    files: &[(&str, Content<'_>)],
) -> Result<(), FatError> {
    let file = File::create(path).map_err(FileError::io("create", path))?;
    file.set_len(size).map_err(FileError::io("size", path))?;
    // Firmware wants FAT32 on a disk. It has at least 65,525 clusters, which are sectors at the smallest.
    let kind: &[&str] = if size / sector >= 66_000 { &["-F", "32"] } else { &[] };
    Tool::new("mkfs.vfat", LIMIT)
        .args(["-S", &sector.to_string(), "-n", label, "--invariant"])
        .args(kind)
        .arg(path)
        .run()?;
    let scratch = tempfile::tempdir().map_err(FileError::io("create", &std::env::temp_dir()))?;
    let mut made = BTreeSet::new();
    for (name, content) in files {
        for (end, _) in name.match_indices('/') {
            let folder = name.get(..end).unwrap_or_default();
            if made.insert(folder) {
                mtool("mmd", path).arg(format!("::/{folder}")).run()?;
            }
        }
        let source = match content {
            Content::File(source) => source.to_path_buf(),
            Content::Bytes(bytes) => {
                let source = scratch.path().join("content");
                fs::write(&source, bytes).map_err(FileError::io("write", &source))?;
                source
            }
        };
        mtool("mcopy", path).arg("-o").arg(source).arg(format!("::/{name}")).run()?;
    }
    Ok(())
}

fn mtool(name: &str, path: &Path) -> Tool {
    // UTC, or the recorded time follows the machine's zone.
    Tool::new(name, LIMIT).env("SOURCE_DATE_EPOCH", TIME).env("TZ", "UTC").arg("-i").arg(path)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn installed() -> bool {
        let installed = crate::tool::check(&TOOLS).is_ok();
        if !installed {
            println!("SKIP no dosfstools or mtools");
        }
        installed
    }

    #[test]
    fn fsck_finds_no_fault_and_the_content_is_there_and_the_same_each_time() {
        if !installed() {
            return;
        }
        for (sector, size) in [(512, 96 * MIB), (4096, 264 * MIB), (512, 4 * MIB)] {
            let folder = tempfile::tempdir().unwrap();
            let (path, again, source) = (folder.path().join("esp"), folder.path().join("2"), folder.path().join("k"));
            fs::write(&source, vec![7; 1_500_001]).unwrap();
            let files =
                || [("EFI/BOOT/BOOTX64.EFI", Content::Bytes(b"loader")), ("EFI/debian/kernel", Content::File(&source))];
            write(&path, size, sector, "ESP", &files()).unwrap();
            let checked = Command::new("/sbin/fsck.vfat").arg("-n").arg(&path).output().unwrap();
            assert!(checked.status.success(), "{sector}: {}", String::from_utf8_lossy(&checked.stdout));
            let read = Command::new("mtype").arg("-i").arg(&path).arg("::/EFI/debian/kernel").output().unwrap();
            assert_eq!(read.stdout.len(), 1_500_001, "{sector}: {}", String::from_utf8_lossy(&read.stderr));
            write(&again, size, sector, "ESP", &files()).unwrap();
            assert!(fs::read(&path).unwrap() == fs::read(&again).unwrap(), "{sector}: not the same");
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        if !installed() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let much = vec![1; 3 << 20];
        let written = write(&folder.path().join("fat"), 2 * MIB, 512, "ESP", &[("big", Content::Bytes(&much))]);
        assert!(matches!(written, Err(FatError::Tool(_))));
    }
}
