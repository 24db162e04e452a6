//! The ramdisk that a host boots from the network: Debian's cloud kernel, the few modules that it needs to see a NIC and a disk, and the
//! agent as `/init`. Nothing else is in it: no shell, no library. The boot server appends each boot's overlay to it, so the archive
//! must end cleanly and its length is a multiple of four. This room does not know who serves it.

mod cpio;
mod debian;
mod modules;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cache::{Cache, CacheError};

/// Modules wanted, by the name that the kernel gives them; what they depend on comes along. NVMe is built into the cloud kernel.
const MODULES: [&str; 4] = ["virtio_pci", "virtio_net", "virtio_blk", "virtio_rng"];

/// Slow to make, quick to unpack: it is built once and travels often.
const COMPRESSION_LEVEL: i32 = 19;

/// What a ramdisk is made from.
#[derive(Debug, Clone)]
pub struct RamdiskSpec {
    /// The agent, a static program.
    pub agent: PathBuf,
    /// Where to put `vmlinuz` and `initrd`; made if it is not there.
    pub out_dir: PathBuf,
    /// Where the kernel package is kept.
    pub cache: Cache,
}

/// A finished ramdisk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ramdisk {
    /// The kernel.
    pub vmlinuz: PathBuf,
    /// The compressed archive.
    pub initrd: PathBuf,
    /// Debian package and version of the kernel.
    pub kernel: String,
    /// Length of the kernel in bytes.
    pub vmlinuz_size: u64,
    /// Length of the archive in bytes.
    pub initrd_size: u64,
}

/// Why there is no ramdisk.
#[derive(Debug, thiserror::Error)]
pub enum RamdiskError {
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A file operation failed.
    #[error("ramdisk: {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
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

impl RamdiskError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// Builds the ramdisk. The kernel is downloaded once for each version that Debian publishes. The same agent and kernel give the same bytes.
pub fn build(spec: &RamdiskSpec) -> Result<Ramdisk, RamdiskError> {
    let agent = fs::read(&spec.agent).map_err(RamdiskError::io("read", &spec.agent))?;
    if !modules::is_static(&agent) {
        return Err(RamdiskError::NotStatic(spec.agent.clone()));
    }
    let kernel = debian::kernel(&spec.cache)?;
    let modules = modules::select(&kernel, &MODULES)?;
    let archive = archive(&agent, &modules);
    let compressed = zstd::bulk::compress(&archive, COMPRESSION_LEVEL)
        .map_err(RamdiskError::io("compress", Path::new("initrd")))
        .map(padded)?;
    fs::create_dir_all(&spec.out_dir).map_err(RamdiskError::io("create", &spec.out_dir))?;
    let vmlinuz = spec.out_dir.join("vmlinuz");
    let initrd = spec.out_dir.join("initrd");
    let vmlinuz_size = fs::copy(&kernel.vmlinuz, &vmlinuz).map_err(RamdiskError::io("copy", &vmlinuz))?;
    fs::write(&initrd, &compressed).map_err(RamdiskError::io("write", &initrd))?;
    Ok(Ramdisk { vmlinuz, initrd, kernel: kernel.package, vmlinuz_size, initrd_size: compressed.len() as u64 })
}

/// The kernel skips zeroes between archives and wants each to start at a multiple of four.
fn padded(mut archive: Vec<u8>) -> Vec<u8> {
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive
}

fn archive(agent: &[u8], modules: &modules::Selection) -> Vec<u8> {
    let mut archive = cpio::Writer::default();
    for folder in ["dev", "etc", "etc/bessemer", "lib", "lib/modules", "proc", "run", "sys", "tmp"] {
        archive.folder(folder);
    }
    // PID 1 gets its standard output from the kernel, which opens this before anything is mounted.
    archive.character_device("dev/console", 5, 1);
    archive.file("init", 0o755, agent);
    // The C library's resolver is told to ask nothing but files and DNS.
    archive.file("etc/nsswitch.conf", 0o644, b"hosts: files dns\n");
    archive.file("etc/hosts", 0o644, b"127.0.0.1 localhost\n::1 localhost\n");
    archive.file("lib/modules/modules.alias", 0o644, modules.aliases.as_bytes());
    archive.file("lib/modules/modules.order", 0o644, modules.order.as_bytes());
    for (name, content) in &modules.files {
        archive.file(&format!("lib/modules/{name}.ko"), 0o644, content);
    }
    archive.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_agent_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let spec = RamdiskSpec {
            agent: "/bin/sh".into(),
            out_dir: folder.path().join("out"),
            cache: Cache::at(folder.path().join("cache")),
        };
        assert!(matches!(build(&spec), Err(RamdiskError::NotStatic(_))));
    }
}
