//! The messages between the on-host agent and the controller, and nothing else.
//!
//! One HTTPS endpoint of the controller speaks them, under the name [`CONTROLLER_NAME`]:
//!
//! | request | client certificate | body → answer |
//! |---|---|---|
//! | `POST /v1/enrol` | none, the one-time token instead | [`EnrolRequest`] → [`EnrolResponse`] |
//! | `POST /v1/stream` | ramdisk or node | NDJSON [`Up`] ⇄ NDJSON [`Down`], HTTP/2, both ways at once |
//! | `POST /v1/node-certificate` | ramdisk, while its `Deploy` is open | [`NodeCertificateRequest`] → [`NodeCertificateResponse`] |
//! | `GET /v1/bootstrap` | node | → [`Bootstrap`] |
//!
//! A refusal is an HTTP error status with a [`Refusal`] as JSON body. This crate must not know how messages travel,
//! what a Kubernetes object is, or how a disk is written.

mod boot;
mod enrol;
mod erase;
mod hardware;
mod ids;
mod image;
mod line;
mod network;
mod node;
mod seed;
mod stream;
mod work;

pub use boot::{BootReport, LeaveHow, LeaveReport, SetBootEntry};
pub use enrol::{BootConfig, EnrolRequest, EnrolResponse, HardwareIdentity, Refusal, Role};
pub use erase::{DiskIdentity, Erase, EraseMode, EraseReport, ErasedDisk, SkippedDisk, Unlisted};
pub use hardware::{
    Cpu, Dimm, Disk, Enclosure, Firmware, HardwareDetails, InBandBmc, LldpNeighbour, Nic, NvmeCapabilities, PciDevice,
    SystemVendor, Tpm, Unread,
};
pub use ids::{BootId, HostId, InvalidId, WorkId};
pub use image::{Checksum, Digest, DigestAlgorithm, Image, ImageFormat};
pub use line::{LineError, MAX_LINE, decode_line, encode_line};
pub use network::{AddressSource, BondMode, Link, LinkKind, NetworkConfig, Route};
pub use node::{Bootstrap, NodeAddress, NodeCertificateRequest, NodeCertificateResponse, NodePhase, NodeReport};
pub use seed::{BootstrapDelivery, IDENTITY_PATH, NOCLOUD_LABEL, NodeIdentity, SEED_LABEL, Seed, SeedLayout};
pub use stream::{Down, ItemState, Up};
pub use work::{
    Deploy, DeployReport, Failure, FailureCode, Outcome, Report, RootDeviceHints, Work, WorkItem, WriteSeed,
};

/// The name in the controller's serving certificate; agents verify it whatever address they dial.
pub const CONTROLLER_NAME: &str = "controller.bessemer.internal";

/// Version of this protocol; an agent and a controller of different versions refuse each other at enrolment.
pub const PROTOCOL_VERSION: u32 = 1;

/// Where the per-boot overlay puts [`BootConfig`] in the ramdisk.
pub const BOOT_CONFIG_PATH: &str = "/etc/bessemer/boot.json";

/// How often an agent sends [`Up::Heartbeat`] on an idle stream, in seconds.
pub const HEARTBEAT_SECONDS: u64 = 20;
