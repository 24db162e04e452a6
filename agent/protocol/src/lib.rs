//! The messages between the on-host agent and the controller, and nothing else.
//!
//! One HTTPS endpoint of the controller speaks them, under the name [`CONTROLLER_NAME`]:
//!
//! | request | client certificate | body → answer |
//! |---|---|---|
//! | `POST /v1/enrol` | none, the one-time token instead | [`EnrolRequest`] → [`EnrolResponse`] |
//! | `POST /v1/stream` | ramdisk or node | NDJSON [`Up`] ⇄ NDJSON [`Down`], HTTP/2, both ways at once |
//! | `POST /v1/node-certificate` | ramdisk, while its `Deploy` is open | [`NodeCertificateRequest`] → [`NodeCertificateResponse`] |
//! | `POST /v1/renew` | none; a node's earlier one and a proof of its key in the body | [`RenewRequest`] → [`RenewResponse`] |
//! | `GET /v1/bootstrap` | node | → [`Bootstrap`] |
//! | `POST /v1/discover` | none | [`DiscoverRequest`] → [`DiscoverResponse`] |
//!
//! A refusal is an HTTP error status with a [`Refusal`] as JSON body. This crate must not know how messages travel,
//! what a Kubernetes object is, or how a disk is written.

mod boot;
mod discover;
mod enrol;
mod erase;
mod hardware;
mod ids;
mod image;
mod line;
mod negotiate;
mod network;
mod node;
mod root;
mod seed;
mod stream;
mod work;

pub use boot::{BootReport, LeaveHow, LeaveReport, SetBootEntry};
pub use discover::{DiscoverRequest, DiscoverResponse};
pub use enrol::{BootConfig, EnrolRequest, EnrolResponse, HardwareIdentity, Refusal, Role};
pub use erase::{DiskIdentity, Erase, EraseMode, EraseReport, ErasedDisk, SkippedDisk, Unlisted};
pub use hardware::{
    Cpu, Dimm, Disk, Enclosure, Firmware, HardwareDetails, InBandBmc, LldpNeighbour, Nic, NvmeCapabilities, PciDevice,
    SystemVendor, Tpm, Unread,
};
pub use ids::{BootId, HostId, InvalidId, WorkId};
pub use image::{Checksum, Digest, DigestAlgorithm, Image, ImageFormat};
pub use line::{LineError, Lines, MAX_LINE, decode_line, encode_line};
pub use negotiate::{Negotiation, negotiate};
pub use network::{AddressSource, BondMode, Link, LinkKind, NetworkConfig, Route};
pub use node::{
    Bootstrap, Kubelet, NodeAddress, NodeCertificateRequest, NodeCertificateResponse, NodePhase, NodeReport,
    PhaseDuration, RenewRequest, RenewResponse,
};
pub use root::{Candidate, NoRootDisk, RootDeviceHints};
pub use seed::{BootstrapDelivery, IDENTITY_PATH, NOCLOUD_LABEL, NodeIdentity, SEED_LABEL, Seed, SeedLayout};
pub use stream::{Down, ItemState, MAX_LOG_LINE, Up};
pub use work::{Deploy, DeployReport, Failure, FailureCode, Outcome, Report, Work, WorkItem, WriteSeed};

/// The name in the controller's serving certificate; agents verify it whatever address they dial.
pub const CONTROLLER_NAME: &str = "controller.bessemer.internal";

/// Version of this protocol. Both sides speak every version from [`OLDEST_PROTOCOL`] on and settle on the newest that
/// they share, at enrolment and again in each stream's hello; where there is none, the refusal says so.
///
/// 2 added [`Down::Welcome`], [`Down::Refused`] and [`Up::Log`]; a side that speaks 1 is not sent them.
pub const PROTOCOL_VERSION: u32 = 2;

/// The oldest version that is still spoken.
pub const OLDEST_PROTOCOL: u32 = 1;

/// Where the per-boot overlay puts [`BootConfig`] in the ramdisk.
pub const BOOT_CONFIG_PATH: &str = "/etc/bessemer/boot.json";

/// How often an agent sends [`Up::Heartbeat`] on an idle stream, in seconds.
pub const HEARTBEAT_SECONDS: u64 = 20;
