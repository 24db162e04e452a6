//! The end of the ramdisk: by the firmware, by a switch, or straight into the kernel of the disk that was deployed ([`kexec`]).
//!
//! Everything that can fail is tried before the controller is told what will happen.

mod allowed;
mod installed;
mod kexec;
mod tree;

pub(super) use tree::inside;

use std::path::Path;
use std::time::Duration;

use bessemer_protocol::{LeaveHow, LeaveReport};
use rustix::system::{RebootCommand, reboot};
use tracing::{error, info};

/// Makes ready for `how`, and says what it will be. `disk` is the one that was deployed in this boot.
pub(super) fn prepare(how: LeaveHow, disk: Option<&str>) -> LeaveReport {
    if how != LeaveHow::Kexec {
        return LeaveReport { how, detail: None };
    }
    let ready = disk
        .ok_or_else(|| "nothing was deployed in this boot".to_owned())
        .and_then(|disk| allowed::check(Path::new("/sys"), Path::new("/proc")).map(|()| disk))
        .and_then(kexec::load);
    match ready {
        Ok(kernel) => LeaveReport { how: LeaveHow::Kexec, detail: Some(format!("into {kernel}")) },
        Err(why) => {
            info!("no kexec: {why}");
            LeaveReport { how: LeaveHow::Reboot, detail: Some(format!("no kexec: {why}")) }
        }
    }
}

/// Restarts, switches off, or starts the kernel that was loaded. Returns only if the kernel refuses, and then not before saying so for a
/// while: a PID 1 that ends takes the kernel down with a panic, which is no better.
pub(super) fn leave(how: LeaveHow) {
    rustix::fs::sync();
    let mut command = match how {
        LeaveHow::Reboot => RebootCommand::Restart,
        LeaveHow::Kexec => RebootCommand::Kexec,
        LeaveHow::PowerOff => RebootCommand::PowerOff,
    };
    info!("leaving: {how:?}");
    loop {
        match reboot(command) {
            Ok(()) => return,
            Err(refused) if command == RebootCommand::Kexec => {
                error!("the kernel does not {how:?}: {refused}; restarting through the firmware");
                command = RebootCommand::Restart;
                continue;
            }
            Err(refused) => error!("the kernel does not {how:?}: {refused}; trying again in 60 s"),
        }
        if std::process::id() != 1 {
            return;
        }
        std::thread::sleep(Duration::from_secs(60));
    }
}
