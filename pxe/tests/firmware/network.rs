//! A network namespace with a bridge (ours) and a tap (the machine's), and the scenario run inside it.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::artefacts::Artefacts;

pub(crate) const BRIDGE: &str = "br0";
pub(crate) const TAP: &str = "tap0";
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const INSIDE: &str = "BESSEMER_PXE_TEST_INSIDE";

/// Emulated machines are slow enough one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs `scenario` of the test called `name` in a namespace of its own.
pub(crate) fn inside(name: &str, scenario: impl AsyncFnOnce(&Artefacts)) {
    if std::env::var_os(INSIDE).is_some() {
        let artefacts = Artefacts::find().unwrap();
        tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::DEBUG).with_test_writer().init();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        return runtime.block_on(scenario(&artefacts));
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Err(reason) = Artefacts::find() {
        println!("SKIP {name}: {reason}");
        return;
    }
    let namespace = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(reason) => {
            println!("SKIP {name}: {reason}");
            return;
        }
    };
    let status = Command::new("ip")
        .args(["netns", "exec", &namespace.0])
        .arg(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--include-ignored"])
        .env(INSIDE, "1")
        .status()
        .unwrap();
    assert!(status.success(), "{name} failed inside the namespace");
}

/// Inside the namespace: a pair of interfaces, the second plugged into the bridge.
pub(crate) fn add_wire(end: &str, plug: &str) {
    ip(&["link", "add", end, "type", "veth", "peer", "name", plug]).unwrap();
    ip(&["link", "set", plug, "master", BRIDGE, "up"]).unwrap();
    ip(&["link", "set", end, "up"]).unwrap();
}

struct Namespace(String);

impl Namespace {
    fn create() -> Result<Self, String> {
        let name = format!("bsm-pxe-{}", std::process::id());
        ip(&["netns", "add", &name])?;
        let namespace = Self(name);
        let inside = |args: &[&str]| ip(&[&["-n", &namespace.0], args].concat());
        inside(&["link", "set", "lo", "up"])?;
        inside(&["link", "add", BRIDGE, "type", "bridge"])?;
        inside(&["addr", "add", &format!("{ADDRESS}/24"), "dev", BRIDGE])?;
        inside(&["link", "set", BRIDGE, "up"])?;
        inside(&["tuntap", "add", "dev", TAP, "mode", "tap"])?;
        inside(&["link", "set", TAP, "master", BRIDGE, "up"])?;
        Ok(namespace)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&["netns", "del", &self.0]);
    }
}

pub(crate) fn ip(args: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(args).stdin(Stdio::null()).output().map_err(|error| format!("ip: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    output
        .status
        .success()
        .then_some(())
        .ok_or_else(|| format!("`ip {}` failed (root?): {}", args.join(" "), said.trim()))
}
