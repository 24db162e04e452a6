//! The demo: one virtual server, from power-off to a Ready Kubernetes node, watched. The same path is the first test
//! of the lane `rack`.

mod board;
pub(crate) mod feed;
mod phases;

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bessemer_images::cache::Cache;
use bessemer_rack::{Host, HostSpec, Rack, Spec};
use serde_json::Value;

use crate::artefacts::{self, Artefacts, With};
use crate::controller::Controller;
use crate::kubectl::Kubectl;
use crate::manifests::{Values, render};
use crate::say::{elapsed, say};
use crate::workspace::Workspace;
use crate::{deadline, prerequisites};
use board::Board;
use feed::{Feed, text};
pub(crate) use phases::Phases;

/// All building, when nothing is built.
pub(crate) const BUILDS: Duration = Duration::from_secs(60 * 60);

/// From power-off to the Ready node: seven minutes on two idle cores, more on busy ones.
const PATH: Duration = Duration::from_secs(25 * 60);

/// What the path takes on two cores, for the estimate.
pub(crate) const PATH_ESTIMATE: Duration = Duration::from_secs(4 * 60);

/// From the Machine's nodeRef to the Node being Ready.
const NODE_READY: Duration = Duration::from_secs(5 * 60);

const NAMESPACE: &str = "metal";
const CLUSTER: &str = "first-light";
const HOST: &str = "cp-0";

/// An address of the rack's network outside the controller's pool; the node takes it when kubeadm starts.
const CONTROL_PLANE_ADDRESS: &str = "10.77.0.10";

const WATCHED: [&str; 5] = [
    "baremetalhosts.metal3.io",
    "hostrecords.bessemer.dev",
    "clusters.cluster.x-k8s.io",
    "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io",
    "machines.cluster.x-k8s.io",
];

/// The whole command.
pub(crate) fn run(workspace: &Workspace, keep: bool) -> Result<()> {
    prerequisites::for_rack(workspace)?;
    let (build, why) = artefacts::estimate(workspace);
    say(format!(
        "estimate on two cores: {} to build ({why}), {} from power-off to a Ready node",
        deadline::show(build),
        deadline::show(PATH_ESTIMATE)
    ));
    let artefacts = artefacts::build(workspace, With::Nothing, deadline::after(BUILDS))?;
    let mut phases = Phases::default();
    phases.reach("built", elapsed());
    first_light(workspace, &artefacts, phases, keep)
}

/// Starts a rack and a controller, walks the path, and ends both, which is checked.
pub(crate) fn first_light(workspace: &Workspace, artefacts: &Artefacts, phases: Phases, keep: bool) -> Result<()> {
    let rack = Rack::start(&Spec::new("demo", vec![HostSpec::new(HOST)]))?;
    say(format!("rack: host {HOST} is off, its BMC answers; files in {}", rack.dir().display()));
    let images = artefacts.image.path.parent().context("the OS image is in no folder")?;
    let controller = Controller::start(&rack, artefacts, images, &[])?;
    say(format!("bessemer up: {}", controller.ready_line()));
    let walked = walk(workspace, &rack, artefacts, &controller, phases);
    if let Err(error) = &walked {
        tell_why(&rack, &controller, error);
    }
    if keep {
        let kubectl = artefacts.kubernetes.dir.join("kubectl");
        say("left running; `cargo xtask rack down` ends it; to look around:");
        println!(
            "  nsenter --net=/run/netns/bessemer-rack-demo {} --kubeconfig {} get bmh,machines -A",
            kubectl.display(),
            controller.kubeconfig().display()
        );
        rack.keep()?;
        return walked;
    }
    let stopped = controller.stop();
    rack.stop()?;
    walked.and(stopped)?;
    say("controller, rack and host have ended; nothing is left");
    Ok(())
}

fn walk(
    workspace: &Workspace,
    rack: &Rack,
    artefacts: &Artefacts,
    controller: &Controller,
    mut phases: Phases,
) -> Result<()> {
    let until = deadline::after(PATH);
    phases.reach("rack and controller started", elapsed());
    let kubectl = Kubectl::new(rack, &artefacts.kubernetes.dir, controller.kubeconfig());
    let host = rack.host(HOST)?;
    apply(workspace, &kubectl, artefacts, &host)?;
    phases.reach("manifests applied", elapsed());

    let feed = Feed::open(&kubectl, &WATCHED)?;
    let mut board = Board::default();
    while let Some(awaited) = phases.waiting_for() {
        let Some(seen) = feed.next(until)? else {
            bail!("not done {} after power-off; waited for: {awaited}", deadline::show(PATH));
        };
        ensure!(controller.is_alive(), "bessemer up ended by itself");
        phases.see(&seen.object, elapsed());
        board.lines(&seen.object).iter().for_each(say);
    }
    let workload = workload(&kubectl, &mut phases)?;
    print!("\n{}\n", phases.table());
    println!(
        "$ kubectl --kubeconfig {CLUSTER}.kubeconfig get nodes -o wide\n{}",
        workload.run(&["get", "nodes", "-o", "wide"])?
    );
    println!("$ kubectl get bmh,machines -A\n{}", kubectl.run(&["get", "bmh,machines", "-A"])?);
    Ok(())
}

fn apply(workspace: &Workspace, kubectl: &Kubectl<'_>, artefacts: &Artefacts, host: &Host) -> Result<()> {
    let folder = workspace.root.join("manifests/demo");
    let image = artefacts.image.path.file_name().unwrap_or_default().to_string_lossy();
    let mut values = host_values(host, NAMESPACE, host.bmc_password());
    values.extend([
        ("CLUSTER_NAME", CLUSTER.to_owned()),
        ("CONTROL_PLANE_ADDRESS", CONTROL_PLANE_ADDRESS.to_owned()),
        ("KUBERNETES_VERSION", artefacts.kubernetes.version.clone()),
        ("IMAGE_URL", image_url(&image)),
        ("IMAGE_SHA256", artefacts.image.sha256.clone()),
    ]);
    for file in ["host.yaml", "cluster.yaml"] {
        kubectl
            .apply(&render(&folder.join(file), &values)?)?
            .lines()
            .for_each(|line| say(format!("kubectl apply: {line}")));
    }
    Ok(())
}

/// What `host.yaml` needs to know.
pub(crate) fn host_values(host: &Host, namespace: &str, password: &str) -> Values {
    Values::from([
        ("NAMESPACE", namespace.to_owned()),
        ("HOST_NAME", host.name().to_owned()),
        ("BMC_ADDRESS", host.bmc_address()),
        ("BMC_USER", host.bmc_user().to_owned()),
        ("BMC_PASSWORD", password.to_owned()),
        ("BOOT_MAC", host.mac()),
    ])
}

/// Where the controller serves a file of its images.
pub(crate) fn image_url(name: &str) -> String {
    format!("http://{}:8080/images/{name}", bessemer_rack::GATEWAY)
}

/// Waits for the node in its own cluster, and compares what both sides say of it.
fn workload<'rack>(kubectl: &Kubectl<'rack>, phases: &mut Phases) -> Result<Kubectl<'rack>> {
    let secret = kubectl.run(&[
        "get",
        "secret",
        &format!("{CLUSTER}-kubeconfig"),
        "--namespace",
        NAMESPACE,
        "--output",
        "go-template={{.data.value | base64decode}}",
    ])?;
    let workload = kubectl.for_cluster(CLUSTER, secret.as_bytes())?;
    let timeout = format!("--timeout={}s", NODE_READY.as_secs());
    let mut wait = workload.command(&["wait", "--for=condition=Ready", "node", HOST, &timeout]);
    wait.env("LC_ALL", "C");
    crate::run::must(wait, deadline::after(NODE_READY + Duration::from_secs(30)), |line| say(line))?;
    phases.reach("Node Ready", elapsed());
    let node = workload.get(&["node", HOST])?;
    let machines = kubectl.get(&["machines", "--namespace", NAMESPACE])?;
    let machine = machines.pointer("/items/0").context("there is no Machine")?;
    let (of_node, of_machine) = (text(&node, "/spec/providerID"), text(machine, "/spec/providerID"));
    ensure!(of_node == of_machine && !of_node.is_empty(), "the Node says {of_node:?}, the Machine {of_machine:?}");
    say(format!("Node {HOST} is Ready; providerID {of_node} on both sides"));
    let bmh = kubectl.get(&["baremetalhost", HOST, "--namespace", NAMESPACE])?;
    let states = (text(&bmh, "/status/provisioning/state"), text(&bmh, "/status/operationalStatus"));
    ensure!(states == ("provisioned", "OK"), "the BareMetalHost says {states:?}");
    ensure!(
        bmh.pointer("/status/poweredOn") == Some(&Value::Bool(true)),
        "the BareMetalHost does not say that it is on"
    );
    Ok(workload)
}

/// The ends of everything that may say why it did not work; whole files are kept in the build cache.
pub(crate) fn tell_why(rack: &Rack, controller: &Controller, error: &anyhow::Error) {
    say(format!("failed: {error:#}"));
    println!("--- end of the controller's log\n{}", controller.log_tail(25));
    for line in rack.keeper_log().lines().rev().take(8).collect::<Vec<_>>().iter().rev() {
        println!("--- rack: {line}");
    }
    for host in rack.hosts() {
        println!("--- end of {}'s console\n{}", host.name(), host.serial_tail(40));
    }
    match save(rack) {
        Ok(folder) => println!("--- whole logs: {folder}"),
        Err(error) => println!("--- the logs could not be kept: {error:#}"),
    }
}

fn save(rack: &Rack) -> Result<String> {
    let id = rack.dir().file_name().unwrap_or_default();
    let folder = Cache::from_env()?.root().join("logs").join(id);
    // of the last failure only
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder)?;
    for (name, path) in rack.logs() {
        std::fs::copy(path, folder.join(name))?;
    }
    Ok(folder.display().to_string())
}
