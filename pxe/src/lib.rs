//! The boot server: DHCP (of both families), TFTP and HTTP boot on any number of interfaces, from the firmware's first
//! broadcast to a running ramdisk.
//!
//! It knows protocols and firmware, and nothing else: no Kubernetes, no host states, no policy. Whatever depends on
//! *which* machine is asking (may it have an address, what shall it boot, what secrets travel with the ramdisk) is a
//! question to the [`HostDirectory`] that the embedding program implements.
//!
//! One boot, in order:
//!
//! 1. Firmware broadcasts a DISCOVER. [`HostDirectory::lease`] decides whether the machine is ours (`None`: silence) and
//!    [`HostDirectory::boot_target`] what it is for. Plain PXE firmware is sent to iPXE over TFTP, UEFI HTTP boot to
//!    iPXE over HTTP. If asked to, IPv6 router solicitations are answered too, since iPXE waits for that.
//! 2. iPXE asks again, says that it is iPXE, and is sent to a script: `/b/<boot id>/boot.ipxe` for the ramdisk,
//!    `/local.ipxe` to continue with the disk, `/hold.ipxe` for a machine that should be off.
//! 3. The script loads `/b/<boot id>/kernel` and `/b/<boot id>/initrd`; the latter is the ramdisk with the
//!    [`Overlay`] of [`HostDirectory::overlay`] appended as a second cpio archive.
//!
//! Where another server gives out the addresses ([`Mode::Proxy`]) the second step is all of DHCP that is left, on ports
//! 67 and 4011. Subnets behind relay agents ([`Reach::Relayed`]) are served on whichever interface hears the relay.
//! Several servers over one directory may serve the same subnet: whichever a machine chooses, its address is the same,
//! and the others stay silent about it.
//!
//! A machine with a system of its own ([`BootTarget::LocalDisk`]) is let go at once: plain firmware is named a file that
//! does not exist, which takes it to its next boot entry within seconds, where no answer would stall it for a minute.
//!
//! A machine that should be off ([`BootTarget::PowerOff`]) is held in iPXE, asking again every half minute. Silence or a
//! script that exits would let firmware fall through to the disk, where the previous tenant's system is; cutting the
//! power is the BMC's work.
//!
//! Each exchange is one [`Exchange`]: a structured `tracing` event, a count in [`Metrics`], and a call of
//! [`HostDirectory::observed`].

mod binding;
mod breaker;
mod client;
mod config;
mod cpio;
mod deadline;
mod dhcp;
mod dhcp6;
mod directory;
mod error;
mod http;
mod identity;
mod media;
mod metrics;
mod offload;
mod overlay;
mod pe;
mod pool;
mod prefix;
mod programs;
mod router_advert;
mod script;
mod server;
mod tftp;
mod trace;

pub use client::{ClientIdentity, Relay};
pub use config::{
    Config, FirmwareTls, Http, HttpLimits, Interface, InterfaceV6, InvalidConfig, InvalidV6, Ipxe, LoopLimits, Media,
    Mode, PoolV6Exhausted, Ramdisk, Reach, Route, Subnet, SubnetV6, TftpLimits,
};
pub use dhcp::{
    DecodeError as DhcpDecodeError, MessageType, Options as DhcpOptions, Packet as DhcpPacket, fuzz as fuzz_dhcp,
};
pub use dhcp6::{
    DecodeError as Dhcp6DecodeError, Envelope as Dhcp6Envelope, Kind as Dhcp6Kind, Message as Dhcp6Message,
    Options as Dhcp6Options, RelayHeader as Dhcp6RelayHeader, fuzz as fuzz_dhcp6,
};
pub use directory::{BootTarget, DirectoryError, HostDirectory, Lease, LeaseV6};
pub use error::Error;
pub use http::fuzz as fuzz_http;
pub use identity::{BootId, ClientArch, InvalidIdentity, MacAddr};
pub use media::{Iso, IsoError, Part as IsoPart, SLOT_MAGIC, Uki, UkiError, fuzz as fuzz_media};
pub use metrics::{ExchangeCount, Metrics, Trouble};
pub use overlay::{BootFiles, Overlay, OverlayFile};
pub use pe::PeError;
pub use pool::{InvalidPool, Pool, PoolExhausted};
pub use prefix::{InvalidPrefix, Prefix};
pub use programs::InvalidProgram;
pub use script::{CustomScript, InvalidValue};
pub use server::BootServer;
pub use tftp::{DecodeError as TftpDecodeError, Packet as TftpPacket, fuzz as fuzz_tftp, served as tftp_files};
pub use trace::{Answer, Exchange, Phase, Protocol};
