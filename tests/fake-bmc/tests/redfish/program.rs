//! The program, as people start it by hand.

use std::process::Stdio;
use std::time::Duration;

use bessemer_fake_bmc::redfish::Behaviour;
use bessemer_fake_bmc::redfish::behaviour::Vendor;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::client::{Bmc, SYSTEM, http};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bessemer-fake-bmc");

#[tokio::test]
async fn it_serves_hosts_with_faults_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("authority.pem");
    let mut command = Command::new(PROGRAM);
    command.args(["--hosts", "2", "--on", "--password", "another one", "--fault", "GET /Systems/1$ status=503,3 x1"]);
    command.arg("--ca-file").arg(&authority).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut urls = Vec::new();
    for number in 0..2 {
        let line = tokio::time::timeout(Duration::from_secs(20), lines.next_line()).await.unwrap().unwrap().unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!((words.len(), words[0]), (4, format!("host-{number}").as_str()), "{line}");
        urls.push(words[1].to_owned());
    }
    let client = http(Some(&std::fs::read_to_string(&authority).unwrap()));
    for url in urls {
        let read = async || {
            let request = client.request(Method::GET, format!("{url}{SYSTEM}"));
            request.basic_auth("admin", Some("another one")).send().await.unwrap()
        };
        assert_eq!(read().await.status(), 503);
        let body: Value = read().await.json().await.unwrap();
        assert_eq!(body["PowerState"], "On");
    }
}

#[tokio::test]
async fn it_says_what_it_does_not_understand() {
    for (arguments, expected) in [
        (["--fault", "explode"], "\"explode\" is not a fault rule: explode is no fault"),
        (["--seed", "/nowhere/map.json"], "/nowhere/map.json: No such file"),
        (["--like", "acme"], "no such vendor: one of dell, hpe, lenovo, supermicro, ami"),
    ] {
        let output = Command::new(PROGRAM).args(arguments).output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{said}");
    }
}

#[tokio::test]
async fn it_behaves_like_a_vendor_s() {
    let boot = json!({ "Boot": { "BootSourceOverrideTarget": "Pxe" } });
    let mut seen = Vec::new();
    for vendor in Vendor::ALL {
        let bmc = Bmc::start().await;
        bmc.change(|behaviour| *behaviour = Behaviour::like(vendor));
        let status = bmc.patch(SYSTEM, boot.clone()).await.status;
        let shown = bmc.get(SYSTEM).await["Boot"].take();
        let words = ["Enabled", "Target", "Mode"].map(|name| shown[format!("BootSourceOverride{name}")].to_string());
        seen.push(format!("{} {status} {}", vendor.name(), words.join(" ").replace('"', "")));
    }
    let expected = [
        "dell 200 Disabled Pxe UEFI",
        "hpe 200 Disabled Pxe UEFI",
        "lenovo 200 Disabled Pxe UEFI",
        "supermicro 200 Once Pxe Legacy",
        "ami 428 Disabled None UEFI",
    ];
    assert_eq!(seen, expected);
}
