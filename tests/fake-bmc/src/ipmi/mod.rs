//! The IPMI 2.0 side of a host: RMCP+ over UDP, cipher suites 17 and 3. It knows [`crate::host`] and nothing of Redfish.
//!
//! [`Server`] is one host's controller at one port. What it answers is made in layers, each with its own file: `wire` is
//! the envelope, `login` the handshake, `session` what is sealed, `message` requests and responses, `commands` what they
//! do, `sol` the serial console. [`Faults`] says where they misbehave.
//!
//! Sections are those of the *Intelligent Platform Management Interface Specification v2.0 rev. 1.1*.

mod boot_options;
mod commands;
mod controller;
mod crypto;
mod faults;
mod fru;
mod login;
mod message;
mod sdr;
mod sel;
mod sensors;
mod server;
mod session;
mod sol;
mod wire;

pub use faults::{Burst, Faults, Verdict};
pub use sensors::Sensors;
pub use server::{Options, Server};
pub use sol::HostConsole;
