//! Measures the boot server beside what others use, in one run on one machine: DHCP exchanges a second with ISC's
//! `perfdhcp` against dnsmasq and Kea, TFTP against dnsmasq, HTTP against nginx, and a boot storm alone. Prints a row for each measurement; see `cargo xtask bench
//! --suite boot`.
//!
//! Servers and clients are in two network namespaces that a pair of virtual interfaces connects. Our server is this
//! program started once more, so that it is a process among processes. Needs root and the packages that `cargo xtask`
//! installs. `BENCH_ONLY=dhcp` (or `tftp`, `http`, `storm`) leaves the others out.

mod daemon;
mod dhcp;
mod directory;
mod http;
mod lab;
mod ours;
mod storm;
mod tftp;
mod tftp_client;

use std::path::Path;

use anyhow::{Context as _, Result};

const SUITE: &str = "boot";

fn main() -> Result<()> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    // Where it cannot be raised, a socket that is missing says so itself.
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::Nofile,
        rustix::process::Rlimit { current: limit.maximum, ..limit },
    );
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", folder] => ours::serve(Path::new(folder), None),
        ["serve", folder, images] => ours::serve(Path::new(folder), Some(Path::new(images))),
        ["http", port, file, connections] => runtime()?.block_on(http::load(port.parse()?, file, connections.parse()?)),
        ["storm"] => runtime()?.block_on(storm::machines()),
        ["fetch", server, name, block_size, window] => {
            let server = server.parse().context("the server's address")?;
            println!("{}", tftp_client::fetch(server, name, block_size.parse()?, window.parse()?)?);
            Ok(())
        }
        _ => measure(),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
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
    if wanted("http") {
        http::measure(&lab)?;
    }
    if wanted("storm") {
        storm::measure(&lab)?;
    }
    Ok(())
}
