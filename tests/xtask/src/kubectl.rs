//! The real `kubectl`, run in the rack's namespace, where the API servers are.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use bessemer_rack::Rack;
use serde_json::Value;

use crate::{deadline, run};

/// A call answers in a moment; one that waits says so by its own `--timeout`.
const ANSWER: Duration = Duration::from_secs(120);

/// One API server, as its administrator.
pub(crate) struct Kubectl<'rack> {
    rack: &'rack Rack,
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl<'rack> Kubectl<'rack> {
    /// `programs` is the folder that holds `kubectl`.
    pub(crate) fn new(rack: &'rack Rack, programs: &Path, kubeconfig: PathBuf) -> Self {
        Self { rack, program: programs.join("kubectl"), kubeconfig }
    }

    /// The same program for another cluster, whose kubeconfig it writes next to this one's.
    pub(crate) fn for_cluster(&self, name: &str, kubeconfig: &[u8]) -> Result<Self> {
        let path = self.rack.dir().join(format!("{name}.kubeconfig"));
        let mut options = std::fs::OpenOptions::new();
        // it holds the cluster administrator's key
        std::os::unix::fs::OpenOptionsExt::mode(options.write(true).create(true).truncate(true), 0o600);
        options.open(&path)?.write_all(kubeconfig)?;
        Ok(Self { rack: self.rack, program: self.program.clone(), kubeconfig: path })
    }

    /// A command with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.rack.exec(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        // servers of other runs had the same address and other kinds
        command.arg("--cache-dir").arg(self.rack.dir().join("kubectl-cache")).args(arguments);
        command
    }

    /// Runs it and gives what it prints.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        run::must(self.command(arguments), deadline::after(ANSWER), |_| {})
    }

    /// `kubectl get … -o json`.
    pub(crate) fn get(&self, arguments: &[&str]) -> Result<Value> {
        let text = self.run(&[&["get", "-o", "json"], arguments].concat())?;
        serde_json::from_str(&text).with_context(|| format!("kubectl get {} printed {text:?}", arguments.join(" ")))
    }

    /// `kubectl apply -f -`.
    pub(crate) fn apply(&self, manifest: &str) -> Result<String> {
        run::must_fed(self.command(&["apply", "-f", "-"]), manifest, deadline::after(ANSWER))
    }
}
