//! Measures the boot server beside what others use, in one run on one machine: DHCP exchanges a second with ISC's
//! `perfdhcp` against dnsmasq and Kea, TFTP against dnsmasq. Prints a row for each measurement; see `cargo xtask bench
//! --suite boot`.
//!
//! Servers and clients are in two network namespaces that a pair of virtual interfaces connects. Our server is this
//! program started once more, so that it is a process among processes. Needs root and the packages that `cargo xtask`
//! installs. `BENCH_ONLY=dhcp` (or `tftp`) leaves the others out.

mod daemon;
mod dhcp;
mod directory;
mod lab;
mod ours;
mod tftp;
mod tftp_client;

use std::path::Path;

use anyhow::{Context as _, Result};

const SUITE: &str = "boot";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", folder] => ours::serve(Path::new(folder)),
        ["fetch", server, name, block_size, window] => {
            let server = server.parse().context("the server's address")?;
            println!("{}", tftp_client::fetch(server, name, block_size.parse()?, window.parse()?)?);
            Ok(())
        }
        _ => measure(),
    }
}

fn measure() -> Result<()> {
    let only = std::env::var("BENCH_ONLY").unwrap_or_default();
    let wanted = |name: &str| only.is_empty() || only == name;
    let lab = lab::Lab::build()?;
    if wanted("dhcp") {
        dhcp::measure(&lab)?;
    }
    if wanted("tftp") {
        tftp::measure(&lab)?;
    }
    Ok(())
}
