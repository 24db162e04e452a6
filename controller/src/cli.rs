//! The command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use bessemer_pxe::Pool;
use clap::{Args, Parser, Subcommand};

use crate::bmc::BmcOptions;
use crate::boot::BootOptions;
use crate::controllers::Controllers;
use crate::host::HostOptions;
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
    /// Run only the boot server (DHCP, TFTP, HTTP) near the hosts, beside a controller elsewhere.
    Boot(BootOptions),
    /// Speak to one server's management controller (BMC), without any cluster.
    Bmc(BmcOptions),
    /// Ask about one server, through a Kubernetes API.
    Host(HostOptions),
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

    /// Also write the administrator's kubeconfig here, readable by its owner only; never over a file that is not ours.
    #[arg(long, value_name = "FILE", env = "BESSEMER_KUBECONFIG")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Our address and prefix length on the interface [default: the interface's first IPv4 address].
    #[arg(long, value_name = "IP/PREFIX", requires = "interface")]
    pub(crate) address: Option<Subnet>,

    /// Addresses for hosts, both included [default: the upper half of the subnet].
    #[arg(long, value_name = "FIRST-LAST", value_parser = parse_pool, requires = "interface")]
    pub(crate) pool: Option<Pool>,

    /// Default route told to the hosts.
    #[arg(long, value_name = "IP", requires = "interface")]
    pub(crate) router: Option<Ipv4Addr>,

    /// Name server told to the hosts; may be repeated.
    #[arg(long, value_name = "IP", requires = "interface")]
    pub(crate) dns: Vec<Ipv4Addr>,

    /// Port for boot files and images.
    #[arg(long, value_name = "PORT", default_value_t = 8080, requires = "interface")]
    pub(crate) http_port: u16,

    /// Port for agents.
    #[arg(long, value_name = "PORT", default_value_t = 8444, requires = "interface")]
    pub(crate) agent_port: u16,

    /// Where the Kubernetes API listens for kubectl.
    #[arg(long, value_name = "IP:PORT", env = "BESSEMER_API", default_value = "127.0.0.1:6443")]
    pub(crate) api: SocketAddr,

    /// Where metrics and `/healthz` are served without TLS [default: nowhere].
    #[arg(long, value_name = "IP:PORT", env = "BESSEMER_METRICS")]
    pub(crate) metrics: Option<SocketAddr>,

    /// A directory of OS images, served as `http://ADDRESS:HTTP-PORT/images/NAME`.
    #[arg(long, value_name = "DIR", requires = "interface")]
    pub(crate) images_dir: Option<PathBuf>,

    /// iPXE for x64 UEFI: the build that drives the NIC through the firmware, since `ipxe.efi` hangs OVMF when it exits.
    #[arg(long, value_name = "FILE", default_value = "/usr/lib/ipxe/snponly.efi", requires = "interface")]
    pub(crate) ipxe: PathBuf,

    /// The ramdisk as an ISO, for hosts whose BMC's address asks for virtual media (`redfish-virtualmedia://` and the like).
    #[arg(long, value_name = "FILE", requires = "interface")]
    pub(crate) iso: Option<PathBuf>,

    /// Root URL of the boot files as BMCs reach them [default: `http://ADDRESS:HTTP-PORT`].
    #[arg(long, value_name = "URL", requires = "iso", value_parser = parse_root)]
    pub(crate) media_url: Option<String>,

    /// Withhold clusters' secrets from hosts that anybody on the boot network could have given another system: all but those
    /// whose BMC verified, over HTTPS, where their medium comes from.
    #[arg(long, requires = "interface", env = "BESSEMER_REQUIRE_TRUSTED_BOOT")]
    pub(crate) require_trusted_boot: bool,

    /// Learn about machines that no BareMetalHost knows: they boot the ramdisk without any secret, and what they report lies
    /// in HostRecords called `discovered-MAC`.
    #[arg(long, requires = "interface")]
    pub(crate) discovery: bool,

    /// Kernel arguments of the ramdisk.
    #[arg(
        long,
        value_name = "ARGS",
        default_value = "console=tty0 console=ttyS0",
        allow_hyphen_values = true,
        requires = "interface"
    )]
    pub(crate) kernel_args: String,
}

fn parse_root(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    match rest {
        Some(host) if !host.is_empty() && !text.contains(['?', '#', '@', ' ']) => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err(format!("{text:?} is no http:// or https:// URL without user and query")),
    }
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
    fn what_hosts_need_is_no_use_without_an_interface() {
        let up = ["bessemer", "up", "--state", "/nonexistent"];
        let with =
            |more: &[&str]| Cli::try_parse_from(up.iter().chain(more)).map(drop).map_err(|error| error.to_string());
        assert_eq!(with(&[]), Ok(()));
        for (flag, value) in [
            ("--address", "10.77.0.1/24"),
            ("--pool", "10.77.0.100-10.77.0.199"),
            ("--router", "10.77.0.1"),
            ("--dns", "10.77.0.1"),
            ("--http-port", "8080"),
            ("--agent-port", "8444"),
            ("--images-dir", "DIR"),
            ("--ipxe", "FILE"),
            ("--iso", "FILE"),
            ("--kernel-args", "quiet"),
        ] {
            let error = with(&[flag, value]).unwrap_err();
            assert!(error.contains("--interface <NAME>"), "{flag}: {error}");
            assert_eq!(with(&[flag, value, "--interface", "lo", "--ramdisk", "DIR"]), Ok(()), "{flag}");
        }
    }

    #[test]
    fn serve_leaves_the_kubeconfig_variable_to_the_client_and_refuses_hosts() {
        let command = Cli::command();
        let serve = command.find_subcommand("serve").unwrap();
        let kubeconfig = serve.get_arguments().find(|argument| argument.get_id() == "kubeconfig").unwrap();
        assert_eq!(kubeconfig.get_env(), None);
        let error = Cli::try_parse_from(["bessemer", "serve", "--controllers", "metal3"]).unwrap_err().to_string();
        assert!(error.contains("bessemer up --interface"), "{error}");
    }

    #[test]
    fn the_root_of_media_is_a_plain_url() {
        assert_eq!(parse_root("http://10.77.0.1:8080/").as_deref(), Ok("http://10.77.0.1:8080"));
        for wrong in ["10.77.0.1:8080", "http://", "nfs://h/x", "http://u:p@h", "http://h?x=1"] {
            assert!(parse_root(wrong).is_err(), "{wrong}");
        }
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
