//! A `/sys` in a temporary folder, made by tests in the shape in which the kernel makes its own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The folder; gone when this is.
pub(in crate::ramdisk) struct Sys(tempfile::TempDir);

impl Sys {
    /// Empty but for the folders that are always there.
    pub(in crate::ramdisk) fn new() -> Self {
        let sys = Self(tempfile::tempdir().unwrap());
        for folder in ["block", "class/net", "devices", "bus/pci/devices"] {
            fs::create_dir_all(sys.path().join(folder)).unwrap();
        }
        sys
    }

    /// To hand to what is tested.
    pub(in crate::ramdisk) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file with its content.
    pub(in crate::ramdisk) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// A link at `path` to `target`, both below this `/sys`.
    pub(in crate::ramdisk) fn link(&self, path: &str, target: &str) -> &Self {
        let (path, target) = (self.path().join(path), self.path().join(target));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::create_dir_all(&target).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// A disk whose device is at `device` below `devices`; `files` are of the disk, `device/…` of the device.
    pub(in crate::ramdisk) fn disk(&self, name: &str, device: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = format!("devices/{device}/block/{name}");
        self.file(&format!("{folder}/ro"), "0\n").file(&format!("{folder}/removable"), "0\n");
        self.link(&format!("{folder}/device"), &format!("devices/{device}"));
        for (path, content) in files {
            match path.strip_prefix("device/") {
                Some(path) => self.file(&format!("devices/{device}/{path}"), content),
                None => self.file(&format!("{folder}/{path}"), content),
            };
        }
        self.link(&format!("block/{name}"), &folder);
        self.path().join(folder)
    }
}

/// A file of the shared test data; none without it.
pub(in crate::ramdisk) fn data(path: &str) -> Option<Vec<u8>> {
    let Some(folder) = std::env::var_os("BESSEMER_TEST_DATA") else {
        println!("SKIP no test data: set BESSEMER_TEST_DATA");
        return None;
    };
    let path = PathBuf::from(folder).join(path);
    Some(fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}
