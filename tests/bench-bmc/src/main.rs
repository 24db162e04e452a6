//! Measures conversations with many BMCs at once: a thousand fake ones, half of them Redfish over TLS and half IPMI, asked
//! by one process who they are and whether they are on, round after round; and reads from nothing beside what others
//! use, ipmitool and Python's sushy. Prints a row for each measurement; see `cargo xtask bench --suite bmc`.
//!
//! The fake BMCs run in a process of their own, which is this program started once more, so that the memory that is
//! measured is the clients'. `BENCH_HOSTS` and `BENCH_ROUNDS` make it smaller; `BENCH_PEERS=0` leaves the others out.

mod fleet;
mod fresh;
mod memory;
mod peers;
mod poll;
mod quantile;

use anyhow::{Context as _, Result};
use bessemer_bench::Row;

use fleet::Fleet;

const SUITE: &str = "bmc";

/// BMCs, and how often all are asked.
const HOSTS: usize = 1000;
const ROUNDS: usize = 10;

/// BMCs that are asked from nothing, and how many of them at once.
const FRESH_HOSTS: usize = 100;
const FRESH_AT_ONCE: usize = 8;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    memory::allow_many_sockets();
    match arguments.next().as_deref() {
        Some("serve") => {
            let hosts = arguments.next().context("serve needs a number of hosts")?;
            runtime.block_on(fleet::serve(hosts.parse()?))
        }
        _ => runtime.block_on(measure()),
    }
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

async fn measure() -> Result<()> {
    let (hosts, rounds) = (number("BENCH_HOSTS", HOSTS), number("BENCH_ROUNDS", ROUNDS).max(3));
    let mut fleet = Fleet::start(hosts).await?;
    println!("{hosts} fake bmcs are up");
    let reached = poll::all(&mut fleet, rounds).await?;
    report(&reached, hosts)?;
    let count = FRESH_HOSTS.min(hosts / 2);
    let ipmi = fresh::reads_per_second(&fleet.ipmi(count)?, FRESH_AT_ONCE).await?;
    let redfish = fresh::reads_per_second(&fleet.redfish(count)?, FRESH_AT_ONCE).await?;
    let (ipmitool, sushy) = if number("BENCH_PEERS", 1) == 0 {
        (None, None)
    } else {
        (peers::ipmitool(&fleet, count, FRESH_AT_ONCE).await, peers::sushy(&fleet, count, FRESH_AT_ONCE).await)
    };
    for (protocol, ours, peer) in [("ipmi", ipmi, ipmitool), ("redfish", redfish, sushy)] {
        let name = format!("power read from log in to log out, {protocol}, {FRESH_AT_ONCE} at once");
        let row = Row::new(SUITE, name, ours, "/s");
        match peer {
            Some((name, value)) => row.beside(&name, value).at_least_times(5.0).print()?,
            None => row.print()?,
        }
    }
    Ok(())
}

fn report(reached: &poll::Reached, hosts: usize) -> Result<()> {
    let row = |name: &str, value: f64, unit: &str| Row::new(SUITE, name, value, unit);
    let calls = format!("calls, {hosts} bmcs at once");
    row(&calls, reached.calls_per_second, "/s").print()?;
    row("identify, p50", reached.identify.median, "ms").print()?;
    row("identify, p99", reached.identify.slowest, "ms").print()?;
    row("power state, p50", reached.power.median, "ms").print()?;
    row("power state, p99", reached.power.slowest, "ms").print()?;
    row("calls that failed", reached.failures as f64, "").at_most(0.0).print()?;
    row("most sessions of one bmc at once", reached.most_sessions as f64, "").at_most(1.0).print()?;
    row("log ins for each bmc", reached.log_ins as f64 / hosts as f64, "").at_most(1.0).print()?;
    row("sessions left open", reached.left_open as f64, "").at_most(0.0).print()?;
    row("memory after round 2", reached.memory_early, "MiB").print()?;
    let limit = (reached.memory_early * 1.1).ceil();
    row("memory after the last round", reached.memory_late, "MiB").at_most(limit).print()?;
    Ok(())
}
