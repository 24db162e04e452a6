//! The rack's network: a namespace of its own, a bridge with the gateway's address, and a tap per host.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::{fs, io};

use anyhow::{Context, Result, ensure};

use crate::process::{self, Process};
use crate::spec::Slot;

/// The bridge's name in the namespace.
pub const BRIDGE: &str = "br0";

/// The address the bridge has in the namespace: where a boot server listens.
pub const GATEWAY: &str = "10.77.0.1";

/// The rack's network.
pub const NETWORK: &str = "10.77.0.0/24";

const PREFIX: u8 = 24;

/// A named network namespace, as `ip netns` keeps them.
#[derive(Debug, Clone)]
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    pub(crate) fn of_rack(id: &str) -> Self {
        Self { name: format!("bessemer-rack-{id}") }
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from("/run/netns").join(&self.name)
    }

    pub(crate) fn create(&self) -> Result<()> {
        ip(&["netns", "add", &self.name])
    }

    pub(crate) fn delete(&self) -> Result<()> {
        if self.path().exists() { ip(&["netns", "delete", &self.name]) } else { Ok(()) }
    }

    /// Device and inode, by which processes in it are known even after its name is gone.
    pub(crate) fn numbers(&self) -> io::Result<(u64, u64)> {
        fs::metadata(self.path()).map(|namespace| (namespace.dev(), namespace.ino()))
    }

    /// Everything that runs in it.
    pub(crate) fn processes(&self) -> Vec<Process> {
        self.numbers().map(|(device, inode)| process::in_namespace(device, inode)).unwrap_or_default()
    }

    /// A command that will run in it.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path().display())).arg("--").arg(program);
        command
    }
}

/// Bridge and taps, in the namespace of the calling process.
pub(crate) fn raise(slots: impl Iterator<Item = Slot>) -> Result<()> {
    ip(&["link", "set", "lo", "up"])?;
    ip(&["link", "add", BRIDGE, "type", "bridge"])?;
    ip(&["address", "add", &format!("{GATEWAY}/{PREFIX}"), "dev", BRIDGE])?;
    ip(&["link", "set", BRIDGE, "up"])?;
    for slot in slots {
        let tap = slot.tap();
        ip(&["tuntap", "add", "dev", &tap, "mode", "tap"])?;
        ip(&["link", "set", &tap, "master", BRIDGE, "up"])?;
    }
    Ok(())
}

fn ip(arguments: &[&str]) -> Result<()> {
    let output = Command::new("ip").args(arguments).output().context("cannot run ip: install iproute2")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip {}: {}", arguments.join(" "), said.trim());
    Ok(())
}
