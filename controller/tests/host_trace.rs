//! `bessemer host trace` as an operator meets it, against `bessemer up`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use bessemer_api::bessemer::BootTrace;
use bessemer_api::metal3::BareMetalHost;
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

struct Up {
    child: Child,
    /// Kept open: a program that cannot print ends.
    _stdout: BufReader<ChildStdout>,
}

impl Up {
    /// The API and no controllers: nothing but the objects of the test.
    fn start(dir: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bessemer"));
        command.args(["up", "--controllers", "none", "--api", "127.0.0.1:0", "--state"]).arg(dir.join("state"));
        command.arg("--kubeconfig").arg(dir.join("kubeconfig"));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with("ready"), "{line}");
        Self { child, _stdout: stdout }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn exchange(second: &str, asked: &str, answer: &str, why: &str) -> Value {
    json!({
        "at": format!("2026-11-30T12:00:{second}Z"),
        "server": "rack-1",
        "protocol": "dhcp4",
        "asked": asked,
        "answer": answer,
        "why": why,
    })
}

async fn client(kubeconfig: &Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

async fn trace(traces: &Api<BootTrace>, name: &str, status: Value) {
    let object = json!({ "metadata": { "name": name }, "spec": {} });
    traces.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let patch = Patch::Merge(json!({ "status": status }));
    traces.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}

/// Output, what went to the other stream, exit code.
fn run(kubeconfig: &Path, arguments: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bessemer"));
    command.args(["host", "trace"]).args(arguments).arg("--kubeconfig").arg(kubeconfig);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_reads_what_a_server_was_told() {
    let dir = tempfile::tempdir().unwrap();
    let _up = Up::start(dir.path());
    let kubeconfig = dir.path().join("kubeconfig");
    let client = client(&kubeconfig).await;
    let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), "default");
    let host = |name: &str, mac: &str| {
        serde_json::from_value(
            json!({ "metadata": { "name": name }, "spec": { "bootMACAddress": mac, "online": true } }),
        )
        .unwrap()
    };
    hosts.create(&PostParams::default(), &host("r7-u12", "52:54:00:00:00:01")).await.unwrap();
    hosts.create(&PostParams::default(), &host("r7-u13", "52:54:00:00:00:02")).await.unwrap();
    let traces: Api<BootTrace> = Api::namespaced(client, "default");
    let said = json!({
        "machine": "52:54:00:00:00:01",
        "host": "r7-u12",
        "asked": "request by uefi-x64 firmware (PXE)",
        "answer": "confirmed 10.77.0.160 ipxe.efi",
        "forgotten": 3,
        "exchanges": [
            exchange("01", "discover by uefi-x64 firmware (PXE)", "offered 10.77.0.160 ipxe.efi", ""),
            exchange("02", "request by uefi-x64 firmware (PXE)", "confirmed 10.77.0.160 ipxe.efi", ""),
        ],
    });
    trace(&traces, "52-54-00-00-00-01", said).await;
    let stranger = json!({
        "machine": "52:54:00:00:00:09",
        "forgotten": 0,
        "asked": "discover by BIOS firmware (PXE)",
        "answer": "no answer",
        "exchanges": [exchange("05", "discover by BIOS firmware (PXE)", "no answer", "nobody knows this machine")],
    });
    trace(&traces, "52-54-00-00-00-09", stranger).await;

    let whole = "52:54:00:00:00:01, host default/r7-u12, 3 earlier exchanges are forgotten\n\
        2026-11-30 12:00:01Z  dhcp4  discover by uefi-x64 firmware (PXE) -> offered 10.77.0.160 ipxe.efi\n\
        2026-11-30 12:00:02Z  dhcp4  request by uefi-x64 firmware (PXE) -> confirmed 10.77.0.160 ipxe.efi\n\
        so far: it was told to load iPXE and did not ask for it: does a firewall hold back TFTP (UDP 69) or HTTP?\n";
    for asked in ["r7-u12", "default/r7-u12", "52:54:00:00:00:01"] {
        assert_eq!(run(&kubeconfig, &[asked]), (whole.to_owned(), String::new(), Some(0)), "{asked}");
    }
    let (out, _, code) = run(&kubeconfig, &["52:54:00:00:00:09"]);
    assert!(out.starts_with("52:54:00:00:00:09, of no BareMetalHost\n"), "{out}");
    assert!(out.ends_with("so far: its last 1 questions got no answer: nobody knows this machine\n"), "{out}");
    assert_eq!(code, Some(0));
    // Known, but never heard; and not known at all.
    let (out, error, code) = run(&kubeconfig, &["r7-u13"]);
    assert!(out.is_empty() && error.contains("host default/r7-u13 boots by 52:54:00:00:00:02"), "{error}");
    assert!(error.contains("nothing was heard of r7-u13") && code == Some(1), "{error}");
    let (_, error, code) = run(&kubeconfig, &["r9"]);
    assert!(error.contains("no BareMetalHost is called r9") && code == Some(1), "{error}");

    // What comes later is shown as it comes.
    let mut following = Command::new(env!("CARGO_BIN_EXE_bessemer"));
    following.args(["host", "trace", "-f", "r7-u12", "--kubeconfig"]).arg(&kubeconfig);
    let mut following = following.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let shown: Vec<String> = lines.by_ref().take(4).map(Result::unwrap).collect();
    assert_eq!(shown.join("\n") + "\n", whole);
    let more = json!({ "status": { "exchanges": [
        exchange("02", "request by uefi-x64 firmware (PXE)", "confirmed 10.77.0.160 ipxe.efi", ""),
        exchange("03", "read ipxe.efi", "sent 1024 bytes in 0.1 s", ""),
    ] } });
    traces.patch_status("52-54-00-00-00-01", &PatchParams::default(), &Patch::Merge(more)).await.unwrap();
    let next = lines.next().unwrap().unwrap();
    assert_eq!(next, "2026-11-30 12:00:03Z  dhcp4  read ipxe.efi -> sent 1024 bytes in 0.1 s");
    following.kill().unwrap();
    following.wait().unwrap();
}
