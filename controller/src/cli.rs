//! The command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use bessemer_pxe::Pool;
use clap::{Args, Parser, Subcommand};

use crate::controllers::Controllers;
use crate::logging::LogFormat;
use crate::serve::ServeOptions;
use crate::up::Subnet;

/// Turns racks of bare servers into Kubernetes clusters.
#[derive(Debug, Parser)]
#[command(name = "bessemer", version, about, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// How log lines on stderr look. `RUST_LOG` chooses levels.
    #[arg(long, value_enum, default_value = "human", global = true, env = "BESSEMER_LOG_FORMAT")]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run on this machine: a Kubernetes API of its own, the controllers, and with `--interface` the boot server and the
    /// agents' endpoint.
    Up(UpOptions),
    /// Run the controllers against a Kubernetes API that is there already.
    Serve(ServeOptions),
}

/// Where `bessemer up` listens and what it serves.
#[derive(Debug, Clone, Args)]
pub(crate) struct UpOptions {
    /// The network interface towards the hosts. DHCP is answered on this one only. Without it there is no boot server and no
    /// endpoint for agents: nothing needs root, and hosts are not provisioned.
    #[arg(long, value_name = "NAME", env = "BESSEMER_INTERFACE", requires = "ramdisk")]
    pub(crate) interface: Option<String>,

    /// Where the Kubernetes API keeps its objects; made if missing.
    #[arg(long, value_name = "DIR", env = "BESSEMER_STATE")]
    pub(crate) state: PathBuf,

    /// The ramdisk: a directory with `vmlinuz` and `initrd`.
    #[arg(long, value_name = "DIR", env = "BESSEMER_RAMDISK")]
    pub(crate) ramdisk: Option<PathBuf>,

    /// Which controllers run: `all`, `none`, or names of groups with commas between them.
    #[arg(long, value_name = "GROUPS", env = "BESSEMER_CONTROLLERS", default_value = "all")]
    pub(crate) controllers: Controllers,

    /// Also write the administrator's kubeconfig here, readable by its owner only.
    #[arg(long, value_name = "FILE", env = "BESSEMER_KUBECONFIG")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Our address and prefix length on the interface [default: the interface's first IPv4 address].
    #[arg(long, value_name = "IP/PREFIX")]
    pub(crate) address: Option<Subnet>,

    /// Addresses for hosts, both included [default: the upper half of the subnet].
    #[arg(long, value_name = "FIRST-LAST", value_parser = parse_pool)]
    pub(crate) pool: Option<Pool>,

    /// Default route told to the hosts.
    #[arg(long, value_name = "IP")]
    pub(crate) router: Option<Ipv4Addr>,

    /// Name server told to the hosts; may be repeated.
    #[arg(long, value_name = "IP")]
    pub(crate) dns: Vec<Ipv4Addr>,

    /// Port for boot files and images.
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub(crate) http_port: u16,

    /// Port for agents.
    #[arg(long, value_name = "PORT", default_value_t = 8444)]
    pub(crate) agent_port: u16,

    /// Where the Kubernetes API listens for kubectl.
    #[arg(long, value_name = "IP:PORT", env = "BESSEMER_API", default_value = "127.0.0.1:6443")]
    pub(crate) api: SocketAddr,

    /// Where metrics and `/healthz` are served without TLS [default: nowhere].
    #[arg(long, value_name = "IP:PORT", env = "BESSEMER_METRICS")]
    pub(crate) metrics: Option<SocketAddr>,

    /// A directory of OS images, served as `http://ADDRESS:HTTP-PORT/images/NAME`.
    #[arg(long, value_name = "DIR")]
    pub(crate) images_dir: Option<PathBuf>,

    /// iPXE for x64 UEFI: the build that drives the NIC through the firmware, since `ipxe.efi` hangs OVMF when it exits.
    #[arg(long, value_name = "FILE", default_value = "/usr/lib/ipxe/snponly.efi")]
    pub(crate) ipxe: PathBuf,

    /// Kernel arguments of the ramdisk.
    #[arg(long, value_name = "ARGS", default_value = "console=tty0 console=ttyS0", allow_hyphen_values = true)]
    pub(crate) kernel_args: String,
}

fn parse_pool(text: &str) -> Result<Pool, String> {
    let (first, last) = text.split_once('-').ok_or("expected two addresses with a dash between them")?;
    let address = |text: &str| text.trim().parse::<Ipv4Addr>().map_err(|_| format!("{text:?} is no IPv4 address"));
    Pool::new(address(first)?, address(last)?).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_pool_is_two_addresses() {
        let pool = parse_pool("10.77.0.100-10.77.0.199").unwrap();
        assert_eq!((pool.first(), pool.last()), ([10, 77, 0, 100].into(), [10, 77, 0, 199].into()));
        for wrong in ["", "10.77.0.100", "10.77.0.9-10.77.0.1", "a-b"] {
            assert!(parse_pool(wrong).is_err(), "{wrong}");
        }
    }
}
