//! `bessemer-fake-bmc`: fake controllers from the command line, until Ctrl-C.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use bessemer_fake_bmc::host::boot::{BootMode, BootOverride};
use bessemer_fake_bmc::host::power::{PowerState, Timing};
use bessemer_fake_bmc::host::users::Users;
use bessemer_fake_bmc::redfish::behaviour::Vendor;
use bessemer_fake_bmc::redfish::tls::Tls;
use bessemer_fake_bmc::redfish::{Behaviour, Rule};
use bessemer_fake_bmc::{FleetOptions, HostOptions, fleet, ipmi, seed};
use clap::{Parser, ValueEnum};

/// Fake management controllers, for tests of their clients.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// How many hosts
    #[arg(long, default_value_t = 1)]
    hosts: u32,
    /// A dump by the name of its folder in BESSEMER_TEST_DATA, or the path of a map.json; a small server of its own
    /// otherwise
    #[arg(long)]
    seed: Option<String>,
    /// Port of the first host, the others after it; any when left out
    #[arg(long)]
    port: Option<u16>,
    /// Whose controllers the hosts behave like: dell, hpe, lenovo, supermicro or ami
    #[arg(long, value_parser = vendor)]
    like: Option<Vendor>,
    /// UDP port of the first host's IPMI, the others after it, 0 for any; no IPMI when left out
    #[arg(long)]
    ipmi_port: Option<u16>,
    /// What the hosts show to clients
    #[arg(long, value_enum, default_value_t = Certificate::Authority)]
    tls: Certificate,
    /// Where to write the certificate of the authority, PEM
    #[arg(long)]
    ca_file: Option<PathBuf>,
    /// User name of the administrator
    #[arg(long, default_value = "admin")]
    username: String,
    /// Password of the administrator; it protects nothing real
    #[arg(long, default_value = "password")]
    password: String,
    /// Milliseconds that going on, going off and a reset take
    #[arg(long, default_value_t = 0)]
    delay: u64,
    /// Whether the hosts begin switched on
    #[arg(long)]
    on: bool,
    /// Whether the hosts begin with Legacy as their boot mode
    #[arg(long)]
    legacy: bool,
    /// A fault on every host, `[METHOD] [PATH] FAULT[=ARGUMENT] [xTIMES] [afterSKIP]`, such as `GET /Systems
    /// status=503,10 x2`; may be given again
    #[arg(long = "fault")]
    faults: Vec<Rule>,
}

fn vendor(name: &str) -> Result<Vendor, String> {
    let found = Vendor::ALL.into_iter().find(|vendor| vendor.name() == name);
    found.ok_or_else(|| format!("no such vendor: one of {}", Vendor::ALL.map(Vendor::name).join(", ")))
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Certificate {
    /// Plain HTTP
    Off,
    /// One certificate of an authority made at the start
    Authority,
    /// A self-signed one for each
    SelfSigned,
    /// A self-signed one for each that is marked as an authority
    SelfSignedAuthority,
}

impl From<Certificate> for Tls {
    fn from(certificate: Certificate) -> Self {
        match certificate {
            Certificate::Off => Self::Off,
            Certificate::Authority => Self::Authority,
            Certificate::SelfSigned => Self::SelfSigned,
            Certificate::SelfSignedAuthority => Self::SelfSignedAuthority,
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let tree = match &arguments.seed {
        None => seed::minimal()?,
        Some(seed) if seed.contains('/') => seed::file(seed.as_ref())?,
        Some(seed) => seed::dump(seed)?,
    };
    let delay = std::time::Duration::from_millis(arguments.delay);
    let timing = Timing { on: delay, off: delay, graceful: delay, reset: delay, ..Timing::default() };
    let hosts = (0..arguments.hosts).map(|index| HostOptions {
        users: Users::administrator(&arguments.username, &arguments.password),
        power: if arguments.on { PowerState::On } else { PowerState::Off },
        timing,
        ..HostOptions::numbered(index)
    });
    let options = FleetOptions {
        hosts: hosts.collect(),
        tls: arguments.tls.into(),
        behaviour: arguments.like.map(Behaviour::like).unwrap_or_default(),
        first_port: arguments.port,
        ..FleetOptions::new(tree, 0)
    };
    let fleet = fleet::start(options).await?;
    for bmc in &fleet {
        arguments.faults.iter().for_each(|rule| bmc.redfish().faults().add(rule.clone()));
        if arguments.legacy {
            bmc.host().set_boot_override(BootOverride { mode: BootMode::Legacy, ..BootOverride::default() });
        }
    }
    if let Some(file) = &arguments.ca_file {
        let Some(trusted) = fleet.first().and_then(|bmc| bmc.trusted()) else { bail!("--ca-file: there is no TLS") };
        std::fs::write(file, trusted).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let mut controllers = Vec::new();
    for (bmc, offset) in fleet.iter().zip(0..) {
        let identity = bmc.host().identity();
        print!("{} {} {} {}", identity.name, bmc.url(), identity.uuid, identity.serial);
        if let Some(first) = arguments.ipmi_port {
            let port = if first == 0 { 0 } else { first.saturating_add(offset) };
            let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let options = ipmi::Options { listen, ..ipmi::Options::default() };
            let controller = ipmi::Server::start(Arc::clone(bmc.host()), options)
                .await
                .with_context(|| format!("{}: cannot listen at udp port {port}", identity.name))?;
            print!(" ipmi://{}", controller.address());
            controllers.push(controller);
        }
        println!();
    }
    tokio::signal::ctrl_c().await?;
    Ok(())
}
