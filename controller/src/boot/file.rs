//! The configuration file of a boot server that stands alone: what a person writes, in YAML, before anything of it is
//! looked at on this machine.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use serde::Deserialize;

/// The whole file. Unknown keys are refused: a misspelt one would be silently without effect.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct BootFile {
    /// Towards the hosts or their relay agents.
    pub(crate) interfaces: Vec<InterfaceFile>,
    /// Of the hosts, IPv4.
    #[serde(default)]
    pub(crate) subnets: Vec<SubnetFile>,
    /// The controllers' endpoints for agents, such as `https://10.0.0.5:8444`: what hosts are told.
    pub(crate) controllers: Vec<String>,
    /// A directory with `vmlinuz` and `initrd`.
    pub(crate) ramdisk: PathBuf,
    /// The same for 64-bit ARM.
    pub(crate) arm64_ramdisk: Option<PathBuf>,
    /// Kernel arguments of the ramdisk.
    #[serde(default = "kernel_args")]
    pub(crate) kernel_args: String,
    /// iPXE programs.
    #[serde(default)]
    pub(crate) ipxe: IpxeFile,
    /// A unified kernel image for UEFI firmware that boots over HTTP.
    pub(crate) uki: Option<PathBuf>,
    /// An ISO for virtual media.
    pub(crate) iso: Option<PathBuf>,
    /// TLS for firmware; only in a program that was built with it.
    pub(crate) tls: Option<TlsFile>,
    /// Learn about machines that no BareMetalHost knows: they boot the ramdisk without any secret and report their
    /// hardware.
    #[serde(default)]
    pub(crate) discovery: bool,
    /// A directory of OS images.
    pub(crate) images_dir: Option<PathBuf>,
    /// TCP port of the boot files.
    #[serde(default = "http_port")]
    pub(crate) http_port: u16,
}

/// One interface of this machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct InterfaceFile {
    pub(crate) name: String,
    /// Which of its IPv4 addresses, with the prefix length; by default the first.
    pub(crate) address: Option<String>,
    /// Its IPv6 address that is not link-local; none: no DHCPv6 on it.
    pub(crate) ipv6: Option<Ipv6Addr>,
    /// Answer router solicitations: only where nobody else advertises.
    #[serde(default)]
    pub(crate) router_advertisements: bool,
    /// IPv6 subnets, on the link or behind relay agents.
    #[serde(default)]
    pub(crate) subnets_v6: Vec<SubnetV6File>,
}

/// One IPv4 subnet of hosts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SubnetFile {
    /// In CIDR form.
    pub(crate) prefix: String,
    /// The interface on whose link it is; none: behind relay agents only.
    pub(crate) interface: Option<String>,
    #[serde(default)]
    pub(crate) mode: ModeFile,
    /// `FIRST-LAST`, both included.
    pub(crate) pool: Option<String>,
    pub(crate) router: Option<Ipv4Addr>,
    #[serde(default)]
    pub(crate) dns: Vec<Ipv4Addr>,
    #[serde(default)]
    pub(crate) ntp: Vec<Ipv4Addr>,
    pub(crate) domain: Option<String>,
    #[serde(default)]
    pub(crate) routes: Vec<RouteFile>,
    /// Seconds.
    pub(crate) lease_seconds: Option<u64>,
    /// No other DHCP server gives out addresses of this subnet.
    #[serde(default)]
    pub(crate) authoritative: bool,
}

/// What is done for the machines of a subnet.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ModeFile {
    /// Addresses and boot files.
    #[default]
    Full,
    /// Boot files only, beside another DHCP server.
    Proxy,
    /// No DHCP.
    Off,
}

/// A route told to hosts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RouteFile {
    /// In CIDR form.
    pub(crate) to: String,
    /// A router; `0.0.0.0`: on the link itself.
    pub(crate) via: Ipv4Addr,
}

/// One IPv6 subnet of hosts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SubnetV6File {
    /// In CIDR form.
    pub(crate) prefix: String,
    /// `FIRST-LAST`, both included.
    pub(crate) pool: Option<String>,
    #[serde(default)]
    pub(crate) dns: Vec<Ipv6Addr>,
    /// Seconds.
    pub(crate) lease_seconds: Option<u64>,
}

/// Old TLS for firmware, with an RSA key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TlsFile {
    pub(crate) port: u16,
    /// PEM, with those above it.
    pub(crate) certificate: PathBuf,
    /// PEM.
    pub(crate) key: PathBuf,
    /// Our iPXE programs have HTTPS and the authority built in: they go on over TLS.
    #[serde(default)]
    pub(crate) ipxe: bool,
}

/// Paths of iPXE programs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct IpxeFile {
    /// x64 UEFI.
    pub(crate) x64: PathBuf,
    /// BIOS.
    pub(crate) bios: Option<PathBuf>,
    /// 64-bit ARM UEFI.
    pub(crate) arm64: Option<PathBuf>,
}

impl Default for IpxeFile {
    fn default() -> Self {
        // Of Debian's package `ipxe`, both in one folder; a site without BIOS servers may lack the second.
        let bios = PathBuf::from("/usr/lib/ipxe/undionly.kpxe");
        Self { x64: "/usr/lib/ipxe/snponly.efi".into(), bios: bios.exists().then_some(bios), arm64: None }
    }
}

fn kernel_args() -> String {
    "console=tty0 console=ttyS0".to_owned()
}

fn http_port() -> u16 {
    8080
}
