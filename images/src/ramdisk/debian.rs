//! Debian's kernel packages, from the archive that this machine's apt knows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::RamdiskError;
use crate::file::FileError;

/// Seconds that apt may take.
const LIMIT_SECONDS: &str = "600";

const REMEDY: &str = "this needs a Debian with apt: run `apt-get update`, and look whether its mirror answers";

/// What is taken out of a kernel package, in memory: it is used once.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// The kernel itself.
    pub(super) vmlinuz: Vec<u8>,
    /// The modules, by name without `.ko`.
    pub(super) modules: BTreeMap<String, Vec<u8>>,
    /// Names of the drivers that are in the kernel itself.
    pub(super) built_in: BTreeSet<String>,
}

/// Name and version of the newest kernel that `meta_package` depends on.
pub(super) fn newest(meta_package: &str) -> Result<String, RamdiskError> {
    let depends = run("apt-cache", &["depends", meta_package], None)?;
    let name = depends
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: ").filter(|name| name.starts_with("linux-image-")))
        .ok_or_else(|| package_error(meta_package, "depends on no kernel"))?
        .to_owned();
    let show = run("apt-cache", &["show", "--no-all-versions", &name], None)?;
    let version = show
        .lines()
        .find_map(|line| line.strip_prefix("Version: "))
        .ok_or_else(|| package_error(&name, "has no version"))?;
    Ok(format!("{name}={version}"))
}

/// Downloads `package` to `folder`, takes out the kernel and all modules, and removes it.
pub(super) fn fetch(package: &str, folder: &Path) -> Result<Kernel, RamdiskError> {
    // As root apt would drop to a user that cannot write here.
    run("apt-get", &["-qq", "-o", "APT::Sandbox::User=root", "download", package], Some(folder))?;
    let deb = deb_in(folder)?.ok_or_else(|| package_error(package, "was not downloaded"))?;
    let mut reader = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(&deb)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(FileError::io("run", Path::new("dpkg-deb")))?;
    let taken = reader.stdout.take().map(take);
    let status = reader.wait().map_err(FileError::io("run", Path::new("dpkg-deb")))?;
    let kernel = taken.transpose().map_err(FileError::io("unpack", &deb))?.unwrap_or_default();
    if !status.success() || kernel.vmlinuz.is_empty() {
        return Err(package_error(package, "cannot be unpacked or holds no kernel"));
    }
    fs::remove_file(&deb).map_err(FileError::io("remove", &deb))?;
    Ok(kernel)
}

fn deb_in(folder: &Path) -> Result<Option<PathBuf>, RamdiskError> {
    let listing = fs::read_dir(folder).map_err(FileError::io("list", folder))?;
    let mut paths = listing.flatten().map(|entry| entry.path());
    Ok(paths.find(|path| path.extension().is_some_and(|extension| extension == "deb")))
}

fn take(tar: impl Read) -> io::Result<Kernel> {
    let mut kernel = Kernel::default();
    for entry in tar::Archive::new(tar).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Some(file) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
        let mut content = Vec::new();
        if file.starts_with("vmlinuz-") {
            entry.read_to_end(&mut kernel.vmlinuz)?;
        } else if file == "modules.builtin" {
            entry.read_to_end(&mut content)?;
            let list = String::from_utf8_lossy(&content);
            kernel.built_in = list.lines().filter_map(|line| module_name(Path::new(line))).collect();
        } else if let Some(name) = module_name(&path) {
            entry.read_to_end(&mut content)?;
            kernel.modules.insert(name, content);
        }
    }
    Ok(kernel)
}

/// `…/dm-mod.ko` is `dm_mod` to the kernel.
fn module_name(path: &Path) -> Option<String> {
    path.file_name()?.to_str()?.strip_suffix(".ko").map(|name| name.replace('-', "_"))
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
