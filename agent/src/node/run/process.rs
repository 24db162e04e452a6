//! A process by what no other one has: its number, when it started, and the start of the kernel that counts so.

use std::io;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::node::watch::boot_id;
use crate::{files, ioctl};

/// In which the kernel says when a process started, whatever its own clock does (`USER_HZ`).
const TICKS_A_SECOND: u64 = 100;

/// The first of a group of processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::node) struct Process {
    pid: i32,
    /// In ticks since the kernel's start.
    started: u64,
    boot_id: String,
}

impl Process {
    /// The process that has this number now.
    pub(super) fn of(pid: u32) -> io::Result<Self> {
        let unknown = || io::Error::other(format!("process {pid} cannot be told from others"));
        let number = i32::try_from(pid).map_err(|_| unknown())?;
        let started = started(number).ok_or_else(unknown)?;
        Ok(Self { pid: number, started, boot_id: boot_id().ok_or_else(unknown)? })
    }

    /// Whether the host has not been started since.
    pub(in crate::node) fn is_of_this_start(&self) -> bool {
        boot_id().as_ref() == Some(&self.boot_id)
    }

    /// Returns when there is no such process, or no longer.
    pub(super) async fn ended(&self) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(process) = pidfd_open(pid, PidfdFlags::NONBLOCK) else { return };
        // Asked for after it is held: the number may be another one's by now.
        if !self.is_there() {
            return;
        }
        match ioctl::awaited(process) {
            Ok(process) => drop(process.readable().await),
            Err(error) => warn!("process {}: its end is not seen: {error}", self.pid),
        }
    }

    /// Ends it with all of its group.
    pub(super) fn end(&self) {
        if let Some(group) = Pid::from_raw(self.pid).filter(|_| self.is_there())
            && let Err(error) = kill_process_group(group, Signal::KILL)
        {
            warn!("cannot end what a command left: {error}");
        }
    }

    /// Since its start.
    pub(super) fn age(&self) -> Duration {
        let now = u64::try_from(clock_gettime(ClockId::Boottime).tv_sec).unwrap_or(0);
        Duration::from_secs(now.saturating_sub(self.started / TICKS_A_SECOND))
    }

    fn is_there(&self) -> bool {
        self.is_of_this_start() && started(self.pid) == Some(self.started)
    }
}

/// Field 22 of `stat`; the second one may have blanks and brackets in it.
fn started(pid: i32) -> Option<u64> {
    let stat = files::line(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[tokio::test]
    async fn a_process_is_waited_for_and_another_of_its_number_is_not() {
        let mut child = Command::new("sleep").arg("300").spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        assert!(process.is_of_this_start() && process.age() < Duration::from_secs(60));
        let short = Duration::from_millis(100);
        assert!(tokio::time::timeout(short, process.ended()).await.is_err(), "it is still there");
        for other in [
            Process { started: process.started + 1, ..process.clone() },
            Process { boot_id: "another".into(), ..process.clone() },
            Process { pid: i32::MAX, ..process.clone() },
        ] {
            tokio::time::timeout(short, other.ended()).await.unwrap();
            other.end();
        }
        assert!(tokio::time::timeout(short, process.ended()).await.is_err(), "another was ended, not this one");
        child.kill().unwrap();
        tokio::time::timeout(Duration::from_secs(5), process.ended()).await.unwrap();
        child.wait().unwrap();
    }
}
