//! The kernel's file systems, which nobody else mounts for PID 1.

use std::ffi::CStr;
use std::fs;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

/// Mounts everything that the agent reads from or writes to. Returns what did not work, as nothing can be printed yet.
pub(super) fn mount_all() -> Vec<String> {
    let quiet = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let wanted: [(&str, &str, MountFlags, Option<&CStr>); 5] = [
        ("proc", "/proc", quiet, None),
        ("sysfs", "/sys", quiet, None),
        ("devtmpfs", "/dev", MountFlags::NOSUID, None),
        ("tmpfs", "/run", quiet, Some(c"mode=0755")),
        ("tmpfs", "/tmp", quiet, Some(c"mode=1777")),
    ];
    let mut problems = Vec::new();
    for (kind, place, flags, data) in wanted {
        let made = fs::create_dir_all(place).map_err(|error| error.to_string());
        let mounted = made.and_then(|()| match mount(kind, place, kind, flags, data) {
            // Mounted by the kernel already, as CONFIG_DEVTMPFS_MOUNT does.
            Ok(()) | Err(Errno::BUSY) => Ok(()),
            Err(error) => Err(error.to_string()),
        });
        if let Err(error) = mounted {
            problems.push(format!("cannot mount {kind} on {place}: {error}"));
        }
    }
    problems
}

/// Shows the firmware's variables, if the machine has booted by UEFI. They are a module's, so this is of use only once modules can be loaded.
pub(super) fn mount_firmware_variables(sys: &Path) -> Result<(), String> {
    let place = sys.join("firmware/efi/efivars");
    if !place.exists() {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    match mount("efivarfs", &place, "efivarfs", flags, None) {
        Ok(()) | Err(Errno::BUSY) => Ok(()),
        Err(error) => Err(format!("{}: {error}", place.display())),
    }
}
