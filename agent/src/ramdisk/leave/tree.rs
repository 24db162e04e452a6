//! The file systems of a disk as trees to read from: FAT by the agent itself, all others mounted.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use fatfs::{FileSystem, FsOptions};

use crate::ramdisk::deploy::Window;

/// Names of one folder that are looked at.
const MOST_NAMES: usize = 4096;

/// Somewhere files are.
pub(super) enum Tree<'a> {
    /// A folder of this system's.
    Folder(PathBuf),
    /// A FAT on a disk.
    Fat(Box<FileSystem<Window<'a>>>),
}

impl<'a> Tree<'a> {
    /// The FAT in `length` bytes from `start` of `disk`.
    pub(super) fn fat(disk: &'a File, start: u64, length: u64) -> io::Result<Self> {
        Ok(Self::Fat(Box::new(FileSystem::new(Window::new(disk, start, length), FsOptions::new())?)))
    }

    /// Names in a folder, which may not be there.
    pub(super) fn list(&self, folder: &str) -> Vec<String> {
        match self {
            Self::Folder(root) => {
                let Some(path) = inside(root, folder) else { return Vec::new() };
                let entries = fs::read_dir(path).into_iter().flatten().flatten();
                entries.take(MOST_NAMES).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            }
            Self::Fat(volume) => match volume.root_dir().open_dir(folder.trim_matches('/')) {
                Ok(folder) => folder.iter().flatten().take(MOST_NAMES).map(|entry| entry.file_name()).collect(),
                Err(_) => Vec::new(),
            },
        }
    }

    /// Bytes of a file; none if there is no such file.
    pub(super) fn length(&self, path: &str) -> Option<u64> {
        match self {
            Self::Folder(root) => {
                fs::metadata(inside(root, path)?).ok().filter(fs::Metadata::is_file).map(|found| found.len())
            }
            Self::Fat(volume) => volume.root_dir().open_file(path.trim_matches('/')).ok()?.seek(SeekFrom::End(0)).ok(),
        }
    }

    /// A part of a file.
    pub(super) fn read(&self, path: &str, start: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self {
            Self::Folder(root) => {
                let path = inside(root, path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(start))?;
                file.take(length).read_to_end(&mut bytes)?;
            }
            Self::Fat(volume) => {
                let mut file = volume.root_dir().open_file(path.trim_matches('/'))?;
                file.seek(SeekFrom::Start(start))?;
                file.take(length).read_to_end(&mut bytes)?;
            }
        }
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// A small text file; empty if it is not there.
    pub(super) fn text(&self, path: &str) -> String {
        const LARGEST: u64 = 1 << 20;
        let length = self.length(path).filter(|length| *length <= LARGEST);
        let bytes = length.and_then(|length| self.read(path, 0, length).ok());
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    }
}

/// `path` below `root`. An image's links are followed inside the image only.
pub(in crate::ramdisk) fn inside(root: &Path, path: &str) -> Option<PathBuf> {
    const MOST_LINKS: usize = 16;
    let mut links = 0;
    let mut todo: Vec<PathBuf> = parts(Path::new(path))?;
    let mut done = PathBuf::new();
    while let Some(part) = todo.pop() {
        if part.as_os_str() == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        match fs::read_link(root.join(&next)) {
            Ok(target) => {
                links += 1;
                if links > MOST_LINKS {
                    return None;
                }
                if target.is_absolute() {
                    done = PathBuf::new();
                }
                todo.extend(parts(&target)?);
            }
            Err(_) => done = next,
        }
    }
    Some(root.join(done))
}

/// The names of a path, the last one first.
fn parts(path: &Path) -> Option<Vec<PathBuf>> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(PathBuf::from(name)),
            Component::ParentDir => names.push(PathBuf::from("..")),
            Component::RootDir | Component::CurDir => {}
            Component::Prefix(_) => return None,
        }
    }
    names.reverse();
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_inside_the_tree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("usr/lib")).unwrap();
        fs::write(root.join("usr/lib/kernel"), "k").unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        link("usr/lib/kernel", "vmlinuz");
        link("/usr/lib/kernel", "absolute");
        link("../../../../usr/lib/kernel", "out");
        link("/etc/passwd", "host");
        link("loop", "loop");
        let tree = Tree::Folder(root.to_owned());
        for (path, expected) in [
            ("/vmlinuz", Some(1)),
            ("absolute", Some(1)),
            ("/out", Some(1)),
            ("host", None),
            ("loop", None),
            ("/../usr/lib/kernel", Some(1)),
            ("/usr", None),
        ] {
            assert_eq!(tree.length(path), expected, "{path}");
        }
        assert_eq!(tree.text("vmlinuz"), "k");
        assert_eq!(tree.list("usr/lib"), ["kernel"]);
        assert!(tree.read("vmlinuz", 0, 2).is_err(), "a short file is no success");
    }
}
