//! What a boot server serves, and where: interfaces, the subnets behind them, and the programs. Whether it fits together
//! is said in words before anything starts.

mod check;
mod check_v6;
mod http;
mod programs;
mod subnet;
mod v6;

use std::path::PathBuf;
use std::time::Duration;

pub use check::InvalidConfig;
pub use check_v6::InvalidV6;
pub use http::{FirmwareTls, Http, HttpLimits, LoopLimits, Media};
pub use programs::{Ipxe, Ramdisk};
pub use subnet::{Interface, Mode, Reach, Route, Subnet};
pub use v6::{InterfaceV6, PoolV6Exhausted, SubnetV6};

pub use crate::tftp::TftpLimits;

/// One boot server, on any number of interfaces.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The interfaces towards hosts and relay agents. On each one DHCP is heard, and TFTP and HTTP listen on its address.
    pub interfaces: Vec<Interface>,
    /// The subnets of the hosts, on those interfaces or behind relay agents. What comes from no subnet of these is
    /// dropped.
    pub subnets: Vec<Subnet>,
    /// TCP port of the boot files; 0 takes a free one on each interface (see [`crate::BootServer::http_addresses`]).
    pub http_port: u16,
    /// Limits of the TFTP server.
    pub tftp: TftpLimits,
    /// The iPXE programs.
    pub ipxe: Ipxe,
    /// What is booted.
    pub ramdisk: Ramdisk,
    /// Other forms of it.
    pub media: Media,
    /// How it is served over HTTP.
    pub http: Http,
    /// A directory of OS images served as `/images/<name>`: plain files, no sub-directories. Symbolic links in it are
    /// followed.
    pub images_dir: Option<PathBuf>,
}

impl Config {
    /// Time the directory has for one answer: less than a DHCP client's first retransmission.
    pub const DIRECTORY_DEADLINE: Duration = Duration::from_secs(3);
}
