//! One trait over every way to talk to a server's management controller (BMC).
//!
//! This room turns "power that server on, from the network" into protocol calls, and reads back what it wrote,
//! because BMCs apply late, partially or not at all while answering success. Reconcilers see [`Bmc`],
//! [`BmcConnector`] and [`BmcError`] and nothing else: no protocol, no vendor.
//!
//! It must not know Kubernetes, hosts' life cycles or whose turn it is: it does what it is told, once, and says
//! what came of it. It speaks IPMI 2.0 and Redfish; a new protocol is a folder beside `ipmi/` and `redfish/` and an arm
//! in [`connect`].

mod address;
mod boot;
mod connector;
mod credentials;
mod error;
#[cfg(feature = "fake")]
pub mod fake;
mod identity;
mod ipmi;
mod power;
mod redfish;
mod scheme;

pub use address::Address;
pub use boot::{BootDevice, BootFirmware, BootLifetime, BootOverride, ReadBack};
pub use connector::{BmcConnector, Connector, connect};
pub use credentials::Credentials;
pub use error::BmcError;
pub use identity::Identity;
pub use power::{PowerAction, PowerState};
pub use redfish_client::Trust;
pub use scheme::{BootVia, Protocol, Scheme};

use async_trait::async_trait;

/// A server's management controller. Cheap to share; calls to one BMC are carried out one after the other.
///
/// Every method ends within a deadline of its own (tens of seconds at most), opens or re-opens the session by
/// itself, and is safe to repeat: a call that failed half-way may simply be made again.
#[async_trait]
pub trait Bmc: Send + Sync {
    /// Who is answering. The cheapest call that proves address, credentials and privilege.
    async fn identify(&self) -> Result<Identity, BmcError>;

    /// Whether the server is powered now, as the BMC sees it.
    async fn power_state(&self) -> Result<PowerState, BmcError>;

    /// Asks for a power act and waits until the BMC reports its outcome.
    ///
    /// `On` and `ForceOff` return once the state reads back. `Reset` and `Cycle` return once the BMC has accepted
    /// them and reports the server powered. `GracefulOff` only delivers the request: the operating system may
    /// rightly ignore it, so whoever asks watches [`Bmc::power_state`] and decides when to force.
    ///
    /// # Errors
    /// [`BmcError::NotApplied`] when the BMC accepted the act and still reads the other state at the deadline.
    async fn power(&self, action: PowerAction) -> Result<(), BmcError>;

    /// Chooses what the server boots from next, and reads the choice back.
    ///
    /// # Errors
    /// [`BmcError::Contradicted`] when the BMC accepted the write and reads back another device.
    async fn set_boot_override(&self, wanted: BootOverride) -> Result<ReadBack, BmcError>;
}
