//! The peer itself: two at once, and nothing left behind.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bessemer_kube_peer::{RealApi, programs};

/// Neither gone nor killed and not waited for yet.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !"ZXx".contains(state))
}

/// The calling thread, as a path that is there as long as it is.
fn this_thread() -> PathBuf {
    Path::new("/proc").join(std::fs::read_link("/proc/thread-self").unwrap())
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
    let programs = PathBuf::from(programs);
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
    let kubectl = programs.join("kubectl");
    let (api, thread) = std::thread::spawn(move || (RealApi::start(&programs).unwrap(), this_thread())).join().unwrap();
    // Joined is a moment before gone, and with the thread the kernel kills what is tied to it.
    let deadline = Instant::now() + Duration::from_secs(20);
    while thread.exists() {
        assert!(Instant::now() < deadline, "{} does not end", thread.display());
        std::thread::yield_now();
    }
    assert!(api.processes().iter().all(|(_, pid)| runs(*pid)));
    let mut ready = Command::new(kubectl);
    ready.args(["get", "--raw", "/readyz", "--request-timeout", "20s", "--kubeconfig"]).arg(&api.kubeconfig);
    let output = ready.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ok", "{output:?}");
    assert!(api.processes().iter().all(|(_, pid)| runs(*pid)));
    assert!(api.kill("kube-apiserver"));
    assert!(!api.kill("kube-proxy"));
}

#[test]
fn a_folder_without_the_programs_is_named() {
    let error = RealApi::start(Path::new("/nonexistent")).unwrap_err().to_string();
    assert!(error.contains("no etcd in /nonexistent"), "{error}");
}
