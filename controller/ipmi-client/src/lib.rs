//! An asynchronous IPMI 2.0 (RMCP+) client.
//!
//! [`Client`] keeps at most one session to one BMC, opens it when first needed, re-opens it when it is lost, and
//! carries out typed [`command`]s one after the other, each within a deadline:
//!
//! ```no_run
//! # async fn example() -> Result<(), ipmi_client::IpmiError> {
//! use ipmi_client::command::{ChassisControl, GetChassisStatus};
//! use ipmi_client::{Client, Login, Options};
//!
//! let client = Client::new("bmc-17.example.org", 623, Login::new("admin", "secret")?, Options::default());
//! if !client.execute(&GetChassisStatus).await?.power_is_on {
//!     client.execute(&ChassisControl::PowerUp).await?;
//! }
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! What takes many commands has a method of its own: [`Client::read_sel`], [`Client::read_sdr`],
//! [`Client::read_sensor`], [`Client::read_fru`], [`Client::read_lan`]; [`Client::console`] is the serial console as a
//! stream.
//!
//! The protocol itself ([`handshake`], [`session`], [`message`], [`packet`], [`sdr`], [`sel`], [`fru`], [`sol::Link`]) is plain state without sockets or clocks;
//! [`Client`] is the thin tokio driver around it. Section numbers in these pages are those of the *Intelligent
//! Platform Management Interface Specification v2.0 rev. 1.1*.
//!
//! This crate must not know what a command is wanted for: no policy about hosts, no vendor quirks, no retries of
//! whole operations. Only authenticated and encrypted cipher suites exist in it.

mod bytes;
mod client;
pub mod command;
mod completion;
mod crypto;
mod error;
pub mod fru;
pub mod handshake;
mod login;
pub mod message;
mod open;
mod options;
pub mod packet;
mod rakp;
mod read;
pub mod sdr;
pub mod sel;
pub mod session;
pub mod sol;
mod suite;
mod text;
mod wire;

pub use client::Client;
pub use completion::CompletionCode;
pub use error::{IpmiError, Malformed, SetupStatus};
pub use login::{Login, Privilege};
pub use options::{Downgrade, Options};
pub use read::{LanInterface, Reading, SdrInventory, SelPage, SensorValue, Thresholds};
pub use suite::{CipherSuite, SUITE_3, SUITE_17};
