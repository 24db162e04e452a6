//! IPMI servers of others, in front of a [`crate::Machine`].

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Result, anyhow};
use bessemer_rack::IpmiSim;
use tempfile::TempDir;
use tokio::process::Child;

use crate::daemon::{Daemon, free_udp_port};
use crate::python;
use crate::redfish::{PASSWORD, USER};
use crate::switch::Switch;

/// pyghmi's server, with the switch behind it.
const PYGHMI_BMC: &str = include_str!("pyghmi_bmc.py");

/// What `ipmi_sim` runs: `get|set|check`, then names, and values to set them to.
const CHASSIS: &str = r#"#!/bin/sh
verb=$1; shift
case $verb in
get) for name; do echo "$name:$(curl -sf "$SWITCH/chassis/$name")"; done;;
set) while [ $# -gt 1 ]; do curl -sf -X POST "$SWITCH/chassis/$1/$2" || exit 1; shift 2; done;;
esac
"#;

/// OpenIPMI's simulator, with its files. Its user is [`bessemer_rack::BMC_USER`].
#[derive(Debug)]
pub struct Simulator {
    /// The UDP port on 127.0.0.1.
    pub port: u16,
    _child: Child,
    _dir: TempDir,
}

/// Starts OpenIPMI's `ipmi_sim`.
///
/// # Errors
/// When it cannot be started.
pub async fn ipmi_sim(switch: &Switch) -> Result<Simulator> {
    let dir = tempfile::tempdir()?;
    let hook = dir.path().join("chassis");
    fs::write(&hook, CHASSIS.replace("$SWITCH", &switch.url()))?;
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))?;
    let (port, hook) = (free_udp_port()?, hook.display().to_string());
    let guid = "a123456789abcdefa123456789abcdef";
    let child = IpmiSim { name: "peer", port, guid, dir: dir.path(), hook: &hook }.start().await?;
    Ok(Simulator { port, _child: child, _dir: dir })
}

/// A BMC made of pyghmi's server classes.
#[derive(Debug)]
pub struct Pyghmi {
    /// The UDP port on 127.0.0.1.
    pub port: u16,
    _daemon: Daemon,
}

/// Starts pyghmi's server for [`USER`] and [`PASSWORD`].
///
/// # Errors
/// When it cannot be started.
pub fn pyghmi(switch: &Switch) -> Result<Pyghmi> {
    let port = free_udp_port()?;
    let mut command = python::program("python3").map_err(|why| anyhow!(why))?;
    command.args(["-c", PYGHMI_BMC, &switch.url(), &port.to_string(), USER, PASSWORD]);
    Ok(Pyghmi { port, _daemon: Daemon::start("pyghmi's server", command, "ready")? })
}
