//! A shell in which `kubectl` is the administrator of one server.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::folder;
use crate::normal::Normaliser;
use crate::script::Step;

/// No step waits longer for anything, on a machine that compiles at the same time.
const STEP_SECONDS: &str = "90";

/// What `timeout` ends with when it had to end something.
const OVERDUE: i32 = 124;

/// What a step printed, without what differs from run to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// `out| `, `err| ` and `exit N` lines.
    pub lines: Vec<String>,
    /// It had to be ended.
    pub overdue: bool,
}

/// Where the steps run.
#[derive(Debug)]
pub struct Session {
    home: PathBuf,
    kubeconfig: PathBuf,
    normaliser: Normaliser,
}

impl Session {
    /// In the new folder `home`, with the program `kubectl` and the server that `kubeconfig` names.
    ///
    /// # Errors
    /// When the folder cannot be filled.
    pub fn new(home: &Path, kubectl: &Path, kubeconfig: &Path) -> Result<Self> {
        let bin = home.join("bin");
        std::fs::create_dir_all(&bin).with_context(|| format!("cannot make {}", bin.display()))?;
        symlink(kubectl, bin.join("kubectl")).context("cannot link kubectl")?;
        // steps name their files from there
        symlink(folder().join("files"), home.join("files")).context("cannot link the files")?;
        symlink(folder().join("../../../manifests/crds"), home.join("crds")).context("cannot link the definitions")?;
        let normaliser = Normaliser::new(home)?;
        Ok(Self { home: home.to_owned(), kubeconfig: kubeconfig.to_owned(), normaliser })
    }

    /// Runs one step to its end.
    ///
    /// # Errors
    /// When no shell can be run.
    pub fn run(&self, step: &Step) -> Result<Answer> {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("timeout")
            .args(["--kill-after=5", STEP_SECONDS, "/bin/sh", "-c"])
            .arg(format!(". files/shell.sh\n{}", step.commands))
            .current_dir(&self.home)
            .env_clear()
            .env("PATH", format!("{}:{path}", self.home.join("bin").display()))
            .env("HOME", &self.home)
            .env("TMPDIR", &self.home)
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::null())
            .output()
            .context("cannot run timeout, of Debian's coreutils")?;
        let code = output.status.code().unwrap_or(-1);
        let mut lines = self.lines("out| ", &output.stdout);
        lines.extend(self.lines("err| ", &output.stderr));
        if code != 0 {
            lines.push(format!("exit {code}"));
        }
        Ok(Answer { lines, overdue: code == OVERDUE })
    }

    fn lines(&self, mark: &str, bytes: &[u8]) -> Vec<String> {
        let text = self.normaliser.normalise(&String::from_utf8_lossy(bytes));
        text.lines().map(|line| format!("{mark}{line}")).collect()
    }
}
