//! The on-host agent: one static program with two lives.
//!
//! As PID 1 of the ramdisk it finds out what the machine is, writes an operating system to its disk and leaves. As a service of the
//! installed host it applies the bootstrap data, runs kubeadm and reports. Both lives talk to the controller over [`link`] and
//! to nobody else. This room must not know what a Kubernetes object of the management cluster is.

use std::process::ExitCode;

mod backoff;
mod console;
mod files;
mod identity;
mod ioctl;
mod kernel_log;
mod link;
mod mask;
mod memory;
mod node;
mod ramdisk;
mod syscall;
mod window;

/// This program's version, as reported to the controller.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    // The kernel hands words of its command line that it does not know to PID 1, and iPXE puts the kernel's own name there.
    if std::process::id() == 1 {
        memory::keep_for_images();
        return ramdisk::run();
    }
    if std::env::args().next().is_some_and(|name| name.ends_with("/modprobe")) {
        return ramdisk::modprobe(&std::env::args().next_back().unwrap_or_default());
    }
    let role = std::env::args().nth(1);
    match role.as_deref() {
        Some("node") => {
            console::start();
            node::run()
        }
        Some("apply") => {
            console::start();
            node::run_by_hand(std::env::args().skip(2))
        }
        Some("ramdisk") => {
            memory::keep_for_images();
            ramdisk::run()
        }
        Some("write-image") => {
            memory::keep_for_images();
            ramdisk::write_by_hand(&std::env::args().skip(2).collect::<Vec<_>>())
        }
        _ => {
            eprintln!(
                "bessemer-agent {VERSION}: say `node`, `apply` or `ramdisk`; as PID 1 it takes the ramdisk role by itself"
            );
            ExitCode::from(2)
        }
    }
}
