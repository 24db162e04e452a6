//! The virtual rack: servers with real firmware (QEMU and OVMF) behind real BMC peers (`ipmi_sim`), on one bridge in
//! one network namespace, for the demo and every test that needs a host. It must not know Bessemer's API, agent or
//! images: to the rack a host is a disk, a network card and a power switch.
//!
//! A rack belongs to the process that started it. Between that process and the machines stands a *keeper*, a second
//! process that owns everything and ends it when its parent's end of a pipe closes, however that happened; what even
//! a killed keeper leaves behind is swept by the next start ([`Rack::sweep`]).
//!
//! ```no_run
//! use bessemer_rack::{HostSpec, Rack, Spec};
//! # fn main() -> anyhow::Result<()> {
//! let rack = Rack::start(&Spec::new("example", vec![HostSpec::new("cp-0")]))?;
//! let ping = rack.exec("ping").args(["-c1", "10.77.0.1"]).status()?;
//! assert!(ping.success());
//! rack.stop()?;
//! # Ok(())
//! # }
//! ```
//!
//! The program that calls [`Rack::start`] is also the keeper and the BMC's chassis hook: its `main` hands arguments
//! that start with [`HELPER`] to [`helper`].

mod bmc;
mod chassis;
mod follow;
mod helper;
mod keeper;
mod machine;
mod network;
mod place;
mod process;
mod protocol;
mod qemu;
mod rack;
mod spec;

pub use bmc::IpmiSim;
pub use follow::{tail, wait_for_text};
pub use helper::{HELPER, helper};
pub use machine::{Boot, End, HostState, Power};
pub use network::{BRIDGE, GATEWAY, NETWORK};
pub use process::Process;
pub use qemu::{OVMF_CODE, OVMF_VARS, QEMU};
pub use rack::{Host, Rack, Watch};
pub use spec::{BMC_PASSWORD, BMC_USER, HostSpec, Spec};
