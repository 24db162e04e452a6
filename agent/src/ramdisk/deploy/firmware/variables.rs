//! The firmware's variables, as the kernel's efivarfs shows them: a file each, four bytes of attributes, then the value.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use rustix::mount::{MountFlags, mount};

/// GUID of the variables that UEFI defines.
const GLOBAL: &str = "8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// Kept over restarts, visible to boot services and to the running system.
const ATTRIBUTES: [u8; 4] = [7, 0, 0, 0];

/// Largest value that is read, in bytes.
const LARGEST: u64 = 64 << 10;

/// The variables that UEFI defines.
pub(super) trait Variables {
    /// All names.
    fn names(&self) -> io::Result<Vec<String>>;
    /// A value; none if there is no such variable.
    fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>>;
    /// Makes or replaces one.
    fn set(&mut self, name: &str, value: &[u8]) -> io::Result<()>;
    /// Removes one that is there.
    fn remove(&mut self, name: &str) -> io::Result<()>;
}

/// efivarfs, or any folder of the same shape.
#[derive(Debug)]
pub(super) struct EfiVarFs {
    folder: PathBuf,
}

impl EfiVarFs {
    /// Mounts it if it is not.
    pub(super) fn new(folder: &Path) -> Self {
        let empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
        if empty {
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            // What does not work shows when variables are read.
            let _ = mount("efivarfs", folder, "efivarfs", flags, None);
        }
        Self::at(folder)
    }

    /// As it is.
    pub(super) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{GLOBAL}"))
    }

    /// The kernel protects variables from `rm -rf` by a flag.
    fn unprotect(&self, name: &str) -> io::Result<()> {
        let file = match File::open(self.path(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if let Ok(flags) = ioctl_getflags(&file)
            && flags.contains(IFlags::IMMUTABLE)
        {
            ioctl_setflags(&file, flags - IFlags::IMMUTABLE)?;
        }
        Ok(())
    }
}

impl Variables for EfiVarFs {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let own = name.to_string_lossy();
            names.extend(own.strip_suffix(GLOBAL).and_then(|name| name.strip_suffix('-')).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.path(name);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(found) if found.len() > LARGEST => {
                return Err(io::Error::other(format!("{name} has {} bytes", found.len())));
            }
            _ => {}
        }
        Ok(Some(fs::read(path)?.split_off_checked(ATTRIBUTES.len())))
    }

    fn set(&mut self, name: &str, value: &[u8]) -> io::Result<()> {
        self.unprotect(name)?;
        // One write: the kernel hands each to the firmware as a whole.
        let bytes: Vec<u8> = ATTRIBUTES.iter().chain(value).copied().collect();
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(self.path(name))?;
        file.write_all(&bytes)?;
        // efivarfs has taken the new length with the value; any other file system keeps the rest of a longer one.
        if file.metadata()?.len() > bytes.len() as u64 {
            file.set_len(bytes.len() as u64)?;
        }
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.unprotect(name)?;
        fs::remove_file(self.path(name))
    }
}

/// `Vec::split_off` for vectors that may be shorter.
trait SplitOff {
    fn split_off_checked(self, at: usize) -> Self;
}

impl SplitOff for Vec<u8> {
    fn split_off_checked(mut self, at: usize) -> Self {
        self.split_off(at.min(self.len()))
    }
}
