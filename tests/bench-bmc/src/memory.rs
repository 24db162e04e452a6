//! What the kernel says of this process.

use anyhow::{Context as _, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Resident memory in MiB.
pub(crate) fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("/proc tells no VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().context("VmRSS is no number")?;
    Ok(kib / 1024.0)
}

/// A socket for each BMC, and then some.
pub(crate) fn allow_many_sockets() {
    let limit = getrlimit(Resource::Nofile);
    // where it cannot be raised, a socket that is missing says so itself
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).ok();
}
