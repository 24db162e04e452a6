//! The fake BMCs, in a process of their own: first half Redfish, second half IPMI. It tells its ports in one line, answers
//! each line that it reads with how many sessions there are, and ends with its input.

use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use bessemer_bmc::{Bmc, Credentials, Trust, connect};
use bessemer_fake_bmc::ipmi::{Options, Server};
use bessemer_fake_bmc::{FleetOptions, Host, HostOptions, fleet, seed};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// The fake hosts' administrator.
pub(crate) const USER: &str = "admin";
/// Its password; it protects nothing.
pub(crate) const PASSWORD: &str = "password";

#[derive(Debug, Serialize, Deserialize)]
struct Ports {
    authority: String,
    redfish: Vec<u16>,
    ipmi: Vec<u16>,
}

/// Sessions of all BMCs.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sessions {
    /// Made so far.
    pub(crate) log_ins: u64,
    /// The most that one BMC ever had at once.
    pub(crate) most: u64,
    /// Open now.
    pub(crate) open: u64,
}

/// Runs the BMCs until the input ends.
pub(crate) async fn serve(hosts: u32) -> Result<()> {
    let redfish = fleet::start(FleetOptions::new(seed::minimal()?, hosts / 2)).await?;
    let mut ipmi = Vec::new();
    for index in hosts / 2..hosts {
        ipmi.push(Server::start(Host::new(HostOptions::numbered(index)), Options::default()).await?);
    }
    let ports = Ports {
        authority: redfish.first().and_then(|bmc| bmc.trusted()).unwrap_or_default().to_owned(),
        redfish: redfish.iter().map(|bmc| bmc.address().port()).collect(),
        ipmi: ipmi.iter().map(|bmc| bmc.address().port()).collect(),
    };
    println!("{}", serde_json::to_string(&ports)?);
    // a thread: there is no other way to read stdin without more of tokio
    let (asked, mut questions) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || {
        for _ in std::io::stdin().lines().map_while(Result::ok) {
            if asked.blocking_send(()).is_err() {
                return;
            }
        }
    });
    while questions.recv().await.is_some() {
        let of_redfish = redfish.iter().map(|bmc| {
            let counts = bmc.redfish().session_counts();
            (counts.created, counts.peak as u64, counts.open as u64)
        });
        // who never opened a second one never had two
        let of_ipmi = ipmi.iter().map(|bmc| (bmc.sessions_opened(), bmc.sessions_opened(), bmc.open_sessions() as u64));
        let mut sum = Sessions { log_ins: 0, most: 0, open: 0 };
        for (opened, peak, open) in of_redfish.chain(of_ipmi) {
            sum.log_ins += opened;
            sum.most = sum.most.max(peak);
            sum.open += open;
        }
        println!("{}", serde_json::to_string(&sum)?);
    }
    Ok(())
}

/// The process with the BMCs; it ends with this.
pub(crate) struct Fleet {
    ports: Ports,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Fleet {
    pub(crate) async fn start(hosts: usize) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", &hosts.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let questions = child.stdin.take().context("no input for the bmcs")?;
        let mut answers = BufReader::new(child.stdout.take().context("no output of the bmcs")?).lines();
        let first = answers.next_line().await?.context("the bmcs ended at once")?;
        let ports: Ports = serde_json::from_str(&first).with_context(|| first.clone())?;
        ensure!(ports.redfish.len() + ports.ipmi.len() == hosts, "not every bmc started");
        Ok(Self { ports, questions, answers, _child: child })
    }

    pub(crate) async fn sessions(&mut self) -> Result<Sessions> {
        self.questions.write_all(b"\n").await?;
        let line = self.answers.next_line().await?.context("the bmcs are gone")?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Ports of the first `count` that speak IPMI.
    pub(crate) fn ipmi_ports(&self, count: usize) -> impl Iterator<Item = u16> {
        self.ports.ipmi.iter().copied().take(count)
    }

    /// Ports of the first `count` that speak Redfish.
    pub(crate) fn redfish_ports(&self, count: usize) -> impl Iterator<Item = u16> {
        self.ports.redfish.iter().copied().take(count)
    }

    /// New clients of the first `count` that speak IPMI.
    pub(crate) fn ipmi(&self, count: usize) -> Result<Vec<Arc<dyn Bmc>>> {
        self.ipmi_ports(count).map(|port| self.client(&format!("ipmi://127.0.0.1:{port}"))).collect()
    }

    /// New clients of the first `count` that speak Redfish.
    pub(crate) fn redfish(&self, count: usize) -> Result<Vec<Arc<dyn Bmc>>> {
        self.redfish_ports(count).map(|port| self.client(&format!("redfish://127.0.0.1:{port}"))).collect()
    }

    fn client(&self, address: &str) -> Result<Arc<dyn Bmc>> {
        let trust = Trust::Authorities(self.ports.authority.clone());
        Ok(connect(&address.parse()?, Credentials::new(USER, PASSWORD), trust)?)
    }
}
