//! The real Kubernetes API, for tests and measurements to compare with: etcd (with fsync), kube-apiserver (with RBAC),
//! and kube-controller-manager where its controllers are asked for. Everything is on loopback, on ports that were
//! free, in a temporary folder, and ends with its owner, however that ends. It must not know what is compared.

mod keeper;
mod pki;
mod ready;
mod servers;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use keeper::Keeper;
use pki::Pki;

/// Names a folder that holds the programs; `cargo xtask kubernetes` prints one, and sets it for every lane.
pub const PROGRAMS_VARIABLE: &str = "BESSEMER_KUBE_BIN";

/// Four seconds on an idle machine; one that compiles takes longer.
const STARTS: Duration = Duration::from_secs(120);

/// Somebody else may take a port between our looking for it and the server's binding it.
const ATTEMPTS: usize = 3;

/// The folder that [`PROGRAMS_VARIABLE`] names. A test without it prints `SKIP`, a space and the error's text.
///
/// # Errors
/// When the variable is not set, as a reason to skip a test.
pub fn programs() -> Result<PathBuf, &'static str> {
    let named = env::var_os(PROGRAMS_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    named.ok_or("no programs of Kubernetes: set BESSEMER_KUBE_BIN to what cargo xtask kubernetes prints")
}

/// Which of kube-controller-manager's controllers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controllers {
    None,
    Collectors,
    All,
}

/// A running kube-apiserver with its etcd; ended when dropped.
#[derive(Debug)]
pub struct RealApi {
    /// A kubeconfig of an administrator (`system:masters`) with a client certificate, readable by its owner only.
    pub kubeconfig: PathBuf,
    /// `https://127.0.0.1:PORT`.
    pub url: String,
    /// The authority of the server's certificate, in PEM.
    pub ca: String,
    /// A bearer token of an administrator (`system:masters`).
    pub token: String,
    /// From the first program's start until `/readyz` said `ok`.
    pub started_in: Duration,
    // ended before its folder goes
    keeper: Keeper,
    dir: TempDir,
}

impl RealApi {
    /// Starts etcd and kube-apiserver from the folder `programs` and waits until the API is ready. It blocks for
    /// seconds: call it outside an async runtime or with `spawn_blocking`.
    ///
    /// # Errors
    /// When a program is missing, ends, or is not ready in two minutes, with the end of its log.
    pub fn start(programs: &Path) -> Result<Self> {
        Self::attempts(programs, Controllers::None)
    }

    /// The same with kube-controller-manager: garbage collection, ends of namespaces, service accounts.
    ///
    /// # Errors
    /// As [`RealApi::start`].
    pub fn start_with_controllers(programs: &Path) -> Result<Self> {
        Self::attempts(programs, Controllers::All)
    }

    /// The same with the garbage collector and the end of namespaces, and no controller that makes objects of its own.
    ///
    /// # Errors
    /// As [`RealApi::start`].
    pub fn start_with_collectors(programs: &Path) -> Result<Self> {
        Self::attempts(programs, Controllers::Collectors)
    }

    /// The servers' names and process numbers, as for measuring what they use.
    #[must_use]
    pub fn processes(&self) -> Vec<(&'static str, u32)> {
        self.keeper.processes()
    }

    /// The servers' folder: `etcd.log`, `kube-apiserver.log`, `kube-controller-manager.log`, and etcd's data.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Kills the server of this name as `kill -9` does; false if there is none.
    #[must_use]
    pub fn kill(&self, name: &str) -> bool {
        self.keeper.kill(name)
    }

    fn attempts(programs: &Path, controllers: Controllers) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::try_start(programs, controllers) {
                Err(error) if attempt < ATTEMPTS && format!("{error:#}").contains("address already in use") => {}
                result => return result,
            }
            attempt += 1;
        }
    }

    fn try_start(programs: &Path, controllers: Controllers) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("bessemer-kube-peer-").tempdir()?;
        let pki = Pki::write(dir.path())?;
        let ports = servers::Ports { api: free_port()?, etcd: free_port()?, peer: free_port()?, manager: free_port()? };
        let url = format!("https://127.0.0.1:{}", ports.api);
        let kubeconfig = dir.path().join("kubeconfig");
        pki.kubeconfig(&kubeconfig, &url, "admin")?;
        pki.kubeconfig(&dir.path().join("manager.kubeconfig"), &url, "manager")?;

        let begin = Instant::now();
        let keeper = Keeper::new();
        let start = |name: &'static str| {
            ensure!(programs.join(name).is_file(), "no {name} in {}", programs.display());
            keeper.start(
                name,
                servers::command(name, programs, dir.path(), &ports, controllers == Controllers::Collectors),
            )
        };
        start("etcd")?;
        start("kube-apiserver")?;
        let probe = ready::Probe::new(ports.api, &pki.ca, &pki.token)?;
        let alive = || keeper.check(dir.path());
        probe.wait("/readyz", begin + STARTS, alive).context("kube-apiserver is not ready")?;
        let started_in = begin.elapsed();
        if controllers != Controllers::None {
            start("kube-controller-manager")?;
        }
        if controllers == Controllers::All {
            // its controllers run when one of them has done something
            let path = "/api/v1/namespaces/default/serviceaccounts/default";
            probe.wait(path, begin + STARTS, alive).context("kube-controller-manager does nothing")?;
        }
        Ok(Self { kubeconfig, url, ca: pki.ca, token: pki.token, started_in, keeper, dir })
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port on loopback")?;
    Ok(listener.local_addr()?.port())
}

/// The end of a log, for errors.
fn log_tail(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n")
}
