//! Three ways to fail, one host, one controller: each ends in words that say what happened, and goes on where that is
//! the promise. They follow each other, so that the host boots from the network only twice. Beside it are machines that
//! nobody registered.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use anyhow::{Result, ensure};
use bessemer_rack::{Host, HostSpec, Power, Rack, Spec};
use serde_json::{Value, json};

use super::discovery::{self, Strangers};
use super::small_image;
use crate::artefacts::Artefacts;
use crate::controller::Controller;
use crate::demo::feed::{Feed, text};
use crate::demo::{host_values, image_url, tell_why};
use crate::kubectl::Kubectl;
use crate::manifests::render;
use crate::say::say;
use crate::workspace::Workspace;

const HOST: &str = "h-0";
const NAMESPACE: &str = "metal";
const KIND: &str = "BareMetalHost";
const IMAGE: &str = "small.raw";

/// A BMC answers in a moment.
const REGISTERS: Duration = Duration::from_secs(60);

/// Firmware, iPXE, kernel and inspection under emulation; a busy machine takes longer.
const BOOTS: Duration = Duration::from_secs(300);

/// The small image, fetched and written.
const WRITES: Duration = Duration::from_secs(180);

/// Until a lost agent is told, and the boot that follows.
const LOST: Duration = Duration::from_secs(180);

pub(super) fn run(
    workspace: &Workspace,
    artefacts: &Artefacts,
    count: &mut impl FnMut(&str, Result<()>),
) -> Result<()> {
    let rack = Rack::start(&Spec::new("failures", vec![HostSpec::small(HOST), discovery::server()]))?;
    let images = rack.dir().join("images");
    std::fs::create_dir(&images)?;
    let sha256 = small_image::make(&images.join(IMAGE))?;
    let controller = Controller::start(&rack, artefacts, &images, &["--discovery", "--metrics", discovery::METRICS])?;
    let kubectl = Kubectl::new(&rack, &artefacts.kubernetes.dir, controller.kubeconfig());
    let strangers = Strangers::arrive(&rack)?;
    let lane = Failures { workspace, host: rack.host(HOST)?, sha256, feed: None, kubectl, rack: &rack, strangers };
    if let Err(error) = lane.all(count) {
        tell_why(&rack, &controller, &error);
    }
    let stopped = controller.stop();
    rack.stop()?;
    stopped
}

struct Failures<'rack> {
    workspace: &'rack Workspace,
    host: Host,
    sha256: String,
    feed: Option<Feed>,
    kubectl: Kubectl<'rack>,
    rack: &'rack Rack,
    strangers: Strangers,
}

impl Failures<'_> {
    /// Each needs the one before; the error is that of the first that failed.
    fn all(mut self, count: &mut impl FnMut(&str, Result<()>)) -> Result<()> {
        type Test<'rack> = (&'static str, fn(&mut Failures<'rack>) -> Result<()>);
        let tests: [Test<'_>; 4] = [
            ("wrong_bmc_password", |lane| lane.wrong_bmc_password()),
            ("a_stranger_is_asked_what_it_is_and_a_laptop_is_not", |lane| lane.strangers.met(lane.rack, &lane.kubectl)),
            ("wrong_image_digest", |lane| lane.wrong_image_digest()),
            ("agent_killed_while_writing", |lane| lane.agent_killed_while_writing()),
        ];
        self.apply("not-the-password")?;
        self.feed = Some(Feed::open(&self.kubectl, &["baremetalhosts.metal3.io", "hostrecords.bessemer.dev"])?);
        let mut first: Option<String> = None;
        for (name, test) in tests {
            let result = match &first {
                None => test(&mut self),
                Some(before) => Err(anyhow::anyhow!("not tried after {before} failed")),
            };
            if result.is_err() && first.is_none() {
                first = Some(name.to_owned());
            }
            count(name, result);
        }
        first.map_or(Ok(()), |name| Err(anyhow::anyhow!("{name} failed")))
    }

    fn wrong_bmc_password(&self) -> Result<()> {
        let host = self.wait_error("registration error", REGISTERS)?;
        let message = self.message(&host)?;
        ensure!(message.contains("password") && message.contains("h-0-bmc"), "the message does not say so: {message}");
        ensure!(text(&host, "/status/provisioning/state") == "registering", "wrong state");
        let state = self.host.state()?;
        ensure!(state.starts == 0 && state.power == Power::Off, "a host that is not known to be ours was powered on");
        self.apply(self.host.bmc_password())?;
        self.wait("registered with the right password", REGISTERS, |host| {
            is_well(host) && text(host, "/status/provisioning/state") == "inspecting"
        })?;
        Ok(())
    }

    fn wrong_image_digest(&self) -> Result<()> {
        self.wait("available", BOOTS, |host| is_well(host) && text(host, "/status/provisioning/state") == "available")?;
        let starts = self.host.state()?.starts;
        ensure!(starts == 1, "one boot was enough, there were {starts}");
        let wrong = "ab".repeat(32);
        self.image(&wrong)?;
        let host = self.wait_error("provisioning error", WRITES)?;
        let message = self.message(&host)?;
        ensure!(message.contains(&wrong) || message.contains("abab"), "the wanted digest is not told: {message}");
        let got = self.sha256.get(..4).unwrap_or_default();
        ensure!(message.contains(got), "the digest that was got ({got}…) is not told: {message}");
        ensure!(message.contains("bootable"), "it is not told whether the disk can boot: {message}");
        let mut table = [0; 8];
        File::open(self.host.disk())?.read_exact_at(&mut table, 512)?;
        ensure!(&table != b"EFI PART", "the disk has a partition table and may boot what was refused");
        Ok(())
    }

    fn agent_killed_while_writing(&self) -> Result<()> {
        let starts = self.host.state()?.starts;
        // mended, it is written at once by the agent that is still there
        self.image(&self.sha256)?;
        self.feed()?.wait(("HostRecord", HOST), "writing", WRITES, |record| {
            let done = record.pointer("/status/work/progress/done").and_then(Value::as_u64);
            record.pointer("/status/work/outcome").is_none() && done.is_some_and(|done| done > 0)
        })?;
        ensure!(self.host.state()?.starts == starts, "it booted again though its agent was there");
        self.host.cut_power()?;
        say("power cut while writing");
        let host = self.wait("told to have lost its agent", LOST, |host| {
            text(host, "/status/errorMessage").contains("agent lost")
        })?;
        self.message(&host)?;
        self.wait("provisioned at the next attempt", LOST + BOOTS + WRITES, |host| {
            is_well(host) && text(host, "/status/provisioning/state") == "provisioned"
        })?;
        Ok(())
    }

    fn apply(&self, password: &str) -> Result<()> {
        let path = self.workspace.root.join("manifests/demo/host.yaml");
        self.kubectl.apply(&render(&path, &host_values(&self.host, NAMESPACE, password))?).map(drop)
    }

    fn image(&self, sha256: &str) -> Result<()> {
        let image = json!({"url": image_url(IMAGE), "checksum": sha256, "checksumType": "sha256", "format": "raw"});
        let patch = json!({ "spec": { "image": image } }).to_string();
        self.kubectl.run(&["patch", "bmh", HOST, "-n", NAMESPACE, "--type", "merge", "--patch", &patch]).map(drop)
    }

    fn feed(&self) -> Result<&Feed> {
        self.feed.as_ref().ok_or_else(|| anyhow::anyhow!("nothing is watched yet"))
    }

    fn wait(&self, what: &str, within: Duration, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut shown = String::new();
        self.feed()?.wait((KIND, HOST), what, within, |host| {
            let state = text(host, "/status/provisioning/state").to_owned();
            if state != shown {
                say(format!("{HOST}: {state}"));
                shown = state;
            }
            wanted(host)
        })
    }

    fn wait_error(&self, kind: &str, within: Duration) -> Result<Value> {
        self.wait(kind, within, |host| {
            text(host, "/status/errorType") == kind && text(host, "/status/operationalStatus") == "error"
        })
    }

    /// Shown, because a person shall judge it too.
    fn message(&self, host: &Value) -> Result<String> {
        let message = text(host, "/status/errorMessage").to_owned();
        ensure!(!message.is_empty(), "there is no message");
        say(format!("{HOST}: {}: {message}", text(host, "/status/errorType")));
        Ok(message)
    }
}

fn is_well(host: &Value) -> bool {
    text(host, "/status/errorMessage").is_empty() && text(host, "/status/operationalStatus") == "OK"
}
