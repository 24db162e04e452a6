//! What the build machine must have before an OS image is begun.

use std::path::Path;

use super::error::OsImageError;
use super::{Format, grub};
use crate::file::FileError;
use crate::{fat, tool};

/// Tool, Debian package that has it.
const TOOLS: [(&str, &str); 6] = [
    ("mmdebstrap", "mmdebstrap"),
    ("mke2fs", "e2fsprogs"),
    ("debugfs", "e2fsprogs"),
    ("tar", "tar"),
    ("unshare", "util-linux"),
    ("timeout", "coreutils"),
];

/// Debian's archive and unpacked root, the disk and its copy, the compressed image.
const NEEDED_MIB: u64 = 6 * 1024;

/// Checks that this machine can build an image of this form whose stages go into `cache`.
pub(super) fn check(cache: &Path, format: Format) -> Result<(), OsImageError> {
    if !rustix::process::geteuid().is_root() {
        return Err(OsImageError::NotRoot);
    }
    tool::check(&TOOLS)?;
    for tools in [fat::TOOLS.as_slice(), &grub::TOOLS, format.tools()] {
        tool::check(tools)?;
    }
    let space =
        rustix::fs::statvfs(cache).map_err(|errno| FileError::io("measure", cache)(std::io::Error::from(errno)))?;
    let free_mib = space.f_bavail.saturating_mul(space.f_frsize) >> 20;
    if free_mib < NEEDED_MIB {
        return Err(OsImageError::NoSpace { path: cache.to_owned(), free_mib, needed_mib: NEEDED_MIB });
    }
    Ok(())
}
