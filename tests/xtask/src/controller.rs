//! `bessemer up` in a rack: started, awaited, and ended in good order.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bessemer_rack::{BRIDGE, GATEWAY, Process, Rack, wait_for_text};
use rustix::process::Signal;

use crate::artefacts::Artefacts;

/// It takes a second; a machine busy with compilers takes longer.
const STARTS: Duration = Duration::from_secs(60);

/// It gives its own parts 15 seconds.
const ENDS: Duration = Duration::from_secs(30);

/// A running controller.
pub(crate) struct Controller {
    child: Child,
    state: PathBuf,
    output: PathBuf,
    log: PathBuf,
}

impl Controller {
    /// Starts it and waits until it says that it is ready. `images` is what it serves to hosts, `more` are arguments.
    pub(crate) fn start(rack: &Rack, artefacts: &Artefacts, images: &Path, more: &[&str]) -> Result<Self> {
        let state = rack.dir().join("controller");
        let (output, log) = (rack.dir().join("controller.out"), rack.dir().join("controller.log"));
        let child = rack
            .exec(&artefacts.bessemer)
            .args(["up", "--interface", BRIDGE, "--router", GATEWAY, "--kernel-args", "console=ttyS0"])
            .arg("--state")
            .arg(&state)
            .arg("--ramdisk")
            .arg(&artefacts.ramdisk)
            .arg("--images-dir")
            .arg(images)
            .args(more)
            .stdin(Stdio::null())
            .stdout(File::create(&output)?)
            .stderr(File::create(&log)?)
            // it is ended in good order, not by the terminal
            .process_group(0)
            .spawn()
            .context("cannot run bessemer")?;
        let mut controller = Self { child, state, output, log };
        let process = Process::of(controller.child.id());
        if let Err(error) = wait_for_text(&controller.output, "ready", STARTS, process) {
            controller.child.kill().ok();
            controller.child.wait().ok();
            return Err(error.context(format!("bessemer up did not start: {}", controller.log_tail(15))));
        }
        Ok(controller)
    }

    /// The line it is ready with.
    pub(crate) fn ready_line(&self) -> String {
        fs::read_to_string(&self.output).unwrap_or_default().trim().to_owned()
    }

    /// Its API's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.state.join("kubeconfig")
    }

    /// The end of its log.
    pub(crate) fn log_tail(&self, lines: usize) -> String {
        bessemer_rack::tail(&fs::read_to_string(&self.log).unwrap_or_default(), lines)
    }

    /// Still running.
    pub(crate) fn is_alive(&self) -> bool {
        Process::of(self.child.id()).is_some()
    }

    /// Ends it as an operator does.
    pub(crate) fn stop(mut self) -> Result<()> {
        let process = Process::of(self.child.id());
        if let Some(process) = process {
            process.signal(Signal::TERM);
            if !process.wait_gone(ENDS) {
                self.child.kill()?;
                self.child.wait()?;
                anyhow::bail!("bessemer up did not end {} s after SIGTERM", ENDS.as_secs());
            }
        }
        let status = self.child.wait()?;
        ensure!(status.success(), "bessemer up ended with {status}:\n{}", self.log_tail(15));
        Ok(())
    }
}
