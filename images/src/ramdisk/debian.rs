//! Debian's cloud kernel, from the archive that this machine's apt knows.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::RamdiskError;
use crate::cache::{Cache, Fingerprint};

/// The package that depends on the newest cloud kernel.
const META_PACKAGE: &str = "linux-image-cloud-amd64";

/// Kernels kept, counting the one just used.
const KEPT: usize = 2;

/// Changes when the layout of a cache entry does.
const RECIPE: &str = "1";

/// Seconds that apt may take.
const LIMIT_SECONDS: &str = "600";

const REMEDY: &str = "this needs a Debian with apt: run `apt-get update`, and look whether its mirror answers";

/// An unpacked kernel package.
#[derive(Debug)]
pub(super) struct Kernel {
    /// Name and version.
    pub(super) package: String,
    /// The kernel itself.
    pub(super) vmlinuz: PathBuf,
    /// Below this are the `.ko` files.
    pub(super) modules: PathBuf,
}

/// The newest kernel, downloaded unless it is in the cache.
pub(super) fn kernel(cache: &Cache) -> Result<Kernel, RamdiskError> {
    let depends = run("apt-cache", &["depends", META_PACKAGE], None)?;
    let name = depends
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: ").filter(|name| name.starts_with("linux-image-")))
        .ok_or_else(|| package_error(META_PACKAGE, "depends on no kernel"))?
        .to_owned();
    let show = run("apt-cache", &["show", "--no-all-versions", &name], None)?;
    let version = show
        .lines()
        .find_map(|line| line.strip_prefix("Version: "))
        .ok_or_else(|| package_error(&name, "has no version"))?;
    let package = format!("{name}={version}");
    let mut fingerprint = Fingerprint::default();
    fingerprint.add("recipe", RECIPE).add("package", &package);
    let entry = cache.entry("ramdisk-kernel", &fingerprint.finish(), KEPT, |partial| {
        // As root apt would drop to a user that cannot write here.
        run("apt-get", &["-qq", "-o", "APT::Sandbox::User=root", "download", &package], Some(partial))?;
        unpack(&package, partial)
    })?;
    Ok(Kernel { package, vmlinuz: entry.join("vmlinuz"), modules: entry.join("modules") })
}

/// Takes the kernel and all modules, flat, out of the package and removes it.
fn unpack(package: &str, folder: &Path) -> Result<(), RamdiskError> {
    let modules = folder.join("modules");
    fs::create_dir(&modules).map_err(RamdiskError::io("create", &modules))?;
    let deb = fs::read_dir(folder)
        .map_err(RamdiskError::io("list", folder))?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .ok_or_else(|| package_error(package, "was not downloaded"))?;
    let mut reader = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(&deb)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(RamdiskError::io("run", Path::new("dpkg-deb")))?;
    let unpacked = reader.stdout.take().map(|tar| take(tar, folder, &modules));
    let status = reader.wait().map_err(RamdiskError::io("run", Path::new("dpkg-deb")))?;
    unpacked.transpose().map_err(RamdiskError::io("unpack", &deb))?;
    if !status.success() || !folder.join("vmlinuz").is_file() {
        return Err(package_error(package, "cannot be unpacked or holds no kernel"));
    }
    fs::remove_file(&deb).map_err(RamdiskError::io("remove", &deb))
}

fn take(tar: impl io::Read, folder: &Path, modules: &Path) -> io::Result<()> {
    for entry in tar::Archive::new(tar).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
        let to = if name.starts_with("vmlinuz-") {
            folder.join("vmlinuz")
        } else if name.ends_with(".ko") {
            modules.join(name.replace('-', "_"))
        } else {
            continue;
        };
        io::copy(&mut entry, &mut File::create(to)?)?;
    }
    Ok(())
}

fn run(tool: &str, arguments: &[&str], folder: Option<&Path>) -> Result<String, RamdiskError> {
    let failed = |outcome: String| RamdiskError::Tool {
        tool: format!("{tool} {}", arguments.join(" ")),
        outcome,
        remedy: REMEDY,
    };
    let mut command = Command::new("timeout");
    command.args([LIMIT_SECONDS, tool]).args(arguments).env("LC_ALL", "C").stdin(Stdio::null());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{}: {}", output.status, words.lines().last().unwrap_or_default())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn package_error(package: &str, what: &str) -> RamdiskError {
    RamdiskError::Package { package: package.to_owned(), what: what.to_owned() }
}
