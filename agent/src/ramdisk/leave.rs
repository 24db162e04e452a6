//! The end of the ramdisk.

use std::time::Duration;

use bessemer_protocol::LeaveHow;
use rustix::system::{RebootCommand, reboot};
use tracing::{error, info};

/// Restarts or switches off. Returns only if the kernel refuses, and then not before saying so for a while: a PID 1 that ends takes
/// the kernel down with a panic, which is no better.
pub(super) fn leave(how: LeaveHow) {
    rustix::fs::sync();
    let command = match how {
        LeaveHow::Reboot | LeaveHow::Kexec => RebootCommand::Restart,
        LeaveHow::PowerOff => RebootCommand::PowerOff,
    };
    info!("leaving: {how:?}");
    loop {
        match reboot(command) {
            Ok(()) => return,
            Err(refused) => error!("the kernel does not {how:?}: {refused}; trying again in 60 s"),
        }
        if std::process::id() != 1 {
            return;
        }
        std::thread::sleep(Duration::from_secs(60));
    }
}
