//! The peer itself: two at once, and nothing left behind.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use bessemer_kube_peer::{RealApi, programs};

fn runs(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn two_run_side_by_side_and_leave_nothing() {
    let programs = match programs() {
        Ok(programs) => programs,
        Err(reason) => return println!("SKIP {reason}"),
    };
    let with_controllers = {
        let programs = programs.clone();
        std::thread::spawn(move || RealApi::start_with_controllers(&programs))
    };
    let first = RealApi::start(&programs).unwrap();
    let second = with_controllers.join().unwrap().unwrap();
    assert_ne!(first.url, second.url);
    assert_eq!(first.processes().len(), 2);
    assert_eq!(second.processes().len(), 3);
    assert_eq!(first.kubeconfig.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    for api in [&first, &second] {
        println!("{} ready in {:?}", api.url, api.started_in);
        let mut kubectl = Command::new(programs.join("kubectl"));
        kubectl
            .args(["auth", "can-i", "*", "*", "--cache-dir"])
            .arg(api.dir())
            .arg("--kubeconfig")
            .arg(&api.kubeconfig);
        let output = kubectl.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "yes\n", "{output:?}");
    }
    let (pids, dir) = (second.processes(), second.dir().to_owned());
    drop(second);
    assert!(pids.iter().all(|(_, pid)| !runs(*pid)));
    assert!(!dir.exists());
    assert!(first.processes().iter().all(|(_, pid)| runs(*pid)));
}

#[test]
#[ignore = "only with --long: it takes a second Kubernetes"]
fn the_minor_before_runs_as_well() {
    let programs = std::env::var_os("BESSEMER_KUBE_BIN_PREVIOUS").expect("cargo xtask test --long sets it");
    let programs = std::path::PathBuf::from(programs);
    let api = RealApi::start_with_controllers(&programs).unwrap();
    let mut kubectl = Command::new(programs.join("kubectl"));
    kubectl.args(["version", "-o", "json", "--kubeconfig"]).arg(&api.kubeconfig);
    let output = kubectl.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.matches("\"gitVersion\": \"v1.35.").count(), 2, "{text}");
}

#[test]
fn the_owners_thread_may_end_before_the_servers() {
    let Ok(programs) = programs() else { return println!("SKIP {}", programs().unwrap_err()) };
    let api = std::thread::spawn(move || RealApi::start(&programs).unwrap()).join().unwrap();
    let until = Instant::now() + Duration::from_millis(300);
    while Instant::now() < until {
        assert!(api.processes().iter().all(|(_, pid)| runs(*pid)));
    }
    assert!(api.kill("kube-apiserver"));
    assert!(!api.kill("kube-proxy"));
}

#[test]
fn a_folder_without_the_programs_is_named() {
    let error = RealApi::start(std::path::Path::new("/nonexistent")).unwrap_err().to_string();
    assert!(error.contains("no etcd in /nonexistent"), "{error}");
}
