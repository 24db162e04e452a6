//! The OS image that a host is given: Debian with a real Kubernetes and our agent, as one raw disk
//! image with GPT, an EFI system partition and an ext4 root, compressed with zstd. Three stages,
//! each cached by what it is made from: Debian's root file system, the disk with Kubernetes in it,
//! and that disk with the agent; a changed agent costs the last one only. Nothing here needs a
//! loop device or a network other than Debian's mirrors. This room does not know how the programs
//! were built, who serves the image or how it is written.

mod debian;
mod disk;
mod error;
mod gpt;
mod host;
mod kubernetes;
mod libraries;
mod oci;
mod seal;

use std::path::{Path, PathBuf};

use crate::cache::{Cache, Fingerprint};

pub use error::OsImageError;

/// What an image is made from.
#[derive(Debug, Clone)]
pub struct OsImageSpec {
    /// A folder with the static programs of one Kubernetes version: its own seven, `etcd`,
    /// `coredns`, `pause`, `crictl`, containerd's three and the CNI plugins.
    pub kubernetes: PathBuf,
    /// The version of those programs, as in `v1.36.3`.
    pub kubernetes_version: String,
    /// The agent, a static program; the image runs it as `bessemer-agent node`.
    pub agent: PathBuf,
    /// Where the stages and the image are kept.
    pub cache: Cache,
}

/// A finished image: `path` is a raw disk image compressed with zstd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsImage {
    /// The file to serve, in the cache.
    pub path: PathBuf,
    /// SHA-256 of that file, as lower-case hexadecimal digits.
    pub sha256: String,
    /// Length of that file in bytes.
    pub size: u64,
    /// Length of the disk image inside in bytes: no smaller disk can take it.
    pub raw_size: u64,
}

/// Images and stages kept of each kind, counting the one just used.
const KEPT: usize = 2;

/// Builds the image, or finds it built. `progress` is called with one line for each stage that is
/// really built. Errors if not run as root, if a tool is missing or fails, or if space is short.
pub fn build(spec: &OsImageSpec, progress: &mut dyn FnMut(&str)) -> Result<OsImage, OsImageError> {
    let debian_key = debian::fingerprint();
    let disk_key = kubernetes::fingerprint(&spec.kubernetes, &debian_key)?;
    let image_key = {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add("disk", &disk_key).add("recipe", seal::RECIPE).add_file("agent", &spec.agent)?;
        fingerprint.finish()
    };
    let image = spec.cache.entry("os-image", &image_key, KEPT, |partial| {
        host::check(spec.cache.root())?;
        let disk = spec.cache.entry("os-disk", &disk_key, KEPT, |partial| {
            let debian = spec.cache.entry("os-debian", &debian_key, KEPT, |partial| {
                timed(progress, "Debian's root file system", || debian::build(partial))
            })?;
            let what = format!("the disk with Kubernetes {}", spec.kubernetes_version);
            timed(progress, &what, || disk::build(spec, &debian, partial))
        })?;
        timed(progress, "the image with the agent", || seal::build(&disk, &spec.agent, partial))
    })?;
    seal::read(&image)
}

/// Runs one stage and tells how long it took.
fn timed<T>(
    progress: &mut dyn FnMut(&str),
    what: &str,
    stage: impl FnOnce() -> Result<T, OsImageError>,
) -> Result<T, OsImageError> {
    let start = std::time::Instant::now();
    let result = stage()?;
    progress(&format!("os image: {what} in {} s", start.elapsed().as_secs()));
    Ok(result)
}

/// `path` as text for a tool's argument that is more than a path.
fn text(path: &Path) -> std::borrow::Cow<'_, str> {
    path.to_string_lossy()
}
