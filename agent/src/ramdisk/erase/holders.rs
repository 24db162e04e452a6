//! Taking apart what is made of a disk (RAID, LVM, LUKS), outermost first, so that the disk itself is free.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::{files, ioctl};

/// Devices on devices on devices: more than anybody stacks.
const DEEPEST: usize = 16;

/// Why a disk stays in use.
#[derive(Debug, thiserror::Error)]
pub(super) enum HeldError {
    #[error("stop {name}, a {kind} on it: {error}")]
    Stop { name: String, kind: &'static str, error: io::Error },
    #[error("{0} is on it, and is nothing that can be stopped from here")]
    Unknown(String),
    #[error("{0} is still on it after it was stopped")]
    Still(String),
    #[error("devices are stacked on it more than {DEEPEST} deep")]
    TooDeep,
}

/// Stops everything on `disk`, a folder of `/sys/block`, and says what that was. `remove` takes a device-mapper device apart by name.
pub(super) fn stop(disk: &Path, remove: &dyn Fn(&str) -> io::Result<()>) -> Result<Vec<String>, HeldError> {
    let mut stopped = Vec::new();
    stop_on(disk, remove, &mut stopped, 0)?;
    match holders(disk).first() {
        None => Ok(stopped),
        Some(left) => Err(HeldError::Still(files::name(left))),
    }
}

fn stop_on(
    device: &Path,
    remove: &dyn Fn(&str) -> io::Result<()>,
    stopped: &mut Vec<String>,
    depth: usize,
) -> Result<(), HeldError> {
    if depth > DEEPEST {
        return Err(HeldError::TooDeep);
    }
    for holder in holders(device) {
        stop_on(&holder, remove, stopped, depth + 1)?;
        let name = files::name(&holder);
        // Stopping one of two devices on it may have stopped the other.
        if !holder.exists() {
            continue;
        }
        let failed = |kind| {
            let name = name.clone();
            move |error| HeldError::Stop { name, kind, error }
        };
        if holder.join("md").exists() {
            fs::write(holder.join("md/array_state"), "clear").map_err(failed("RAID array"))?;
            stopped.push(format!("RAID array {name} stopped"));
        } else if let Some(mapping) = files::line(holder.join("dm/name")) {
            remove(&mapping).map_err(failed("mapped device"))?;
            stopped.push(format!("mapped device {mapping} taken apart"));
        } else if holder.join("bcache").exists() {
            fs::write(holder.join("bcache/stop"), "1").map_err(failed("cached device"))?;
            stopped.push(format!("cached device {name} stopped"));
        } else {
            return Err(HeldError::Unknown(name));
        }
    }
    Ok(())
}

/// By the kernel's device mapper.
pub(super) fn remove_mapping(name: &str) -> io::Result<()> {
    ioctl::remove_mapping(File::open("/dev/mapper/control")?, name)
}

/// Devices on this one or on a partition of it, as the folders that the links lead to.
fn holders(device: &Path) -> Vec<PathBuf> {
    let mut found = files::entries(device.join("holders"));
    for part in files::entries(device) {
        if part.join("partition").exists() {
            found.extend(files::entries(part.join("holders")));
        }
    }
    found.into_iter().filter_map(|link| fs::canonicalize(link).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::ramdisk::inspect::fixture::Sys;

    /// LUKS on a volume on a RAID array on a partition: each goes before what it is made of.
    #[test]
    fn what_is_on_top_goes_first() {
        let sys = Sys::new();
        let disk =
            sys.disk("sda", "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0", &[("sda1/partition", "1\n")]);
        sys.file("devices/virtual/block/md0/md/array_state", "active\n");
        sys.file("devices/virtual/block/dm-0/dm/name", "vg-root\n");
        sys.file("devices/virtual/block/dm-1/dm/name", "secret\n");
        let on = |below: &str, above: &str| {
            sys.link(&format!("{below}/holders/{above}"), &format!("devices/virtual/block/{above}"));
            sys.path().join(format!("{below}/holders/{above}"))
        };
        let place = disk.strip_prefix(sys.path()).unwrap().to_string_lossy().into_owned();
        let array = on(&format!("{place}/sda1"), "md0");
        let volume = on("devices/virtual/block/md0", "dm-0");
        let secret = on("devices/virtual/block/dm-0", "dm-1");
        let removed = RefCell::new(Vec::new());
        let remove = |name: &str| {
            removed.borrow_mut().push(name.to_owned());
            fs::remove_file(if name == "secret" { &secret } else { &volume })?;
            // The kernel lets go of the array's members once its state is written; here nobody does.
            if name == "vg-root" { fs::remove_file(&array) } else { Ok(()) }
        };
        let stopped = stop(&disk, &remove).unwrap();
        assert_eq!(*removed.borrow(), ["secret", "vg-root"]);
        assert_eq!(stopped.last().unwrap(), "RAID array md0 stopped");
        assert_eq!(fs::read_to_string(sys.path().join("devices/virtual/block/md0/md/array_state")).unwrap(), "clear");
    }

    #[test]
    fn what_cannot_be_stopped_is_named() {
        let sys = Sys::new();
        let disk = sys.disk("sda", "platform/x", &[]);
        let place = disk.strip_prefix(sys.path()).unwrap().to_string_lossy().into_owned();
        sys.link(&format!("{place}/holders/drbd0"), "devices/virtual/block/drbd0");
        let error = stop(&disk, &|_| Ok(())).unwrap_err().to_string();
        assert_eq!(error, "drbd0 is on it, and is nothing that can be stopped from here");
        sys.file("devices/virtual/block/drbd0/dm/name", "busy\n");
        let error = stop(&disk, &|_| Err(io::ErrorKind::ResourceBusy.into())).unwrap_err().to_string();
        assert!(error.starts_with("stop drbd0, a mapped device on it: "), "{error}");
        let error = stop(&disk, &|_| Ok(())).unwrap_err().to_string();
        assert_eq!(error, "drbd0 is still on it after it was stopped");
    }
}
