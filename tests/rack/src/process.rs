//! Processes by number and start time, so that a number used again is never taken for the one it was.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use std::{fs, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde::{Deserialize, Serialize};

/// A process of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pid: i32,
    /// In clock ticks since the machine's start (`proc(5)`, field 22 of `stat`).
    started: u64,
}

impl Process {
    /// The running process `pid`, or `None` if there is none.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        Some(Self { pid, started: started(pid)? })
    }

    /// The calling process.
    ///
    /// # Errors
    /// When `/proc` does not show it.
    pub fn current() -> io::Result<Self> {
        Self::of(std::process::id()).ok_or_else(|| io::Error::other("/proc does not show this process: is it mounted?"))
    }

    /// Its number.
    #[must_use]
    pub fn pid(self) -> i32 {
        self.pid
    }

    /// Still that process, and not a zombie.
    #[must_use]
    pub fn is_alive(self) -> bool {
        started(self.pid) == Some(self.started)
    }

    /// Sends a signal if it is alive.
    pub fn signal(self, signal: Signal) {
        if let (true, Some(pid)) = (self.is_alive(), Pid::from_raw(self.pid)) {
            // it may have ended in between: then there is nothing to do
            kill_process(pid, signal).ok();
        }
    }

    /// Becomes readable when it ends; `None` when it has.
    pub(crate) fn open(self) -> Option<OwnedFd> {
        let fd = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // opened before looked at: from here on the number cannot change hands unseen
        self.is_alive().then_some(fd)
    }

    /// Everything it has started, directly or not, that still runs and was not handed to another parent.
    #[must_use]
    pub fn descendants(self) -> Vec<Self> {
        let parents: Vec<(i32, Self)> = all().filter_map(|process| Some((parent(process.pid)?, process))).collect();
        let mut found = vec![self];
        let mut next = 0;
        while let Some(process) = found.get(next).copied() {
            found.extend(parents.iter().filter(|(parent, _)| *parent == process.pid).map(|(_, child)| *child));
            next += 1;
        }
        found.split_off(1)
    }

    /// Waits until it has ended; false if it has not by `deadline`.
    #[must_use]
    pub fn wait_gone(self, deadline: Duration) -> bool {
        let Some(fd) = self.open() else { return true };
        let timeout = Timespec { tv_sec: deadline.as_secs().cast_signed(), tv_nsec: deadline.subsec_nanos().into() };
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        matches!(poll(&mut fds, Some(&timeout)), Ok(1..))
    }
}

fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name in brackets may hold anything
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn all() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(Process::of)
}

/// Every process whose network namespace is the one with these numbers of device and inode.
pub(crate) fn in_namespace(device: u64, inode: u64) -> Vec<Process> {
    let inside = |process: &Process| {
        fs::metadata(format!("/proc/{}/ns/net", process.pid))
            .is_ok_and(|namespace| namespace.dev() == device && namespace.ino() == inode)
    };
    all().filter(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn an_ended_process_is_told_from_a_running_one() {
        assert!(Process::current().unwrap().is_alive());
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        assert!(process.is_alive());
        assert!(!process.wait_gone(Duration::ZERO));
        assert!(Process::current().unwrap().descendants().contains(&process));
        drop(child.stdin.take());
        assert!(process.wait_gone(Duration::from_secs(10)));
        child.wait().unwrap();
        assert!(!process.is_alive());
        let other = Process { started: 1, ..Process::current().unwrap() };
        assert!(!other.is_alive());
        assert!(other.wait_gone(Duration::ZERO));
    }
}
