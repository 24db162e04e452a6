//! Running the tools of the build machine: each with a deadline, and with the end of its output in
//! the error when it fails.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::error::OsImageError;

/// Tool, Debian package that has it.
const TOOLS: [(&str, &str); 10] = [
    ("mmdebstrap", "mmdebstrap"),
    ("mke2fs", "e2fsprogs"),
    ("debugfs", "e2fsprogs"),
    ("mkfs.vfat", "dosfstools"),
    ("mmd", "mtools"),
    ("mcopy", "mtools"),
    ("zstd", "zstd"),
    ("tar", "tar"),
    ("unshare", "util-linux"),
    ("timeout", "coreutils"),
];

/// Debian's archive and unpacked root, the disk and its copy, the compressed image.
const NEEDED_MIB: u64 = 6 * 1024;

/// Lines of output in an error.
const TAIL_LINES: usize = 12;

/// Where administrators' tools are, which users' PATHs often lack.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin";

fn search_path() -> String {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into());
    format!("{path}:{SYSTEM_PATH}")
}

/// Checks that this machine can build an image whose stages go into `cache`.
pub(super) fn check_host(cache: &Path) -> Result<(), OsImageError> {
    if !rustix::process::geteuid().is_root() {
        return Err(OsImageError::NotRoot);
    }
    let path = search_path();
    let missing: Vec<_> = TOOLS
        .iter()
        .filter(|(tool, _)| !path.split(':').any(|folder| Path::new(folder).join(tool).is_file()))
        .collect();
    if !missing.is_empty() {
        let mut packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
        packages.dedup();
        let tools: Vec<_> = missing.iter().map(|(tool, _)| *tool).collect();
        return Err(OsImageError::MissingTools { tools: tools.join(", "), packages: packages.join(" ") });
    }
    let space =
        rustix::fs::statvfs(cache).map_err(|errno| OsImageError::io("measure", cache)(std::io::Error::from(errno)))?;
    let free_mib = space.f_bavail.saturating_mul(space.f_frsize) >> 20;
    if free_mib < NEEDED_MIB {
        return Err(OsImageError::NoSpace { path: cache.to_owned(), free_mib, needed_mib: NEEDED_MIB });
    }
    Ok(())
}

/// One run of a tool.
pub(super) struct Tool {
    name: String,
    command: Command,
}

impl Tool {
    /// A run of `name` that is ended after `limit`.
    pub(super) fn new(name: &str, limit: Duration) -> Self {
        let mut command = Command::new("timeout");
        command.arg("--kill-after=10").arg(limit.as_secs().to_string()).arg(name);
        command.env("PATH", search_path()).env("LC_ALL", "C").stdin(Stdio::null());
        Self { name: name.to_owned(), command }
    }

    /// Adds an argument.
    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub(super) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable of the environment.
    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end and returns what it wrote to its standard output.
    pub(super) fn run(mut self) -> Result<String, OsImageError> {
        let output = self.command.output().map_err(OsImageError::io("run", Path::new(&self.name)))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(text);
        }
        let outcome = match output.status.code() {
            Some(124) => "it took too long".to_owned(),
            _ => output.status.to_string(),
        };
        let all = text + &String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = all.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n");
        Err(OsImageError::Tool { tool: self.name, outcome, tail })
    }
}
