//! sushy-tools' Redfish emulator with its fake driver, which tells a [`crate::Switch`] of each change.

use std::fs;

use anyhow::{Result, anyhow};
use tempfile::TempDir;

use crate::daemon::{Daemon, free_tcp_port};
use crate::python;
use crate::switch::Switch;

/// User of the BMCs that are asked for one.
pub const USER: &str = "admin";
/// Their password.
pub const PASSWORD: &str = "peer-secret";

/// A running emulator of one system.
#[derive(Debug)]
pub struct SushyFake {
    /// Its TCP port on 127.0.0.1, without TLS.
    pub port: u16,
    _daemon: Daemon,
    _dir: TempDir,
}

impl SushyFake {
    /// UUID of its system.
    pub const UUID: &'static str = "11111111-2222-3333-4444-555555555555";
    /// Hardware address of its system's network card.
    pub const MAC: &'static str = "00:16:3e:00:00:01";

    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(switch: &Switch) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let port = free_tcp_port()?;
        let config = format!(
            "SUSHY_EMULATOR_FAKE_DRIVER = True\n\
             SUSHY_EMULATOR_STATE_DIR = {state:?}\n\
             EXTERNAL_NOTIFICATION_URL = '{url}/sushy'\n\
             SUSHY_EMULATOR_FAKE_SYSTEMS = [{{'uuid': '{uuid}', 'name': 'peer', 'power_state': 'Off',\n  \
             'external_notifier': True, 'nics': [{{'mac': '{mac}', 'ip': '192.0.2.1'}}]}}]\n",
            state = dir.path(),
            url = switch.url(),
            uuid = Self::UUID,
            mac = Self::MAC,
        );
        let daemon = emulator(&dir, port, &config)?;
        Ok(Self { port, _daemon: daemon, _dir: dir })
    }
}

/// Starts `sushy-emulator` on `port` with this configuration.
pub(crate) fn emulator(dir: &TempDir, port: u16, config: &str) -> Result<Daemon> {
    let path = dir.path().join("sushy.conf");
    let listen = format!("SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT = {port}\n");
    fs::write(&path, listen + config)?;
    let mut command = python::program("sushy-emulator").map_err(|why| anyhow!(why))?;
    // media that it fetches go with the folder
    command.arg("--config").arg(&path).env("TMPDIR", dir.path());
    Daemon::start("sushy-emulator", command, "Running on http")
}
