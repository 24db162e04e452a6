//! Two network namespaces, servers' and clients', that a pair of virtual interfaces connects. They end with the value.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// The servers' address, and the clients'.
pub(crate) const SERVER: &str = "10.99.0.1";
pub(crate) const CLIENTS: [&str; 2] = ["10.99.0.2", "10.99.0.3"];
pub(crate) const PREFIX: &str = "10.99.0.0/16";
pub(crate) const FIRST: &str = "10.99.1.0";
pub(crate) const LAST: &str = "10.99.200.255";
/// The interfaces.
pub(crate) const SERVER_SIDE: &str = "s0";
pub(crate) const CLIENT_SIDE: &str = "c0";

/// The namespaces.
pub(crate) struct Lab {
    servers: String,
    clients: String,
}

impl Lab {
    pub(crate) fn build() -> Result<Self> {
        let name = |side: &str| format!("bench-boot-{}-{side}", std::process::id());
        let lab = Self { servers: name("servers"), clients: name("clients") };
        ip(&["netns", "add", &lab.servers])?;
        ip(&["netns", "add", &lab.clients])?;
        let (servers, clients) = (lab.servers.as_str(), lab.clients.as_str());
        let peer = ["type", "veth", "peer", "name", CLIENT_SIDE, "netns", clients];
        ip(&[&["-n", servers, "link", "add", SERVER_SIDE], peer.as_slice()].concat())?;
        for (namespace, side, addresses) in [(servers, SERVER_SIDE, &[SERVER][..]), (clients, CLIENT_SIDE, &CLIENTS)] {
            for address in addresses {
                ip(&["-n", namespace, "addr", "add", &format!("{address}/16"), "dev", side])?;
            }
            ip(&["-n", namespace, "link", "set", "lo", "up"])?;
            ip(&["-n", namespace, "link", "set", side, "up"])?;
        }
        Ok(lab)
    }

    /// A program among the servers that has one processor.
    pub(crate) fn server_apart(&self, program: &str) -> Command {
        inside_on(&self.servers, Some(0), program)
    }

    /// A program among the servers.
    pub(crate) fn server(&self, program: &str) -> Command {
        inside(&self.servers, program)
    }

    /// A program among the clients.
    pub(crate) fn client(&self, program: &str) -> Command {
        inside(&self.clients, program)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for namespace in [&self.servers, &self.clients] {
            let _ = ip(&["netns", "del", namespace]);
        }
    }
}

fn inside(namespace: &str, program: &str) -> Command {
    inside_on(namespace, None, program)
}

/// The process that it starts becomes the program itself.
fn inside_on(namespace: &str, processor: Option<usize>, program: &str) -> Command {
    let mut command = Command::new(if processor.is_some() { "taskset" } else { "ip" });
    if let Some(processor) = processor {
        command.args(["-c", &processor.to_string(), "ip"]);
    }
    command.args(["netns", "exec", namespace, program]).stdin(Stdio::null());
    command
}

fn ip(arguments: &[&str]) -> Result<()> {
    let output = Command::new("ip").args(arguments).output().context("cannot run ip (iproute2)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip {} failed (root?): {}", arguments.join(" "), said.trim());
    Ok(())
}
