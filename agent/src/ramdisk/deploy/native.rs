//! The agent for an image that does not carry it: the program and its unit, written into the root file system when that is plain ext4 or XFS and systemd
//! runs it. Identity and data stay on the seed partition.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use bessemer_image_formats::filesystem::FileSystem;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tracing::{info, warn};

use super::partitions::{self, OnDisk};
use super::table::Place;
use crate::ramdisk::leave::inside;

const MOUNT_POINT: &str = "/run/installed-root";

/// The ramdisk's agent is the host's.
const OURS: &str = "/proc/self/exe";

/// Where images carry the agent, ours first.
const PLACES: [&str; 2] = ["usr/local/bin/bessemer-agent", "usr/bin/bessemer-agent"];

/// Where the unit goes.
const UNITS: &str = "etc/systemd/system";
const UNIT_NAME: &str = "bessemer-agent.service";
const UNIT: &str = include_str!("../../../../images/src/os/files/bessemer-agent.service");

/// Sees to it that the image on `disk` has the agent: puts it on the partition `root`, unless that or another partition carries it. Returns what was
/// done in a sentence, or why the installed system has no agent.
pub(super) fn install(disk: &str, root: Option<&Place>) -> Result<Option<String>, String> {
    let partitions = partitions::of(Path::new("/sys"), disk)?;
    let why = match root.map(|root| put_on(&partitions, root)) {
        Some(Ok(done)) => return Ok(done),
        Some(Err(why)) => why,
        None => "its last partition is no Linux root".to_owned(),
    };
    let carried = partitions.iter().any(|partition| {
        partition.holds.mount_name().is_some()
            && mounted(partition, MountFlags::RDONLY, |root| Ok(is_on(root))) == Ok(true)
    });
    if carried { Ok(None) } else { Err(why) }
}

fn put_on(partitions: &[OnDisk], root: &Place) -> Result<Option<String>, String> {
    let partition = partitions
        .iter()
        .find(|partition| partition.number == root.number && partition.start == root.start)
        .ok_or("the kernel does not show its partition")?;
    if !matches!(partition.holds, FileSystem::Ext { .. } | FileSystem::Xfs { .. }) {
        return Err(format!("its root is {:?}, not ext4 or xfs", partition.holds));
    }
    mounted(partition, MountFlags::empty(), |root| put(root, Path::new(OURS)))
}

/// What `work` says of the file system of `partition`, which is mounted for that.
fn mounted<T>(
    partition: &OnDisk,
    flags: MountFlags,
    work: impl FnOnce(&Path) -> Result<T, String>,
) -> Result<T, String> {
    let failed = |action: &str, error: &dyn std::fmt::Display| format!("{action} {}: {error}", partition.device);
    fs::create_dir_all(MOUNT_POINT).map_err(|error| failed("make a mount point for", &error))?;
    let kind = partition.holds.mount_name().unwrap_or("ext4");
    let flags = flags | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(partition.device.as_str(), MOUNT_POINT, kind, flags, None).map_err(|error| failed("mount", &error))?;
    let result = work(Path::new(MOUNT_POINT));
    rustix::fs::sync();
    if let Err(error) = unmount(MOUNT_POINT, UnmountFlags::empty()) {
        warn!("cannot unmount {}: {error}", partition.device);
    }
    result
}

fn is_on(root: &Path) -> bool {
    PLACES.iter().any(|place| inside(root, place).is_some_and(|path| path.exists()))
}

fn put(root: &Path, agent: &Path) -> Result<Option<String>, String> {
    if is_on(root) {
        return Ok(None);
    }
    let folder = |path: &str| inside(root, path).filter(|path| path.is_dir());
    let (Some(units), Some(programs)) = (folder(UNITS), folder("usr/local/bin")) else {
        return Err("it has no systemd, or no /usr/local/bin".to_owned());
    };
    let written = || -> io::Result<()> {
        let program = fs::read(agent)?;
        write_new(&programs.join("bessemer-agent"), &program, 0o755)?;
        write_new(&units.join(UNIT_NAME), UNIT.as_bytes(), 0o644)?;
        let wants = format!("{UNITS}/multi-user.target.wants");
        let wants = inside(root, &wants).ok_or_else(|| io::Error::other(format!("{wants} leads nowhere")))?;
        fs::create_dir_all(&wants)?;
        match symlink(Path::new("/").join(UNITS).join(UNIT_NAME), wants.join(UNIT_NAME)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    };
    written().map_err(|error| format!("write: {error}"))?;
    info!("the image has no agent: put ours on it");
    Ok(Some("the agent was put on the image, which had none".to_owned()))
}

/// Writes a file that is whole or not there, in a folder without links. A link that has its name is replaced and not followed.
fn write_new(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let partial = path.with_extension("partial");
    match fs::remove_file(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Nothing that is there is opened.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&partial)?;
    file.write_all(content)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()?;
    fs::rename(&partial, path)
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

    /// What an image's links say of the folder of programs, and where the agent is then; none when it cannot be put anywhere.
    #[test]
    fn links_of_the_image_are_followed_inside_it_only() {
        let table: [(&str, &str, &str, Option<&str>); 4] = [
            ("an absolute one, as the installed system sees it", "usr/local", "/var/local", Some("var/local/bin")),
            ("the last part", "usr/local/bin", "../../var/local/bin", Some("var/local/bin")),
            ("out of the image", "usr/local", "OUTSIDE", None),
            ("up and out of it", "usr/local", "../../../OUTSIDE", None),
        ];
        for (what, link, target, place) in table {
            let folder = tempfile::tempdir().unwrap();
            let (root, outside, agent) =
                (folder.path().join("root"), folder.path().join("outside"), folder.path().join("agent"));
            fs::write(&agent, "program").unwrap();
            for path in [root.join(UNITS), root.join("usr/x"), root.join("var/local/bin"), outside.join("bin")] {
                fs::create_dir_all(path).unwrap();
            }
            fs::create_dir_all(root.join(link).parent().unwrap()).unwrap();
            symlink(target.replace("OUTSIDE", outside.to_str().unwrap()), root.join(link)).unwrap();
            let result = put(&root, &agent);
            assert_eq!(result.is_ok(), place.is_some(), "{what}: {result:?}");
            assert_eq!(fs::read_dir(outside.join("bin")).unwrap().count(), 0, "{what}: written outside of the image");
            if let Some(place) = place {
                assert_eq!(fs::read(root.join(place).join("bessemer-agent")).unwrap(), b"program", "{what}");
                assert_eq!(put(&root, &agent), Ok(None), "{what}: it is there");
            }
        }
    }

    #[test]
    fn a_file_that_is_a_link_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (root, ours) = (folder.path().join("root"), folder.path().join("ours"));
        fs::write(&ours, "ours").unwrap();
        for path in [UNITS, "usr/local/bin"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for path in ["usr/local/bin/bessemer-agent.partial", "etc/systemd/system/bessemer-agent.partial"] {
            symlink(&ours, root.join(path)).unwrap();
        }
        symlink(&ours, root.join(UNITS).join(UNIT_NAME)).unwrap();
        put(&root, Path::new("/etc/hostname")).unwrap();
        assert_eq!(fs::read_to_string(&ours).unwrap(), "ours");
        assert_eq!(fs::read_to_string(root.join(UNITS).join(UNIT_NAME)).unwrap(), UNIT);
    }
}
