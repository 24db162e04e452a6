//! Room on the file systems that kubeadm, the kubelet, the runtime and etcd write to.

use std::path::{Path, PathBuf};

use rustix::fs::{StatVfs, statvfs};

use super::Findings;
use crate::node::kubeadm::config::Config;

/// Below this nothing works: certificates, manifests and the kubelet's state do not fit.
const LEAST: u64 = 64 << 20;

/// Below this the kubelet soon starts to throw pods out.
const COMFORT: u64 = 1 << 30;

pub(super) fn check(root: &Path, config: &Config, findings: &mut Findings) {
    let mut seen = Vec::new();
    for folder in ["etc/kubernetes", "var/lib/kubelet", "var/lib/containerd", "var/lib/etcd", "var/log"] {
        if folder == "var/lib/etcd" && !config.control_plane {
            continue;
        }
        let wanted = root.join(folder);
        let Some((existing, room)) = nearest(&wanted) else { continue };
        // One sentence for each file system, not for each folder on it.
        if seen.contains(&room.f_fsid) {
            continue;
        }
        seen.push(room.f_fsid);
        let (free, size) = (room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize);
        let (name, on) = (wanted.display(), existing.display());
        if free < LEAST {
            findings.fatal.push(format!(
                "the disk of {name} is full: {} KiB of {} MiB are free on the file system of {on}, at least {} MiB are needed; make room or deploy to a larger disk",
                free >> 10,
                size >> 20,
                LEAST >> 20
            ));
        } else if room.f_files > 0 && room.f_favail == 0 {
            findings.fatal.push(format!("the file system of {on} has no inode left for {name}: remove small files"));
        } else if free < COMFORT {
            findings.warnings.push(format!("only {} MiB are free for {name}: the kubelet may evict pods", free >> 20));
        }
    }
}

/// What will hold `path`: itself or what is there of the way to it.
fn nearest(path: &Path) -> Option<(PathBuf, StatVfs)> {
    path.ancestors().find_map(|path| Some((path.to_owned(), statvfs(path).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_yet_is_judged_by_what_will_hold_it() {
        let folder = tempfile::tempdir().unwrap();
        let (found, room) = nearest(&folder.path().join("var/lib/kubelet")).unwrap();
        assert_eq!(found, folder.path());
        assert!(room.f_blocks > 0);
    }

    #[test]
    fn a_file_system_without_room_is_fatal() {
        // /proc has no blocks at all.
        let mut findings = Findings::default();
        check(Path::new("/proc/self"), &Config::default(), &mut findings);
        assert_eq!(findings.fatal.len(), 1, "{findings:?}");
        assert!(findings.fatal[0].contains("is full"));
    }
}
