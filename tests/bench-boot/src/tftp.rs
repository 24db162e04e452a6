//! TFTP: megabytes a second of one file, as firmware asks for it and in windows, beside dnsmasq (which has no windows).

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use bessemer_bench::{Rounds, Row};
use bytes::Bytes;

use crate::SUITE;
use crate::daemon::Daemon;
use crate::lab::{Lab, SERVER};

/// Octets of the file: the most that our server takes for an iPXE.
const LEN: usize = 16 << 20;
const IPXE: &str = "/usr/lib/ipxe/snponly.efi";
const NAME: &str = "ipxe.efi";
const BLOCK_SIZE: &str = "1468";
const TOGETHER: usize = 8;
/// The servers take turns; of a turn's runs the best counts.
const ROUNDS: usize = 5;
const RUNS: usize = 2;
const ROWS: usize = 5;

/// The file: Debian's iPXE, and what does not compress behind it.
pub(crate) fn program() -> Result<Bytes> {
    let mut octets = std::fs::read(IPXE).with_context(|| format!("cannot read {IPXE} (package ipxe)"))?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    while octets.len() < LEN {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        octets.extend_from_slice(&state.to_be_bytes());
    }
    octets.truncate(LEN);
    Ok(octets.into())
}

pub(crate) fn measure(lab: &Lab) -> Result<()> {
    let files = tempfile::tempdir()?;
    std::fs::write(files.path().join(NAME), program()?)?;
    let (mut ours, mut theirs): ([Rounds; ROWS], [Rounds; ROWS]) = Default::default();
    let mut name = String::new();
    for _ in 0..ROUNDS {
        let daemon = Daemon::ours(lab)?;
        keep(&mut ours, rows(lab)?);
        drop(daemon);
        let daemon = Daemon::dnsmasq(lab, files.path())?;
        keep(&mut theirs, rows(lab)?);
        name.clone_from(&daemon.name);
    }
    let together = format!("{TOGETHER} clients");
    for ((what, wanted), (ours, theirs)) in [
        ("1 client, no windows".to_owned(), 1.0),
        ("1 client, windows of 64 asked for".to_owned(), 5.0),
        (format!("{together}, no windows"), 1.0),
        (format!("{together}, windows of 64 asked for"), 5.0),
        ("curl".to_owned(), 1.0),
    ]
    .into_iter()
    .zip(ours.into_iter().zip(theirs))
    {
        let what = format!("tftp, blocks of {BLOCK_SIZE}, {what}");
        println!("{what}: ours {ours}, {name} {theirs}");
        Row::new(SUITE, what, ours.median(), "MB/s").beside(&name, theirs.median()).at_least_times(wanted).print()?;
    }
    Ok(())
}

/// dnsmasq answers a window of 64 with none: the client falls back, as RFC 2347 says.
fn rows(lab: &Lab) -> Result<[f64; ROWS]> {
    Ok([own(lab, 1, 1)?, own(lab, 64, 1)?, own(lab, 1, TOGETHER)?, own(lab, 64, TOGETHER)?, best(|| curl(lab))?])
}

fn keep(rounds: &mut [Rounds; ROWS], found: [f64; ROWS]) {
    rounds.iter_mut().zip(found).for_each(|(rounds, found)| rounds.push(found));
}

fn best(run: impl Fn() -> Result<f64>) -> Result<f64> {
    let runs: Vec<f64> = std::iter::repeat_with(run).take(RUNS).collect::<Result<_>>()?;
    Ok(runs.into_iter().fold(0.0, f64::max))
}

/// Our client, which is this program: all of them together.
fn own(lab: &Lab, window: u16, clients: usize) -> Result<f64> {
    let program = std::env::current_exe()?;
    let program = program.to_str().context("a program whose path is not text")?;
    best(|| {
        let start = || {
            let mut command = lab.client(program);
            command.args(["fetch", SERVER, NAME, BLOCK_SIZE, &window.to_string()]);
            command.stdout(Stdio::piped()).spawn()
        };
        let begun = Instant::now();
        let children: Vec<_> = std::iter::repeat_with(start).take(clients).collect::<std::io::Result<_>>()?;
        for child in children {
            let output = child.wait_with_output()?;
            let len = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            ensure!(output.status.success() && len == LEN.to_string(), "a client got {len} of {LEN} octets");
        }
        Ok(rate(clients, begun))
    })
}

/// One that people use; without windows, and it writes the file to nowhere.
fn curl(lab: &Lab) -> Result<f64> {
    let mut command: Command = lab.client("curl");
    command.args(["-sS", "--tftp-blksize", BLOCK_SIZE, "-o", "/dev/null", &format!("tftp://{SERVER}/{NAME}")]);
    let begun = Instant::now();
    ensure!(command.status()?.success(), "curl failed");
    Ok(rate(1, begun))
}

fn rate(clients: usize, begun: Instant) -> f64 {
    (clients * LEN) as f64 / begun.elapsed().as_secs_f64() / 1e6
}
