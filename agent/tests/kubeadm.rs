//! The node role with a real kubeadm, kubelet and containerd, in namespaces instead of machines, against the controller's real endpoint: a control
//! plane and a worker become nodes, and eight set-ups that cannot work say why in one sentence.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(dead_code, unreachable_pub, missing_docs, reason = "support of a test")]

#[path = "support/native/mod.rs"]
mod native;
#[path = "support/native/recipes.rs"]
mod recipes;
#[path = "support/native/site.rs"]
mod site;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use bessemer_images::cache::Cache;
use bessemer_images::os::{self, OsImageSpec};
use bessemer_images::ramdisk::Variant;
use bessemer_protocol::{NodePhase, NodeReport};
use native::{Base, Host, Spec};
use recipes::{Cluster, Join};
use site::{Site, provider_id};

/// Names the folder with the programs of Kubernetes.
const KUBERNETES_VARIABLE: &str = "BESSEMER_KUBE_BIN";
const VERSION: &str = "v1.36.3";

/// Long, as the machine may be busy with other tests; what is waited for is told when it comes.
const PATIENCE: u64 = 240;

fn ended(report: &NodeReport) -> bool {
    matches!(report.phase, NodePhase::Done | NodePhase::Failed { .. })
}

/// A set-up that cannot work.
struct Broken {
    name: &'static str,
    setup: &'static str,
    data: String,
    /// Where it is said to have failed.
    step: &'static str,
    /// Parts of the one sentence.
    cause: &'static [&'static str],
}

fn broken(cluster: &Cluster) -> Vec<Broken> {
    let join = Join { discovery: "12s", ..Join::of(cluster) };
    let setup = |name, setup, step, cause| Broken { name, setup, data: join.cloud_config(name), step, cause };
    let data = |name, data: String, step, cause| Broken { name, setup: "", data, step, cause };
    vec![
        setup(
            "swap",
            // The machine's own swap is its own: a file says what the kernel would say.
            "printf 'Filename\\tType\\tSize\\tUsed\\tPriority\\n/dev/sda2\\tpartition\\t8388604\\t0\\t-2\\n' >$folder/swaps; \
             mount --bind $folder/swaps $root/proc/swaps",
            "preflight",
            &["swap is on", "/dev/sda2", "swapoff"],
        ),
        setup("runtime", "runtime=no", "preflight", &["container runtime", "containerd.sock"]),
        setup(
            "port",
            "/usr/bin/perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in(10250, INADDR_ANY)) or die; \
             listen(S, 1); sleep 3600' & until grep -q ':280A .* 0A ' /proc/net/tcp; do sleep 0.05; done",
            "preflight",
            &["10250", "perl"],
        ),
        setup(
            "disk",
            "mkdir -p $root/var/lib/kubelet; mount -t tmpfs -o size=64k tmpfs $root/var/lib/kubelet; \
             head -c 60k /dev/zero >$root/var/lib/kubelet/full || true",
            "preflight",
            &["/var/lib/kubelet", "full"],
        ),
        data(
            "token",
            Join { token: "wrongx.0123456789abcdef", ..join }.cloud_config("token"),
            "kubeadm join preflight",
            &["token", "wrongx", "expired"],
        ),
        data(
            "endpoint",
            Join { endpoint: "10.77.0.250:6443", ..join }.cloud_config("endpoint"),
            "kubeadm join preflight",
            &["10.77.0.250:6443", "cannot be reached"],
        ),
        data(
            "hash",
            Join { hash: "sha256:0000000000000000000000000000000000000000000000000000000000000000", ..join }
                .cloud_config("hash"),
            "kubeadm join preflight",
            &["caCertHashes", "another cluster"],
        ),
        data("version", cluster.cloud_config("version", "v1.99.0"), "preflight", &["v1.99.0", "kubeadm v1.36.3"]),
    ]
}

#[test]
fn real_kubeadm_makes_nodes_and_its_failures_have_their_true_causes() {
    let Some(kubernetes) = std::env::var_os(KUBERNETES_VARIABLE).map(PathBuf::from) else {
        println!("SKIP {KUBERNETES_VARIABLE} names no programs of Kubernetes");
        return;
    };
    if let Some(reason) = native::missing() {
        println!("SKIP {reason}");
        return;
    }
    if !native::inside("real_kubeadm_makes_nodes_and_its_failures_have_their_true_causes") {
        return;
    }
    // One thread: the others would not be in these namespaces' way, but few tests are read with pleasure in six threads.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(Box::pin(run(&kubernetes)));
}

async fn run(kubernetes: &Path) {
    let began = Instant::now();
    let say = |what: &str| println!("[{:5.1}] {what}", began.elapsed().as_secs_f32());
    let programs = kubernetes.to_owned();
    // The image that the other tests deploy: what is built for them is built for this one.
    let cache = Cache::from_env().unwrap();
    let spec = OsImageSpec::kubernetes(programs, VERSION.into(), PathBuf::new(), Variant::Cloud, cache);
    let root = os::root_folder(&spec, &mut |line| println!("{line}")).unwrap();
    let base = Base::new(root, env!("CARGO_BIN_EXE_bessemer-agent"));
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start().await;
    say("the site is up");

    let cluster = Cluster::new("10.77.0.10:6443");
    let who = site.deployed("cp0").await;
    let spec = Spec { name: "cp0", number: 10, identity: Some(who.clone()), images: true, setup: "" };
    let plane = Host::start(folder.path(), &base, &spec);
    site.serve(&who, cluster.cloud_config("cp0", VERSION));
    // Its agent ends in the midst of kubeadm: the next one goes on, and nothing is run twice or given up.
    let runs = |report: &NodeReport| matches!(&report.phase, NodePhase::Kubeadm { kubeadm_phase, .. } if kubeadm_phase == "certs");
    site.report(&who, PATIENCE, |report| runs(report) || ended(report)).await;
    plane.kill_agent();
    say("the agent is killed in the midst of kubeadm init");
    let report = site.report(&who, PATIENCE, ended).await;
    say(&format!("kubeadm init: {report:?}"));
    assert_eq!(report.phase, NodePhase::Done, "{}", plane.said());
    assert_eq!(report.addresses[0].address, "10.77.0.10");
    assert_eq!(report.provider_id.as_deref(), Some(provider_id("cp0").as_str()));
    assert_eq!(plane.live_file("run/cluster-api/bootstrap-success.complete"), "success\n");

    // The first thing that is ever seen of the worker's Node.
    let kubectl = |arguments: &[&str]| {
        let mut command = Command::new(kubernetes.join("kubectl"));
        command.arg("--kubeconfig").arg(plane.folder.join("upper/etc/kubernetes/admin.conf")).args(arguments);
        command
    };
    let nodes = "jsonpath={.metadata.name}={.spec.providerID}{'\\n'}";
    let mut watch = kubectl(&["get", "nodes", "--watch", "-o", nodes]).stdout(Stdio::piped()).spawn().unwrap();

    let worker = site.deployed("worker").await;
    let spec = Spec { name: "worker", number: 11, identity: Some(worker.clone()), images: true, setup: "" };
    let worker_host = Host::start(folder.path(), &base, &spec);
    site.serve(&worker, Join::of(&cluster).cloud_config("worker"));
    let mut wrong = Vec::new();
    for (number, broken) in (20..).zip(broken(&cluster)) {
        let identity = site.deployed(broken.name).await;
        let spec =
            Spec { name: broken.name, number, identity: Some(identity.clone()), images: false, setup: broken.setup };
        let host = Host::start(folder.path(), &base, &spec);
        site.serve(&identity, broken.data.clone());
        wrong.push((broken, identity, host));
    }
    let report = site.report(&worker, PATIENCE, ended).await;
    say(&format!("kubeadm join: {report:?}"));
    assert_eq!(report.phase, NodePhase::Done, "{}", worker_host.said());
    assert_eq!(report.addresses[0].address, "10.77.0.11");

    let mut misjudged = Vec::new();
    for (broken, identity, host) in &wrong {
        let report = site.report(identity, PATIENCE, ended).await;
        let NodePhase::Failed { step, cause, tail, log } = &report.phase else {
            misjudged.push(format!("{}: {:?}", broken.name, report.phase));
            continue;
        };
        say(&format!("{}: {step}: {cause} (log {log:?})\n    {}", broken.name, tail.join("\n    ")));
        let one_sentence = !cause.contains('\n') && cause.len() < 400;
        if step != broken.step || !broken.cause.iter().all(|part| cause.contains(part)) || !one_sentence {
            misjudged.push(format!("{}: {step}: {cause}\n{}", broken.name, host.said()));
        }
    }
    assert!(misjudged.is_empty(), "{}", misjudged.join("\n\n"));

    say(&format!("agents hold {:?} and {:?} KiB", plane.agent_memory(), worker_host.agent_memory()));
    let _ = watch.kill();
    let seen = watch.wait_with_output().unwrap();
    let seen = String::from_utf8(seen.stdout).unwrap();
    let first = |name: &str| seen.lines().find(|line| line.starts_with(&format!("{name}="))).map(str::to_owned);
    assert_eq!(first("cp0"), Some(format!("cp0={}", provider_id("cp0"))), "{seen}");
    assert_eq!(first("worker"), Some(format!("worker={}", provider_id("worker"))), "{seen}");
}
