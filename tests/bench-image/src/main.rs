//! Measures how fast the agent writes an image from an HTTP server to a disk, and with how much memory: raw, qcow2, gzip, xz and zstd, beside
//! the pipelines of tools that do the same, and beside what each part of the work reaches alone: the wire, the disk, the decoder, the hash.
//! Prints a row for each measurement; see `cargo xtask bench --suite image`.
//!
//! The server is this program started once more. `BENCH_MIB` is the image's size, `BENCH_ROUNDS` how often each thing is done, in turns; the median
//! counts. `BENCH_FOLDER` is where the image and the disk, a file, lie.

mod image;
mod parts;
mod run;
mod server;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use bessemer_bench::{Rounds, Row};

use image::Kind;
use parts::Alone;
use run::Lab;

const SUITE: &str = "image";

/// Of the image, in MiB: more than any buffer on the way.
const MIB: u64 = 512;
const ROUNDS: u64 = 5;

/// Most memory of the agent while it writes, in MiB: a ramdisk of 512 MiB has room for three times this.
const MOST_MEMORY: f64 = 100.0;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("serve") => server::serve(PathBuf::from(arguments.next().context("serve needs a folder")?)),
        _ => measure(),
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn measure() -> Result<()> {
    let Some(agent) = std::env::var_os("BENCH_AGENT").map(PathBuf::from) else {
        bail!("BENCH_AGENT must name the agent's program");
    };
    let lab = Lab::start(agent, number("BENCH_MIB", MIB), number("BENCH_ROUNDS", ROUNDS).max(1))?;
    let row = |name: String, value: f64| Row::new(SUITE, name, value, "MB/s");
    let mut most_memory: f64 = 0.0;
    for kind in Kind::ALL {
        let digest = lab.digest(kind)?;
        let (mut ours, mut alone, mut tools) = (Rounds::default(), Alone::default(), Rounds::default());
        for _ in 0..lab.rounds() {
            let (rate, memory) = lab.agent(kind, &digest)?;
            ours.push(rate);
            most_memory = most_memory.max(memory);
            alone.measure(&lab, kind)?;
            tools.push(lab.tools(kind)?);
        }
        let (name, limit) = (kind.name(), alone.limit());
        println!("{name}: agent {ours}, tools {tools}; alone: {}", alone.words());
        row(format!("{name} to disk, MB of image"), ours.median())
            .beside(&format!("slowest part alone: {}", limit.part), limit.rate)
            .at_least_times(0.95)
            .print()?;
        let peer =
            row(format!("{name} to disk, beside tools"), ours.median()).beside(lab.tools_name(kind), tools.median());
        if kind == Kind::Qcow2 {
            peer.at_least_times(2.0).print()?
        } else {
            peer.print()?
        };
    }
    Row::new(SUITE, "peak memory of the agent, all formats", most_memory, "MiB").at_most(MOST_MEMORY).print()?;
    Ok(())
}
