//! The same reads by what others use: `ipmitool`, a process for each call, and Python's sushy, one process with threads.

use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use tokio::process::Command;

use crate::fleet::{Fleet, PASSWORD, USER};

/// Folder of the Python peers, which `cargo xtask` sets.
const PYTHON_VARIABLE: &str = "BESSEMER_PYTHON_PEERS";

/// Arguments: user, password, threads, ports.
const SUSHY: &str = include_str!("sushy_reads.py");

/// Who they are, and reads a second; none where they cannot be had.
pub(crate) async fn ipmitool(fleet: &Fleet, count: usize, at_once: usize) -> Option<(String, f64)> {
    let begun = Instant::now();
    let reads = fleet.ipmi_ports(count).map(ipmitool_reads);
    told("ipmitool", futures::stream::iter(reads).buffer_unordered(at_once).try_collect::<()>().await)?;
    Some(("ipmitool".to_owned(), count as f64 / begun.elapsed().as_secs_f64()))
}

async fn ipmitool_reads(port: u16) -> Result<()> {
    let mut command = Command::new("ipmitool");
    command.args(["-I", "lanplus", "-C", "17", "-H", "127.0.0.1", "-p", &port.to_string(), "-U", USER, "-E"]);
    command.args(["chassis", "power", "status"]).env("IPMI_PASSWORD", PASSWORD).stdin(Stdio::null());
    let output = command.output().await.context("cannot run ipmitool")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

pub(crate) async fn sushy(fleet: &Fleet, count: usize, at_once: usize) -> Option<(String, f64)> {
    let reads = async {
        let folder = std::env::var_os(PYTHON_VARIABLE).with_context(|| format!("{PYTHON_VARIABLE} is not set"))?;
        let mut command = Command::new(std::path::Path::new(&folder).join("python3"));
        command.args(["-c", SUSHY, USER, PASSWORD, &at_once.to_string()]);
        command.args(fleet.redfish_ports(count).map(|port| port.to_string()));
        let output = command.stdin(Stdio::null()).output().await.context("cannot run Python")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        let (version, seconds) = text.trim().split_once(' ').context("sushy said nothing")?;
        Ok((format!("sushy {version}"), count as f64 / seconds.parse::<f64>()?))
    };
    told("sushy", reads.await)
}

fn told<T>(who: &str, result: Result<T>) -> Option<T> {
    result.inspect_err(|error| println!("no peer {who}: {error:#}")).ok()
}
