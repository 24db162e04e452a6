//! The OS image that a host is given: Debian, with a real Kubernetes unless another use is meant, and our agent, as one disk
//! image that boots under BIOS and UEFI. Four stages, each cached by what it is made from: Debian's files, the root file
//! system with Kubernetes, and then, for each form that is asked for, the disk with the agent in that form. One root feeds every
//! form and sector size, and a changed agent costs the last stages only. Nothing here needs a loop device or a network other
//! than Debian's mirrors. This room does not know how the programs were built, who serves the image or how it is written.

mod base;
mod debian;
mod disk;
mod error;
mod format;
mod grub;
mod host;
mod kubernetes;
mod layout;
mod libraries;
mod manifest;
mod oci;
mod root;

use std::path::{Path, PathBuf};

use crate::cache::{Cache, Fingerprint};
use crate::ramdisk::Variant;

pub use error::OsImageError;
pub use format::Format;
pub use layout::Sector;
pub use manifest::manifest;

/// The kernel's command line unless another is wanted: both consoles, and no hanging in a panic.
pub const CMDLINE: &str = "console=tty0 console=ttyS0,115200 panic=30";

/// What an image is made from.
#[derive(Debug, Clone)]
pub struct OsImageSpec {
    /// Tells images apart; the names of the partitions follow from it.
    pub name: String,
    /// The kernel on the disk.
    pub kernel: Variant,
    /// What makes it a Kubernetes host; a plain Debian without it.
    pub kubernetes: Option<Kubernetes>,
    /// The agent, a static program, run as `bessemer-agent node`; none if the host shall have none.
    pub agent: Option<PathBuf>,
    /// Files to add.
    pub files: Vec<OwnFile>,
    /// Units to enable.
    pub units: Vec<String>,
    /// Whether to leave out all drivers but those that find the root and read a seed: for images that do little but boot.
    pub boot_modules_only: bool,
    /// The kernel's command line but for the root.
    pub cmdline: String,
    /// Sectors of the disks it is for.
    pub sector: Sector,
    /// Whether to mark the protective partition as active, for a BIOS that starts nothing else.
    pub active_flag: bool,
    /// The form to make.
    pub format: Format,
    /// Where the stages and the image are kept.
    pub cache: Cache,
}

/// Programs of one Kubernetes version.
#[derive(Debug, Clone)]
pub struct Kubernetes {
    /// A folder with static programs: Kubernetes' own seven, `etcd`, `coredns`, `pause`, `crictl`, containerd's three and the CNI plugins.
    pub programs: PathBuf,
    /// Their version, as in `v1.36.3`.
    pub version: String,
}

/// A file that is added to an image.
#[derive(Debug, Clone)]
pub struct OwnFile {
    /// From the root.
    pub path: String,
    /// What it holds.
    pub content: String,
    /// Permission bits.
    pub mode: u32,
}

impl OsImageSpec {
    /// The image for Kubernetes hosts as it is usually wanted: for disks with sectors of 512 bytes, compressed with zstd.
    pub fn kubernetes(programs: PathBuf, version: String, agent: PathBuf, kernel: Variant, cache: Cache) -> Self {
        Self {
            kubernetes: Some(Kubernetes { programs, version: version.clone() }),
            agent: Some(agent),
            ..Self::plain(version, kernel, cache)
        }
    }

    /// A Debian with nothing on it, for disks with sectors of 512 bytes, compressed with zstd.
    pub fn plain(name: String, kernel: Variant, cache: Cache) -> Self {
        Self {
            name,
            kernel,
            kubernetes: None,
            agent: None,
            files: Vec::new(),
            units: Vec::new(),
            boot_modules_only: false,
            cmdline: CMDLINE.into(),
            sector: Sector::Bytes512,
            active_flag: false,
            format: Format::Zst,
            cache,
        }
    }
}

/// A finished image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsImage {
    /// The file to serve, in the cache.
    pub path: PathBuf,
    /// Its form.
    pub format: Format,
    /// Sectors of the disks it is for.
    pub sector: Sector,
    /// SHA-256 of that file, as lower-case hexadecimal digits.
    pub sha256: String,
    /// SHA-512 of that file, as lower-case hexadecimal digits.
    pub sha512: String,
    /// Length of that file in bytes.
    pub size: u64,
    /// Length of the disk image inside in bytes: no smaller disk can take it.
    pub raw_size: u64,
}

/// Stages kept of each kind, counting the one just used.
const KEPT: usize = 4;
/// Images kept, counting the one just used.
const KEPT_IMAGES: usize = 8;

/// Builds the image, or finds it built. `progress` is called with one line for each stage that is
/// really built. Errors if not run as root, if a tool is missing or fails, or if space is short.
pub fn build(spec: &OsImageSpec, progress: &mut dyn FnMut(&str)) -> Result<OsImage, OsImageError> {
    let debian_key = debian::fingerprint(spec);
    let root_key = root::fingerprint(spec)?;
    let image_key = {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add("root", &root_key).add("recipe", disk::RECIPE).add("cmdline", &spec.cmdline);
        fingerprint.add("sector", spec.sector.bytes().to_string()).add("active", spec.active_flag.to_string());
        fingerprint.add("format", spec.format.extension());
        if let Some(agent) = &spec.agent {
            fingerprint.add_file("agent", agent)?;
        }
        fingerprint.finish()
    };
    let entry = spec.cache.entry("os-image", &image_key, KEPT_IMAGES, |partial| {
        host::check(spec.cache.root(), spec.format)?;
        let root = root_stage(spec, &debian_key, &root_key, progress)?;
        let what = format!("the {} image {}", spec.format.extension(), spec.name);
        timed(progress, &what, || {
            let raw = partial.join("disk.raw");
            disk::build(spec, &root::Root::in_entry(&root), &raw, partial)?;
            format::build(&raw, spec.format, partial)
        })
    })?;
    format::read(&entry, spec.format, spec.sector)
}

/// The root file system of an image as a folder, without the agent: a host for tests that need no machine. It is shared
/// by all who ask and must not be written to. `progress` and errors are as of [`build`].
pub fn root_folder(spec: &OsImageSpec, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, OsImageError> {
    let debian_key = debian::fingerprint(spec);
    let root_key = root::fingerprint(spec)?;
    spec.cache.entry("os-folder", &root_key, 1, |partial| {
        host::check(spec.cache.root(), spec.format)?;
        let root = root_stage(spec, &debian_key, &root_key, progress)?;
        timed(progress, "the root as a folder", || root::unpack(&root::Root::in_entry(&root), partial))
    })
}

/// Debian with what the image is for.
fn root_stage(
    spec: &OsImageSpec,
    debian_key: &str,
    root_key: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<PathBuf, OsImageError> {
    spec.cache.entry("os-root", root_key, KEPT, |partial| {
        let debian = spec.cache.entry("os-debian", debian_key, KEPT, |partial| {
            timed(progress, "Debian's root file system", || debian::build(spec, partial))
        })?;
        timed(progress, &format!("the root {}", spec.name), || root::build(spec, &debian, partial))
    })
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
