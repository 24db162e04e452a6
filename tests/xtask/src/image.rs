//! `cargo xtask image …`: what hosts boot and are given, built into a folder, with lengths and digests.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bessemer_images::cache::Cache;
use bessemer_images::iso::{self, IsoSpec};
use bessemer_images::ramdisk::{self, Ramdisk, RamdiskSpec, Variant};
use bessemer_images::uki::{self, UkiSpec};
use clap::{Args, Subcommand, ValueEnum};
use sha2::{Digest, Sha256};

use crate::say::say;
use crate::workspace::Workspace;
use crate::{artefacts, deadline};

/// Compiling the agent from nothing, on two cores.
const LIMIT: Duration = Duration::from_secs(3600);

/// What is to be built.
#[derive(Debug, Subcommand)]
pub(crate) enum Wanted {
    /// Kernel and ramdisk: what iPXE loads
    Ramdisk(Boot),
    /// One EFI program with both: what UEFI firmware boots over HTTP without iPXE
    Uki(Boot),
    /// A disc with both, for a BMC's virtual media or a USB stick
    Iso(Boot),
}

/// What all that a host boots from has in common.
#[derive(Debug, Args)]
pub(crate) struct Boot {
    /// Which kernel of Debian's, with which drivers
    #[arg(long, value_enum, default_value = "server")]
    kernel: Kernel,
    /// A static agent; without it one is built
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// A folder laid out as /lib/firmware: what the drivers name and is there goes in
    #[arg(long, value_name = "DIR")]
    firmware: Option<PathBuf>,
    /// The kernel's command line, of a UKI or an ISO; a boot server gives a plain ramdisk its own
    #[arg(long, default_value = "console=tty0 console=ttyS0,115200 panic=30")]
    cmdline: String,
    /// Where to put it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The ramdisk's variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kernel {
    /// With the drivers of servers
    Server,
    /// Virtual machines only, smaller
    Cloud,
}

pub(crate) fn run(workspace: &Workspace, wanted: &Wanted) -> Result<()> {
    match wanted {
        Wanted::Ramdisk(boot) => {
            let built = build_ramdisk(workspace, boot)?;
            told(&[&built.vmlinuz, &built.initrd])
        }
        Wanted::Uki(boot) => {
            let built = build_ramdisk(workspace, boot)?;
            let out = out_dir(workspace, boot.out.as_deref()).join("bessemer.efi");
            uki::build(&UkiSpec { stub: Path::new(uki::STUB), ramdisk: &built, cmdline: &boot.cmdline, out: &out })?;
            told(&[&out])
        }
        Wanted::Iso(boot) => {
            let built = build_ramdisk(workspace, boot)?;
            let out = out_dir(workspace, boot.out.as_deref()).join("bessemer.iso");
            iso::build(&IsoSpec { ramdisk: &built, cmdline: &boot.cmdline, out: &out })?;
            told(&[&out])
        }
    }
}

fn out_dir(workspace: &Workspace, given: Option<&Path>) -> PathBuf {
    given.map_or_else(|| workspace.target.join("images"), Path::to_owned)
}

fn build_ramdisk(workspace: &Workspace, boot: &Boot) -> Result<Ramdisk> {
    let agent = match &boot.agent {
        Some(agent) => agent.clone(),
        None => artefacts::agent(workspace, deadline::after(LIMIT))?,
    };
    let start = Instant::now();
    let spec = RamdiskSpec {
        variant: match boot.kernel {
            Kernel::Server => Variant::Server,
            Kernel::Cloud => Variant::Cloud,
        },
        agent,
        firmware: boot.firmware.clone(),
        out_dir: out_dir(workspace, boot.out.as_deref()),
        cache: Cache::from_env()?,
    };
    let built = ramdisk::build(&spec)?;
    say(format!("{} with {} modules in {}", built.kernel, built.modules.len(), deadline::show(start.elapsed())));
    say(format!(
        "kernel {} + drivers {} + agent {} = {}",
        mb(built.vmlinuz_size),
        mb(built.drivers_size),
        mb(built.agent_size),
        mb(built.vmlinuz_size + built.initrd_size)
    ));
    if built.firmware_missing > 0 {
        say(format!("{} files of firmware that drivers name are not in it (--firmware)", built.firmware_missing));
    }
    Ok(built)
}

fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Prints each file's digest, length and name, as `sha256sum` does.
fn told(files: &[&Path]) -> Result<()> {
    for path in files {
        let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut hash = Sha256::new();
        io::copy(&mut file, &mut HashWriter(&mut hash))?;
        let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        println!("{digest}  {}  {} bytes", path.display(), fs::metadata(path)?.len());
    }
    Ok(())
}

struct HashWriter<'hash>(&'hash mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
