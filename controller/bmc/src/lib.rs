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
mod bios;
mod bmc;
mod boot;
mod capabilities;
mod connector;
mod console;
mod credentials;
mod error;
mod events;
#[cfg(feature = "fake")]
pub mod fake;
mod firmware;
mod follow;
mod health;
mod identity;
mod inventory;
mod ipmi;
mod log;
mod mac;
mod media;
mod power;
mod redfish;
mod scheme;
mod secure_boot;
mod sensor;

pub use address::Address;
pub use bios::{Bios, BiosAttribute, BiosChoice, BiosDescription, BiosValue};
pub use bmc::Bmc;
pub use boot::{BootDevice, BootFirmware, BootLifetime, BootOverride, ReadBack};
pub use capabilities::{Capabilities, Capability, Support};
pub use connector::{BmcConnector, Connector, connect};
pub use console::{ConsoleAccess, ConsoleKind, ConsoleStream};
pub use credentials::Credentials;
pub use error::BmcError;
pub use events::{EventRecord, EventStream, KnownSubscription, Subscription, SubscriptionId, parse_events};
pub use firmware::{FirmwareApply, FirmwareFile, FirmwareImage, FirmwareJob, FirmwareProgress, FirmwareWays};
pub use follow::{FollowFirmware, follow_firmware_update};
pub use health::Health;
pub use identity::Identity;
pub use inventory::{Drive, Firmware, Inventory, MemoryModule, Nic, PowerSupply, Processor};
pub use log::LogEntry;
pub use mac::{MacAddress, NotAMacAddress};
pub use media::{InsertedMedia, MediaKind, MediaSlot, Medium};
pub use power::{PowerAction, PowerState};
pub use redfish_client::Trust;
pub use scheme::{BootVia, Protocol, Scheme};
pub use secure_boot::SecureBoot;
pub use sensor::{Sensor, SensorKind, Thresholds};
