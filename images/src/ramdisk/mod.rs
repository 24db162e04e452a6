//! The ramdisk that a host boots from the network: a kernel of Debian's, the drivers that servers need, and the agent as `/init`. Nothing else
//! is in it: no shell, no library. It is two archives one after the other, as the kernel allows: the drivers, which are compressed once for each
//! kernel, and the agent, which changes with each build. The boot server appends each boot's overlay as a third, so each ends at a
//! multiple of four. This room does not know who serves it.

mod cpio;
mod debian;
mod drivers;
mod modules;

use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::{Cache, CacheError, Fingerprint, hex};
use crate::file::FileError;
use sha2::{Digest, Sha256};

pub use drivers::Variant;

/// Slow to make, quick to unpack: it is built once and travels often. The window of this level is 8 MiB, which the kernel has to
/// spare even in the smallest machine.
const COMPRESSION_LEVEL: i32 = 19;

/// Kernels kept of both variants, counting the one just used.
const KEPT: usize = 4;

/// Changes when the layout of a cache entry or of the archive of drivers does.
const RECIPE: &str = "3";

const VMLINUZ: &str = "vmlinuz";
const DRIVERS: &str = "drivers.cpio.zst";
const FACTS: &str = "facts.json";
const OWN: &str = "agent.cpio.zst";

/// What a ramdisk is made from.
#[derive(Debug, Clone)]
pub struct RamdiskSpec {
    /// Which kernel, with which drivers.
    pub variant: Variant,
    /// The agent, a static program.
    pub agent: PathBuf,
    /// A folder laid out as `/lib/firmware`: what the chosen drivers name and what is there goes in. Debian's own blobs are not free software,
    /// so none is in by itself.
    pub firmware: Option<PathBuf>,
    /// Where to put `vmlinuz` and `initrd`; made if it is not there.
    pub out_dir: PathBuf,
    /// Where the kernel and its drivers are kept.
    pub cache: Cache,
}

/// A finished ramdisk. All lengths are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ramdisk {
    /// The kernel.
    pub vmlinuz: PathBuf,
    /// The compressed archives.
    pub initrd: PathBuf,
    /// Debian package and version of the kernel, as in `linux-image-6.1.0-1-amd64=6.1.4-1`.
    pub kernel: String,
    /// Length of the kernel.
    pub vmlinuz_size: u64,
    /// Length of both archives.
    pub initrd_size: u64,
    /// How much of it are drivers.
    pub drivers_size: u64,
    /// How much of it is the agent.
    pub agent_size: u64,
    /// The modules in it, with what they depend on.
    pub modules: Vec<String>,
    /// Firmware that these modules name and that is not in it.
    pub firmware_missing: usize,
}

impl Ramdisk {
    /// The kernel's version as `uname -r` tells it.
    pub fn release(&self) -> &str {
        let name = self.kernel.split('=').next().unwrap_or_default();
        name.strip_prefix("linux-image-").unwrap_or(name)
    }
}

/// Why there is no ramdisk.
#[derive(Debug, thiserror::Error)]
pub enum RamdiskError {
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A file operation failed.
    #[error("ramdisk: {0}")]
    File(#[from] FileError),
    /// A tool failed or is missing.
    #[error("ramdisk: {tool}: {outcome}; {remedy}")]
    Tool {
        /// Its name and arguments.
        tool: String,
        /// How it ended.
        outcome: String,
        /// What would help.
        remedy: &'static str,
    },
    /// The kernel package is not as expected.
    #[error("ramdisk: kernel package {package}: {what}")]
    Package {
        /// Name and version.
        package: String,
        /// What is wrong.
        what: String,
    },
    /// The agent cannot be PID 1.
    #[error("ramdisk: {} is not a static program: build it for a gnu or musl target with +crt-static", .0.display())]
    NotStatic(PathBuf),
}

/// Builds the ramdisk. The kernel is downloaded once for each version that Debian publishes. The same agent, kernel and firmware give the same
/// bytes.
pub fn build(spec: &RamdiskSpec) -> Result<Ramdisk, RamdiskError> {
    let agent = fs::read(&spec.agent).map_err(FileError::io("read", &spec.agent))?;
    if !modules::is_static(&agent) {
        return Err(RamdiskError::NotStatic(spec.agent.clone()));
    }
    let kernel = debian::newest(spec.variant.meta_package())?;
    let entry = drivers(spec, &kernel)?;
    let drivers = read(&entry.join(DRIVERS))?;
    let facts: Facts = serde_json::from_slice(&read(&entry.join(FACTS))?)
        .map_err(|error| FileError::io("read", &entry.join(FACTS))(error.into()))?;
    let own = read(&own(spec, &agent)?.join(OWN))?;
    let (drivers_size, agent_size) = (drivers.len() as u64, own.len() as u64);
    let archives = [drivers, own].concat();

    fs::create_dir_all(&spec.out_dir).map_err(FileError::io("create", &spec.out_dir))?;
    let vmlinuz = spec.out_dir.join(VMLINUZ);
    let initrd = spec.out_dir.join("initrd");
    let vmlinuz_size = fs::copy(entry.join(VMLINUZ), &vmlinuz).map_err(FileError::io("copy", &vmlinuz))?;
    fs::write(&initrd, &archives).map_err(FileError::io("write", &initrd))?;
    Ok(Ramdisk {
        vmlinuz,
        initrd,
        kernel,
        vmlinuz_size,
        initrd_size: archives.len() as u64,
        drivers_size,
        agent_size,
        modules: facts.modules,
        firmware_missing: facts.firmware_missing.len(),
    })
}

/// What is known of a cached archive of drivers.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Facts {
    modules: Vec<String>,
    firmware_missing: Vec<String>,
}

/// The cache entry with the kernel `package` and the archive of its drivers.
fn drivers(spec: &RamdiskSpec, package: &str) -> Result<PathBuf, RamdiskError> {
    let wanted = spec.variant.modules();
    let mut fingerprint = Fingerprint::default();
    fingerprint.add("recipe", RECIPE).add("package", package).add("modules", wanted.join(" "));
    if let Some(folder) = &spec.firmware {
        fingerprint.add("firmware", folder_digest(folder)?);
    }
    spec.cache.entry("ramdisk-kernel", &fingerprint.finish(), KEPT, |partial| {
        let mut kernel = debian::fetch(package, partial)?;
        write(&partial.join(VMLINUZ), &std::mem::take(&mut kernel.vmlinuz))?;
        let selection = modules::select(package, kernel, &wanted, spec.firmware.as_deref())?;
        write(&partial.join(DRIVERS), &compressed(&drivers_archive(&selection))?)?;
        let facts = Facts {
            modules: selection.files.into_keys().collect(),
            firmware_missing: selection.firmware_missing.into_iter().collect(),
        };
        write(&partial.join(FACTS), &serde_json::to_vec(&facts).unwrap_or_default())
    })
}

/// The cache entry with the archive of the agent: several tests and builds want the same one.
fn own(spec: &RamdiskSpec, agent: &[u8]) -> Result<PathBuf, RamdiskError> {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add("recipe", RECIPE).add("agent", agent);
    spec.cache.entry("ramdisk-agent", &fingerprint.finish(), KEPT, |partial| {
        write(&partial.join(OWN), &compressed(&own_archive(agent))?)
    })
}

/// Names, lengths and contents of all files below `folder`.
fn folder_digest(folder: &Path) -> Result<String, RamdiskError> {
    let mut hash = Sha256::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let listing = fs::read_dir(&folder).map_err(FileError::io("list", &folder))?;
        let mut paths: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                open.push(path);
            } else {
                let content = read(&path)?;
                hash.update(format!("{} {}\n", path.display(), content.len()));
                hash.update(content);
            }
        }
    }
    Ok(hex(&hash.finalize()))
}

fn compressed(archive: &[u8]) -> Result<Vec<u8>, RamdiskError> {
    let mut bytes =
        zstd::bulk::compress(archive, COMPRESSION_LEVEL).map_err(FileError::io("compress", Path::new("initrd")))?;
    // The kernel skips zeroes between archives and wants each to start at a multiple of four.
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    Ok(bytes)
}

fn drivers_archive(modules: &modules::Selection) -> Vec<u8> {
    let mut archive = cpio::Writer::default();
    archive.folder("lib");
    archive.folder("lib/modules");
    archive.file("lib/modules/modules.alias", 0o644, modules.aliases.as_bytes());
    archive.file("lib/modules/modules.order", 0o644, modules.order.as_bytes());
    for (name, content) in &modules.files {
        archive.file(&format!("lib/modules/{name}.ko"), 0o644, content);
    }
    let mut made = std::collections::BTreeSet::new();
    for (name, content) in &modules.firmware {
        let path = format!("lib/firmware/{name}");
        for (end, _) in path.match_indices('/').skip(1) {
            let folder = path.get(..end).unwrap_or_default();
            if made.insert(folder.to_owned()) {
                archive.folder(folder);
            }
        }
        archive.file(&path, 0o644, content);
    }
    archive.finish()
}

fn own_archive(agent: &[u8]) -> Vec<u8> {
    let mut archive = cpio::Writer::default();
    for folder in ["dev", "etc", "etc/bessemer", "proc", "run", "sbin", "sys", "tmp"] {
        archive.folder(folder);
    }
    // PID 1 gets its standard output from the kernel, which opens this before anything is mounted.
    archive.character_device("dev/console", 5, 1);
    archive.file("init", 0o755, agent);
    // What the kernel calls when it lacks a driver: a file system's, a checksum's, a kind of link's.
    archive.link("sbin/modprobe", "/init");
    // The C library's resolver is told to ask nothing but files and DNS.
    archive.file("etc/nsswitch.conf", 0o644, b"hosts: files dns\n");
    archive.file("etc/hosts", 0o644, b"127.0.0.1 localhost\n::1 localhost\n");
    archive.finish()
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(path).map_err(FileError::io("read", path))
}

fn write(path: &Path, content: &[u8]) -> Result<(), RamdiskError> {
    fs::write(path, content).map_err(FileError::io("write", path))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_agent_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let spec = RamdiskSpec {
            variant: Variant::Server,
            agent: "/bin/sh".into(),
            firmware: None,
            out_dir: folder.path().join("out"),
            cache: Cache::at(folder.path().join("cache")),
        };
        assert!(matches!(build(&spec), Err(RamdiskError::NotStatic(_))));
    }
}
