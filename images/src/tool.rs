//! Running the tools of the build machine: each with a deadline, and with the end of its output in
//! the error when it fails.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Lines of output in an error.
const TAIL_LINES: usize = 12;

/// Where administrators' tools are, which users' PATHs often lack.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// Why a tool did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Tools of the build machine are not installed.
    #[error("missing {tools}: apt-get install --no-install-recommends {packages}")]
    Missing {
        /// The programs, separated by commas.
        tools: String,
        /// Debian's packages that have them.
        packages: String,
    },
    /// A tool could not be run.
    #[error("cannot run {tool}: {source}")]
    NotRun {
        /// The program.
        tool: String,
        /// Why not.
        source: io::Error,
    },
    /// A tool ended with an error.
    #[error("{tool} failed ({outcome}); its last lines:\n{tail}")]
    Failed {
        /// The program.
        tool: String,
        /// Exit status, or that it took too long.
        outcome: String,
        /// The last lines of its output.
        tail: String,
    },
}

fn search_path() -> String {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into());
    format!("{path}:{SYSTEM_PATH}")
}

/// Checks that all of `needed` is installed: each a program's name or a file's path, with the package of Debian that has it.
pub(crate) fn check(needed: &[(&str, &str)]) -> Result<(), ToolError> {
    let path = search_path();
    // A path with a slash at its start replaces the folder that it is joined to.
    let there = |tool: &str| path.split(':').any(|folder| Path::new(folder).join(tool).is_file());
    let missing: Vec<_> = needed.iter().filter(|(tool, _)| !there(tool)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    let tools: Vec<_> = missing.iter().map(|(tool, _)| *tool).collect();
    Err(ToolError::Missing { tools: tools.join(", "), packages: packages.join(" ") })
}

/// One run of a tool.
pub(crate) struct Tool {
    name: String,
    command: Command,
}

impl Tool {
    /// A run of `name` that is ended after `limit`.
    pub(crate) fn new(name: &str, limit: Duration) -> Self {
        let mut command = Command::new("timeout");
        command.arg("--kill-after=10").arg(limit.as_secs().to_string()).arg(name);
        command.env("PATH", search_path()).env("LC_ALL", "C").stdin(Stdio::null());
        Self { name: name.to_owned(), command }
    }

    /// Adds an argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable of the environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end and returns what it wrote to its standard output.
    pub(crate) fn run(mut self) -> Result<String, ToolError> {
        let output = match self.command.output() {
            Ok(output) => output,
            Err(source) => return Err(ToolError::NotRun { tool: self.name, source }),
        };
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
        Err(ToolError::Failed { tool: self.name, outcome, tail })
    }
}
