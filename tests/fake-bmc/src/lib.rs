//! Management controllers of servers that are not there, for tests: Redfish over HTTPS and IPMI over UDP, many in one
//! process, seeded from a tree of answers, with the write behaviour of real ones and with faults that can be switched
//! while they run.
//!
//! This crate must not know the product's clients: it is written from the specifications and from what vendors'
//! machines are known to do, so that a client tested against it is not tested against itself.

pub mod fleet;
pub mod host;
pub mod ipmi;
pub mod machine;
pub mod redfish;
pub mod seed;

pub use fleet::{FakeBmc, FleetOptions};
pub use host::{Host, HostOptions};
