//! Processes by number and start time, so that a number used again is never taken for the one it was.

use std::path::Path;
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

    /// Waits until it has ended; false if it has not by `deadline`.
    #[must_use]
    pub fn wait_gone(self, deadline: Duration) -> bool {
        let Some(fd) = Pid::from_raw(self.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
            return true;
        };
        // opened before looked at: from here on the number cannot change hands unseen
        if !self.is_alive() {
            return true;
        }
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

/// Every process whose network namespace is the one with these numbers of device and inode.
pub(crate) fn in_namespace(device: u64, inode: u64) -> Vec<Process> {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(Path::new("/proc")) else { return vec![] };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            fs::metadata(format!("/proc/{pid}/ns/net"))
                .is_ok_and(|namespace| namespace.dev() == device && namespace.ino() == inode)
        })
        .filter_map(Process::of)
        .collect()
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
        drop(child.stdin.take());
        assert!(process.wait_gone(Duration::from_secs(10)));
        child.wait().unwrap();
        assert!(!process.is_alive());
        let other = Process { started: 1, ..Process::current().unwrap() };
        assert!(!other.is_alive());
        assert!(other.wait_gone(Duration::ZERO));
    }
}
