//! The two servers: started, reached, looked at, ended.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bessemer_apiserver::ApiServer;
use bessemer_kube_peer::RealApi;
use tempfile::TempDir;

use crate::client::Access;

/// A server being measured; ends when dropped.
pub(crate) struct Server {
    kind: Kind,
    pub(crate) started_in: Duration,
}

enum Kind {
    Ours(Ours),
    Peer(Box<RealApi>),
}

struct Ours {
    dir: TempDir,
    child: Child,
    address: SocketAddr,
    // Kept open: closed, it would end the server.
    _output: BufReader<ChildStdout>,
}

/// The embedded API, until the process is killed.
pub(crate) async fn serve(dir: &Path) -> Result<()> {
    let api = ApiServer::open(dir).await?;
    let serving = api.serve_https(([127, 0, 0, 1], 0).into(), &[], std::future::pending()).await?;
    println!("{}", serving.local_addr);
    serving.finished().await;
    Ok(())
}

impl Ours {
    fn start(dir: TempDir) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg(dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the embedded API")?;
        let mut output = BufReader::new(child.stdout.take().context("the embedded API has no output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let address = line.trim().parse().with_context(|| format!("the embedded API says {line:?}"))?;
        let ours = Self { dir, child, address, _output: output };
        let access = ours.access()?;
        crate::runtime()?.block_on(async {
            let answer = access.connect().await?.get("/readyz").await?;
            if answer.is_success() { Ok(()) } else { bail!("the embedded API is not ready") }
        })?;
        Ok(ours)
    }

    fn access(&self) -> Result<Access> {
        let read = |name: &str| std::fs::read_to_string(self.dir.path().join(name)).context("a file of the server");
        Access::new(self.address, &read("pki/ca.crt")?, read("admin.token")?.trim())
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn ours() -> Result<Self> {
        let begun = Instant::now();
        let ours = Ours::start(TempDir::new()?)?;
        Ok(Self { kind: Kind::Ours(ours), started_in: begun.elapsed() })
    }

    pub(crate) fn peer(programs: &Path) -> Result<Self> {
        let peer = RealApi::start(programs)?;
        let started_in = peer.started_in;
        Ok(Self { kind: Kind::Peer(Box::new(peer)), started_in })
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Ours(_) => "embedded API",
            Kind::Peer(_) => "kube-apiserver + etcd",
        }
    }

    pub(crate) fn access(&self) -> Result<Access> {
        match &self.kind {
            Kind::Ours(ours) => ours.access(),
            Kind::Peer(peer) => {
                let address = peer.url.trim_start_matches("https://").parse().context("the peer's address")?;
                Access::new(address, &peer.ca, &peer.token)
            }
        }
    }

    /// What its processes hold in memory, in MiB.
    pub(crate) fn memory(&self) -> Result<f64> {
        let processes = match &self.kind {
            Kind::Ours(ours) => vec![ours.child.id()],
            Kind::Peer(peer) => peer.processes().into_iter().map(|(_, process)| process).collect(),
        };
        processes.into_iter().map(resident).sum()
    }

    /// Kills it and starts it again on what it has stored; only for the embedded API.
    pub(crate) fn restart(self: &mut Server) -> Result<Option<Duration>> {
        let Kind::Ours(ours) = &mut self.kind else { return Ok(None) };
        ours.child.kill()?;
        ours.child.wait()?;
        let dir = std::mem::replace(&mut ours.dir, TempDir::new()?);
        let begun = Instant::now();
        *ours = Ours::start(dir)?;
        Ok(Some(begun.elapsed()))
    }
}

fn resident(process: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("a process without memory")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}
