//! Growing the root file system into its grown partition: the kernel does it while the file system is mounted, for ext4 and XFS.

use std::fs::{self, File};
use std::path::Path;

use bessemer_image_formats::filesystem::FileSystem;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tracing::{info, warn};

use super::partitions;
use super::table::Place;
use crate::ioctl;

const MOUNT_POINT: &str = "/run/growing-root";

/// Grows the file system on the partition `root` of `disk`. The error says why it is as it was, and never makes the disk unusable.
pub(super) fn grow(disk: &str, root: &Place) -> Result<(), String> {
    let later = |why: String| format!("the root file system was not grown ({why}); the installed system has to do it");
    let partitions = partitions::of(Path::new("/sys"), disk).map_err(later)?;
    let partition = partitions
        .iter()
        .find(|partition| {
            partition.number == root.number && partition.start == root.start && partition.length == root.length
        })
        .ok_or_else(|| later("the kernel does not show its partition".to_owned()))?;
    let (block, blocks) = match partition.holds {
        FileSystem::Ext { block, blocks } | FileSystem::Xfs { block, blocks, .. } => (block.max(512), blocks),
        other => return Err(later(format!("it is {other:?}, not ext4 or xfs"))),
    };
    let wanted = partition.length / block;
    if blocks >= wanted {
        return Ok(());
    }
    let failed = |action: &str, error: &dyn std::fmt::Display| later(format!("{action}: {error}"));
    fs::create_dir_all(MOUNT_POINT).map_err(|error| failed("make a mount point", &error))?;
    let kind = partition.holds.mount_name().unwrap_or("ext4");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(partition.device.as_str(), MOUNT_POINT, kind, flags, None).map_err(|error| failed("mount", &error))?;
    let grown = File::open(MOUNT_POINT).and_then(|mounted| match partition.holds {
        FileSystem::Xfs { inode_percent, .. } => ioctl::resize_xfs(&mounted, wanted, inode_percent),
        _ => ioctl::resize_ext4(&mounted, wanted),
    });
    rustix::fs::sync();
    if let Err(error) = unmount(MOUNT_POINT, UnmountFlags::empty()) {
        warn!("cannot unmount {}: {error}", partition.device);
    }
    grown.map_err(|error| failed("grow", &error))?;
    info!("{}: grown from {} to {} bytes", partition.device, blocks * block, wanted * block);
    Ok(())
}
