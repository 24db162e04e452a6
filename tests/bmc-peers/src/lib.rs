//! Other people's management controllers, each with an emulated server behind it that boots for real: sushy-tools'
//! Redfish emulator, pyghmi's and OpenIPMI's IPMI servers, virtualbmc. The tests of this crate hold the product's
//! clients against them, and other people's clients against the fake BMC.
//!
//! The library knows how to start and end those programs and what the server behind them booted. It must not know the
//! product's clients: only its tests do.

mod boot_log;
mod daemon;
mod ipmi;
mod libvirt;
mod machine;
mod missing;
mod payload;
mod python;
mod redfish;
mod switch;

pub use daemon::{Daemon, free_tcp_port, free_udp_port};
pub use ipmi::{Pyghmi, Simulator, ipmi_sim, pyghmi};
pub use libvirt::Libvirt;
pub use machine::{Boot, Machine};
pub use missing::{libvirt_cannot_run, missing_program};
pub use payload::{boot_image, boot_program, cd_image, disk_image};
pub use python::peers;
pub use redfish::{PASSWORD, SushyFake, USER};
pub use switch::Switch;
