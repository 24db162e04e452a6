//! Where a rack keeps its files, whose it is, and how what an interrupted run left is swept away.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, io};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::network::Namespace;
use crate::process::Process;

/// Names the folder that holds a folder per rack, instead of [`ROOT`].
const ROOT_VARIABLE: &str = "BESSEMER_RACK_DIR";

/// Short, because names of sockets have an end at 107 bytes; on a disk, because it holds the hosts' disks.
const ROOT: &str = "/var/lib/bessemer-rack";

/// The file that makes a folder a rack's.
const HOLDERS: &str = "holders.json";

/// How long a keeper whose parent is gone may take to end everything.
const KEEPER_ENDS: Duration = Duration::from_secs(20);

/// How long a killed process may take to be gone.
const KILLED_ENDS: Duration = Duration::from_secs(10);

/// The folder of one rack.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    dir: PathBuf,
    pub(crate) namespace: Namespace,
}

/// Who holds the rack, as written into its folder.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Holders {
    /// Started it, and ends it.
    pub(crate) owner: Option<Process>,
    /// Carries it.
    pub(crate) keeper: Option<Process>,
    /// Carried on by its keeper after its owner's end.
    #[serde(default)]
    pub(crate) kept: bool,
}

impl Holders {
    /// Whether whoever started it is still there.
    pub(crate) fn owner_lives(&self) -> bool {
        self.owner.is_some_and(Process::is_alive)
    }
}

impl Place {
    pub(crate) fn of_rack(id: &str) -> Result<Self> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let good = !id.is_empty() && id.len() <= 20 && id.chars().all(allowed);
        ensure!(good, "rack id {id:?}: use at most 20 of a-z, 0-9 and -");
        Ok(Self { dir: root().join(id), namespace: Namespace::of_rack(id) })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.join("keeper.sock")
    }

    pub(crate) fn keeper_log(&self) -> PathBuf {
        self.dir.join("keeper.log")
    }

    /// The program that is keeper and hook: a copy, because a build may replace the one that started the rack.
    pub(crate) fn helper(&self) -> PathBuf {
        self.dir.join("rack-helper")
    }

    pub(crate) fn spec(&self) -> PathBuf {
        self.dir.join("spec.json")
    }

    pub(crate) fn host(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The folder, new, and this process as its owner.
    pub(crate) fn claim(&self) -> Result<()> {
        fs::create_dir_all(root()).with_context(|| format!("cannot create {}", root().display()))?;
        fs::create_dir(&self.dir).with_context(|| format!("cannot create {}", self.dir.display()))?;
        self.write_holders(&Holders { owner: Some(Process::current()?), ..Holders::default() })
    }

    pub(crate) fn write_holders(&self, holders: &Holders) -> Result<()> {
        let path = self.holders_path();
        // renamed into place: a sweep that reads meanwhile must not take the rack for abandoned
        let fresh = path.with_extension("new");
        fs::write(&fresh, serde_json::to_vec(holders)?)
            .and_then(|()| fs::rename(&fresh, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    pub(crate) fn holders(&self) -> Holders {
        // a run that was killed before it wrote them had started nothing yet
        fs::read(self.holders_path()).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    fn holders_path(&self) -> PathBuf {
        self.dir.join(HOLDERS)
    }

    /// Makes sure that nothing of an earlier rack of this name is left. Says what it found; errors if it is in use.
    pub(crate) fn sweep(&self) -> Result<Option<String>> {
        self.is_ours()?;
        let holders = self.holders();
        if let Some(owner) = holders.owner.filter(|owner| owner.is_alive()) {
            bail!("rack {} is in use by process {}: wait for it or end it", self.dir.display(), owner.pid());
        }
        if let Some(keeper) = holders.keeper.filter(|keeper| keeper.is_alive()) {
            if holders.kept {
                keeper.signal(Signal::TERM);
            }
            if !keeper.wait_gone(KEEPER_ENDS) {
                keeper.signal(Signal::KILL);
            }
        }
        let left = self.dir.exists() || self.namespace.path().exists();
        let ended = self.clear()?;
        Ok(left.then(|| format!("swept {}: {ended} processes, its namespace and files", self.dir.display())))
    }

    /// Refuses a folder or a namespace that no rack under this root made: it is somebody else's, and sweeping it would
    /// delete their files or end their processes. A rack has its holders written before anything else is made.
    fn is_ours(&self) -> Result<()> {
        if self.holders_path().exists() {
            return Ok(());
        }
        ensure!(
            !self.namespace.path().exists(),
            "network namespace {} belongs to no rack under {}: end that rack where it was started, or remove it with \
             `ip netns delete`",
            self.namespace.path().display(),
            root().display()
        );
        match fs::remove_dir(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).with_context(|| {
                format!("{} is not a rack's folder: choose another {ROOT_VARIABLE} or remove it", self.dir.display())
            }),
            _ => Ok(()),
        }
    }

    /// Ends everything in the namespace except the calling process, and removes namespace and files. Says how many
    /// processes it ended.
    pub(crate) fn clear(&self) -> Result<usize> {
        let own = Process::current()?;
        let others: Vec<_> = self.namespace.processes().into_iter().filter(|process| *process != own).collect();
        others.iter().for_each(|process| process.signal(Signal::KILL));
        for process in &others {
            ensure!(process.wait_gone(KILLED_ENDS), "process {} of the rack cannot be killed", process.pid());
        }
        self.namespace.delete()?;
        match fs::remove_dir_all(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.dir.display()))
            }
            _ => Ok(others.len()),
        }
    }
}

fn root() -> PathBuf {
    env::var_os(ROOT_VARIABLE).filter(|value| !value.is_empty()).map_or_else(|| PathBuf::from(ROOT), PathBuf::from)
}

/// The ids of the racks that have a folder.
pub(crate) fn known() -> Vec<String> {
    let Ok(entries) = fs::read_dir(root()) else { return vec![] };
    entries
        .flatten()
        .filter(|entry| entry.path().join(HOLDERS).exists())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(dir: PathBuf) -> Place {
        Place { dir, namespace: Namespace::of_rack("nobodys") }
    }

    #[test]
    fn a_folder_that_is_no_racks_is_not_swept() {
        let root = tempfile::tempdir().unwrap();
        let theirs = root.path().join("work");
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("thesis.txt"), "years").unwrap();
        let error = place(theirs.clone()).sweep().unwrap_err();
        assert!(format!("{error:#}").contains("is not a rack's folder"), "{error:#}");
        assert_eq!(fs::read_to_string(theirs.join("thesis.txt")).unwrap(), "years");
    }

    #[test]
    fn a_folder_claimed_and_abandoned_is_swept() {
        let root = tempfile::tempdir().unwrap();
        let ours = place(root.path().join("rack"));
        fs::create_dir(&ours.dir).unwrap();
        ours.write_holders(&Holders::default()).unwrap();
        assert!(ours.sweep().unwrap().is_some());
        assert!(!ours.dir.exists());
    }
}
