//! The ramdisk role: PID 1 of a machine that has no operating system yet, or is about to lose the one it has.
//!
//! From bare kernel to enrolled agent in one straight line, then the worker waits for items. Nothing here may return or hang in silence:
//! a start that cannot succeed says why and switches the machine off, because falling through to the disk could boot a previous tenant.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bessemer_protocol::{BOOT_CONFIG_PATH, BootConfig, HardwareIdentity, LeaveHow};
use tokio::sync::mpsc;
use tracing::{error, info};

use crate::link::items::{Items, MOST_OPEN};
use crate::link::{LinkError, enrol, stream};
use crate::{console, identity, mask};

mod clock;
mod deploy;
mod discover;
mod erase;
mod inspect;
mod leave;
mod modules;
mod mounts;
mod network;
mod nvme;
mod root;
mod session;
mod worker;

pub(crate) use deploy::write_by_hand;

/// How long a person has to read on the console why the machine is about to be switched off.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// Where the ramdisk has its drivers.
const MODULES: &str = "/lib/modules";

/// Why the ramdisk cannot do its job at all.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("cannot start the runtime: {0}")]
    Runtime(std::io::Error),
    #[error("{BOOT_CONFIG_PATH}: {0}; the boot server appends it to the ramdisk for each boot")]
    Config(String),
    #[error(transparent)]
    Network(#[from] network::NetworkError),
    #[error("enrolment: {0}")]
    Enrol(LinkError),
    #[error("inspection ended: {0}")]
    Inspection(String),
    #[error("reporting the hardware: {0}")]
    Discovery(LinkError),
    #[error("this machine is not known here and its hardware was reported: register it as a BareMetalHost")]
    Unknown,
}

/// Never returns as PID 1: the machine restarts or goes off.
pub(crate) fn run() -> ExitCode {
    let mounted = mounts::mount_all();
    console::start();
    std::panic::set_hook(Box::new(|panic| end_badly(&format!("the agent itself is broken: {panic}"))));
    for problem in mounted {
        error!("{problem}");
    }
    info!("agent {} in the ramdisk", crate::VERSION);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(serve()),
        Err(error) => StartError::Runtime(error),
    };
    end_badly(&ended.to_string());
    ExitCode::FAILURE
}

/// What the kernel runs as `/sbin/modprobe -q -- NAME` when it lacks a driver that no device announces: a file system's, a checksum's,
/// a kind of link's.
pub(crate) fn modprobe(name: &str) -> ExitCode {
    if modules::load_named(name, Path::new(MODULES)) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn end_badly(why: &str) {
    error!("{why}");
    error!("switching off in {} s", LAST_WORDS.as_secs());
    std::thread::sleep(LAST_WORDS);
    leave::leave(LeaveHow::PowerOff);
}

/// Returns only what makes going on pointless.
async fn serve() -> StartError {
    match Box::pin(start()).await {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

async fn start() -> Result<std::convert::Infallible, StartError> {
    let sys = Path::new("/sys");
    modules::load_for_hardware(sys, Path::new(MODULES));
    let config = read_config()?;
    clock::advance_to(config.time);
    let time = clock::ControllerTime::starting_at(config.time);
    let uplink = Box::pin(network::bring_up(sys, config.network.as_ref(), network::boot_nic().as_deref())).await?;
    info!("{} has {}/{}", uplink.name, uplink.address, uplink.prefix);
    mask::learn([config.token.clone()]);
    let identity = identity::read(sys);
    if config.token.is_empty() {
        return Err(Box::pin(discovered(&config, identity, &uplink)).await);
    }
    let enrolled = enrol::enrol(&config, identity.clone()).await.map_err(StartError::Enrol)?;
    info!("enrolled as host {} for boot {}", enrolled.host, config.boot_id);

    let items = Arc::new(Items::default());
    let (work, queue) = mpsc::channel(MOST_OPEN);
    let controllers = Arc::new(enrolled.controllers);
    let worker = worker::Worker {
        host: enrolled.host,
        items: Arc::clone(&items),
        controllers: Arc::clone(&controllers),
        config: Arc::new(config),
        time: time.clone(),
        uplink,
        deployed: None,
    };
    tokio::spawn(Box::pin(worker.run(queue)));
    let mut session = session::RamdiskSession::new(identity, items, work, time);
    Ok(stream::keep_open(&*controllers, &mut session).await)
}

/// Says what this machine is, and then why there is nothing more to do.
async fn discovered(config: &BootConfig, identity: HardwareIdentity, uplink: &network::Uplink) -> StartError {
    let hardware = match worker::inspect_all(uplink).await {
        Ok(hardware) => hardware,
        Err(error) => return StartError::Inspection(error.to_string()),
    };
    match discover::report(config, identity, hardware).await {
        Ok(()) => StartError::Unknown,
        Err(error) => StartError::Discovery(error),
    }
}

fn read_config() -> Result<BootConfig, StartError> {
    let bytes = fs::read(BOOT_CONFIG_PATH).map_err(|error| StartError::Config(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| StartError::Config(error.to_string()))
}
