//! Making the installed system this host: its name, and a root file system as large as its partition.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{fstatfs, major, minor, stat};
use rustix::system::{sethostname, uname};
use tracing::{info, warn};

use crate::{files, ioctl};

/// `EXT4_SUPER_MAGIC` of `<linux/magic.h>`.
const EXT4_MAGIC: i64 = 0xEF53;

/// Gives the running system and the next boot the name `name`. `root` is `/` outside tests.
pub(super) fn take_name(root: &Path, name: &str) {
    if uname().nodename().to_bytes() != name.as_bytes() && root == Path::new("/") {
        match sethostname(name.as_bytes()) {
            Ok(()) => info!("host name is {name}"),
            Err(error) => warn!("host name {name}: {error}"),
        }
    }
    let hosts = root.join("etc/hosts");
    let before = fs::read_to_string(&hosts).unwrap_or_default();
    let after = hosts_with(&before, name);
    let write = |path: &Path, content: &str| {
        if let Err(error) = fs::write(path, content) {
            warn!("{}: {error}", path.display());
        }
    };
    if before != after {
        write(&hosts, &after);
    }
    write(&root.join("etc/hostname"), &format!("{name}\n"));
}

/// Debian's way: the name belongs to 127.0.1.1, so that it resolves before there is a network and is no address of the host.
fn hosts_with(hosts: &str, name: &str) -> String {
    const OWN: &str = "127.0.1.1";
    let others = hosts.lines().filter(|line| line.split_whitespace().next() != Some(OWN));
    let mut lines: Vec<&str> = others.collect();
    if !lines.iter().any(|line| line.starts_with("127.0.0.1")) {
        lines.insert(0, "127.0.0.1 localhost");
    }
    let own = format!("{OWN} {name}");
    lines.push(&own);
    lines.join("\n") + "\n"
}

/// Grows the root file system into the space that the deploy gave to its partition. The tools for that are not on every image.
pub(super) fn grow_root() {
    match grow() {
        Ok(Some(bytes)) => info!("root file system has {} MiB", bytes >> 20),
        Ok(None) => {}
        Err(error) => warn!("root file system stays as small as its image: {error}"),
    }
}

fn grow() -> io::Result<Option<u64>> {
    let root = File::open("/")?;
    let statfs = fstatfs(&root)?;
    if statfs.f_type != EXT4_MAGIC {
        return Ok(None);
    }
    let device = stat("/")?.st_dev;
    let sysfs = format!("/sys/dev/block/{}:{}/size", major(device), minor(device));
    let bytes = files::number::<u64>(&sysfs).ok_or_else(|| io::Error::other(format!("{sysfs} is no number")))? * 512;
    let block = u64::try_from(statfs.f_bsize)
        .ok()
        .filter(|block| *block > 0)
        .ok_or_else(|| io::Error::other("no block size"))?;
    // The file system's own count leaves out its overhead; a difference of less than a block group is not worth a resize.
    if statfs.f_blocks * block + (bytes / 16).max(256 << 20) > bytes {
        return Ok(None);
    }
    ioctl::resize_ext4(&root, bytes / block)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_replaces_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("etc")).unwrap();
        fs::write(folder.path().join("etc/hosts"), "127.0.0.1 localhost\n127.0.1.1 old\n::1 localhost\n").unwrap();
        for _ in 0..2 {
            take_name(folder.path(), "r1-u1");
        }
        let read = |name: &str| fs::read_to_string(folder.path().join("etc").join(name)).unwrap();
        assert_eq!(read("hosts"), "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 r1-u1\n");
        assert_eq!(read("hostname"), "r1-u1\n");
        assert_eq!(hosts_with("", "x"), "127.0.0.1 localhost\n127.0.1.1 x\n");
    }
}
