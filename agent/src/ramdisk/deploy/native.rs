//! The agent for an image that does not carry it: the program and its unit, written into the root file system when that is plain ext4 or XFS and systemd
//! runs it. Identity and data stay on the seed partition.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use bessemer_image_formats::filesystem::FileSystem;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tracing::{info, warn};

use super::partitions;
use super::table::Place;

const MOUNT_POINT: &str = "/run/installed-root";

/// The ramdisk's agent is the host's.
const OURS: &str = "/proc/self/exe";

/// Where images carry the agent, ours first.
const PLACES: [&str; 2] = ["usr/local/bin/bessemer-agent", "usr/bin/bessemer-agent"];

const UNIT_NAME: &str = "bessemer-agent.service";
const UNIT: &str = include_str!("../../../../images/src/os/files/bessemer-agent.service");

/// Puts the agent on the partition `root` of `disk` if it is not there. The sentence says what was done or why nothing was; an image without the agent
/// boots all the same.
pub(super) fn install(disk: &str, root: &Place) -> Result<Option<String>, String> {
    let without = |why: String| format!("the agent was not put on the image ({why}); its cloud-init has to do without");
    let partitions = partitions::of(Path::new("/sys"), disk).map_err(without)?;
    let partition = partitions
        .iter()
        .find(|partition| partition.number == root.number && partition.start == root.start)
        .ok_or_else(|| without("the kernel does not show its partition".to_owned()))?;
    if !matches!(partition.holds, FileSystem::Ext { .. } | FileSystem::Xfs { .. }) {
        return Err(without(format!("its root is {:?}, not ext4 or xfs", partition.holds)));
    }
    let failed = |action: &str, error: &dyn std::fmt::Display| without(format!("{action}: {error}"));
    fs::create_dir_all(MOUNT_POINT).map_err(|error| failed("make a mount point", &error))?;
    let kind = partition.holds.mount_name().unwrap_or("ext4");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(partition.device.as_str(), MOUNT_POINT, kind, flags, None).map_err(|error| failed("mount", &error))?;
    let installed = put(Path::new(MOUNT_POINT), Path::new(OURS));
    rustix::fs::sync();
    if let Err(error) = unmount(MOUNT_POINT, UnmountFlags::empty()) {
        warn!("cannot unmount {}: {error}", partition.device);
    }
    installed.map_err(without)
}

fn put(root: &Path, agent: &Path) -> Result<Option<String>, String> {
    if PLACES.iter().any(|place| root.join(place).exists()) {
        return Ok(None);
    }
    // a link in the image must not lead out of it
    let real = |path: &str| {
        root.join(path).is_dir() && !fs::symlink_metadata(root.join(path)).is_ok_and(|there| there.is_symlink())
    };
    if !real("etc/systemd/system") || !real("usr/local/bin") {
        return Err("it has no systemd, or no /usr/local/bin".to_owned());
    }
    let written = || -> io::Result<()> {
        let program = root.join(PLACES[0]);
        let partial = program.with_extension("partial");
        fs::copy(agent, &partial)?;
        fs::set_permissions(&partial, fs::Permissions::from_mode(0o755))?;
        fs::rename(&partial, &program)?;
        let units = root.join("etc/systemd/system");
        fs::write(units.join(UNIT_NAME), UNIT)?;
        let wants = units.join("multi-user.target.wants");
        fs::create_dir_all(&wants)?;
        match symlink(Path::new("/etc/systemd/system").join(UNIT_NAME), wants.join(UNIT_NAME)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    };
    written().map_err(|error| format!("write: {error}"))?;
    info!("the image has no agent: put ours on it");
    Ok(Some("the agent was put on the image, which had none".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_with_systemd_gets_the_agent_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let agent = folder.path().join("agent");
        fs::write(&agent, "program").unwrap();
        assert!(put(&root, &agent).unwrap_err().contains("no systemd"));
        for place in ["etc/systemd/system", "usr/local/bin"] {
            fs::create_dir_all(root.join(place)).unwrap();
        }
        assert!(put(&root, &agent).unwrap().is_some());
        let program = root.join(PLACES[0]);
        assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o755);
        let unit = root.join("etc/systemd/system/multi-user.target.wants").join(UNIT_NAME);
        assert_eq!(fs::read_link(unit).unwrap(), Path::new("/etc/systemd/system").join(UNIT_NAME));
        assert!(UNIT.contains(&format!("/{} node", PLACES[0])), "the unit runs what is installed");
        assert_eq!(put(&root, &agent).unwrap(), None);
    }

    #[test]
    fn a_link_in_the_image_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("etc/systemd/system")).unwrap();
        fs::create_dir_all(root.join("usr/local")).unwrap();
        symlink("/tmp", root.join("usr/local/bin")).unwrap();
        assert!(put(&root, Path::new("/etc/hostname")).is_err());
    }
}
