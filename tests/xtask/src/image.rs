//! `cargo xtask image …`: what hosts boot and are given, built into a folder, with lengths and digests.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bessemer_images::cache::Cache;
use bessemer_images::iso::{self, IsoSpec};
use bessemer_images::os::{self, Format, OsImageSpec, Sector};
use bessemer_images::ramdisk::{self, Ramdisk, RamdiskSpec, Variant};
use bessemer_images::uki::{self, UkiSpec};
use clap::{Args, Subcommand, ValueEnum};
use sha2::{Digest, Sha256};

use crate::kubernetes::{self, Minor};
use crate::say::say;
use crate::workspace::Workspace;
use crate::{artefacts, deadline, run};

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
    /// A Debian for the hosts' disks, with Kubernetes; boots under BIOS and UEFI
    Os(Os),
}

/// What an operating system is made from.
#[derive(Debug, Args)]
pub(crate) struct Os {
    /// In which form; may be repeated
    #[arg(long = "format", value_enum, default_values_t = [Form::Zst])]
    formats: Vec<Form>,
    /// Sectors of the disks it is for; 4096 is for 4Kn disks, which boot under UEFI only
    #[arg(long, value_enum, default_value = "512")]
    sector_size: SectorSize,
    /// Which kernel of Debian's
    #[arg(long, value_enum, default_value = "server")]
    kernel: Kernel,
    /// Without Kubernetes and without the agent: a host that cloud-init or nobody looks after
    #[arg(long)]
    plain: bool,
    /// Mark the protective partition as active: some BIOSes start no other disk, some UEFI firmwares refuse such a one
    #[arg(long)]
    active_flag: bool,
    /// A static agent; without it one is built
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// Where to put it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Forms of an operating system's image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Raw,
    Qcow2,
    Zst,
    Xz,
}

/// Sizes of disks' sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SectorSize {
    #[value(name = "512")]
    Bytes512,
    #[value(name = "4096")]
    Bytes4096,
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

/// Debian's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kernel {
    /// With the drivers of servers
    Server,
    /// Virtual machines only, smaller
    Cloud,
}

impl Kernel {
    fn variant(self) -> Variant {
        match self {
            Self::Server => Variant::Server,
            Self::Cloud => Variant::Cloud,
        }
    }
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
        Wanted::Os(wanted) => build_os(workspace, wanted),
    }
}

fn build_os(workspace: &Workspace, wanted: &Os) -> Result<()> {
    let until = deadline::after(LIMIT);
    let cache = Cache::from_env()?;
    let kernel = wanted.kernel.variant();
    let mut spec = if wanted.plain {
        OsImageSpec::plain("debian-12".into(), kernel, cache)
    } else {
        let agent = match &wanted.agent {
            Some(agent) => agent.clone(),
            None => artefacts::agent(workspace, until)?,
        };
        let programs = kubernetes::ensure(&workspace.root, Minor::Current, until)?;
        OsImageSpec::kubernetes(programs.dir, programs.version, agent, kernel, cache)
    };
    spec.active_flag = wanted.active_flag;
    spec.sector = match wanted.sector_size {
        SectorSize::Bytes512 => Sector::Bytes512,
        SectorSize::Bytes4096 => Sector::Bytes4096,
    };
    let folder = out_dir(workspace, wanted.out.as_deref());
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut images = Vec::new();
    for form in &wanted.formats {
        spec.format = match form {
            Form::Raw => Format::Raw,
            Form::Qcow2 => Format::Qcow2,
            Form::Zst => Format::Zst,
            Form::Xz => Format::Xz,
        };
        let image = os::build(&spec, &mut |line| say(line))?;
        let sectors = if spec.sector == Sector::Bytes4096 { "-4kn" } else { "" };
        let name = format!("{}{sectors}.{}", spec.name, spec.format.extension());
        deliver(&image.path, &folder.join(&name))?;
        println!(
            "{}  {}  {} bytes, {} on the disk",
            image.sha256,
            folder.join(&name).display(),
            image.size,
            image.raw_size
        );
        images.push((name, image));
    }
    let manifest = folder.join("manifest.json");
    let content = serde_json::to_vec_pretty(&os::manifest(&spec, &images))?;
    fs::write(&manifest, content).with_context(|| format!("cannot write {}", manifest.display()))?;
    println!("{}", manifest.display());
    Ok(())
}

/// Puts a file of the cache where it is wanted, without a second copy if that can be.
fn deliver(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_file(to).with_context(|| format!("cannot replace {}", to.display()))?;
    }
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let mut copy = Command::new("cp");
    copy.arg("--sparse=always").arg(from).arg(to);
    run::must(copy, deadline::after(LIMIT), |_| {}).map(drop)
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
        variant: boot.kernel.variant(),
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
