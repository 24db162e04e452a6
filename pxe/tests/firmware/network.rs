//! A network namespace with a bridge (ours) and a tap (the machine's), the scenario run inside it, and other hosts
//! beside ours on the same bridge.

use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};

use bessemer_pxe::MacAddr;

use crate::artefacts::Artefacts;

pub(crate) const BRIDGE: &str = "br0";
pub(crate) const TAP: &str = "tap0";
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const ADDRESS_V6: &str = "fd77::1";
const INSIDE: &str = "BESSEMER_PXE_TEST_INSIDE";

/// How many emulated machines run at once: each takes a processor, and more make each other time out.
static TURNS: (Mutex<usize>, Condvar) = (Mutex::new(2), Condvar::new());

struct Turn;

impl Turn {
    fn take() -> Self {
        let (free, changed) = &TURNS;
        let free = free.lock().unwrap_or_else(PoisonError::into_inner);
        *changed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner) -= 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (free, changed) = &TURNS;
        *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        changed.notify_one();
    }
}

/// Runs `scenario` of the test called `name` in a namespace of its own. `name` is the test's whole path.
pub(crate) fn inside(name: &str, scenario: impl AsyncFnOnce(&Artefacts)) {
    if std::env::var_os(INSIDE).is_some() {
        let artefacts = Artefacts::find().unwrap();
        tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::DEBUG).with_test_writer().init();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        return runtime.block_on(scenario(&artefacts));
    }
    let _turn = Turn::take();
    if let Err(reason) = Artefacts::find() {
        println!("SKIP {name}: {reason}");
        return;
    }
    let namespace = match Namespace::create(name) {
        Ok(namespace) => namespace,
        Err(reason) => {
            println!("SKIP {name}: {reason}");
            return;
        }
    };
    let output = Command::new("ip")
        .args(["netns", "exec", &namespace.0])
        .arg(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--include-ignored"])
        .env(INSIDE, &namespace.0)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    // Whole and at once: two scenarios at a time would mix their lines.
    println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} failed inside the namespace");
}

/// Inside the namespace: a pair of interfaces, the second plugged into the bridge.
pub(crate) fn add_wire(end: &str, plug: &str) {
    ip(&["link", "add", end, "type", "veth", "peer", "name", plug]).unwrap();
    ip(&["link", "set", plug, "master", BRIDGE, "up"]).unwrap();
    ip(&["link", "set", end, "up"]).unwrap();
}

struct Namespace(String);

impl Namespace {
    fn create(name: &str) -> Result<Self, String> {
        let short = name.rsplit("::").next().unwrap_or(name);
        let name = format!("bsm-{}-{}", std::process::id(), &short[..short.len().min(40)]);
        ip(&["netns", "add", &name])?;
        let namespace = Self(name);
        let inside = |args: &[&str]| ip(&[&["-n", &namespace.0], args].concat());
        inside(&["link", "set", "lo", "up"])?;
        inside(&["link", "add", BRIDGE, "type", "bridge"])?;
        inside(&["addr", "add", &format!("{ADDRESS}/24"), "dev", BRIDGE])?;
        inside(&["addr", "add", &format!("{ADDRESS_V6}/64"), "dev", BRIDGE, "nodad"])?;
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

/// Says `SKIP` where one of these programs is not installed.
pub(crate) fn lacks(name: &str, programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = || std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let missing = programs.iter().find(|program| !folders().any(|folder| folder.join(program).is_file()));
    if let Some(program) = missing {
        println!("SKIP {name}: {program} is not installed");
    }
    missing.is_some()
}

/// Another host on our bridge: a namespace of its own, whose `eth0` is plugged in.
pub(crate) struct Neighbour {
    namespace: String,
    daemons: Vec<Child>,
}

impl Neighbour {
    /// Plugs it in with an address such as `10.77.0.2/24`.
    pub(crate) fn join(name: &str, address: &str) -> Self {
        let namespace = format!("{}-{name}", std::env::var(INSIDE).unwrap());
        ip(&["netns", "add", &namespace]).unwrap();
        let neighbour = Self { namespace, daemons: vec![] };
        let plug = format!("to-{name}");
        let there = &neighbour.namespace;
        ip(&["link", "add", &plug, "type", "veth", "peer", "name", "eth0", "netns", there]).unwrap();
        ip(&["link", "set", &plug, "master", BRIDGE, "up"]).unwrap();
        neighbour.ip(&["link", "set", "lo", "up"]);
        neighbour.ip(&["addr", "add", address, "dev", "eth0"]);
        neighbour.ip(&["link", "set", "eth0", "up"]);
        neighbour
    }

    /// Plugs it in with this hardware address and without IPv4. Its link-local address works at once.
    pub(crate) fn with_mac(name: &str, mac: MacAddr) -> Self {
        let namespace = format!("{}-{name}", std::env::var(INSIDE).unwrap());
        ip(&["netns", "add", &namespace]).unwrap();
        let neighbour = Self { namespace, daemons: vec![] };
        let plug = format!("to-{name}");
        let there = &neighbour.namespace;
        ip(&["link", "add", &plug, "type", "veth", "peer", "name", "eth0", "netns", there]).unwrap();
        ip(&["link", "set", &plug, "master", BRIDGE, "up"]).unwrap();
        neighbour.rise(mac);
        neighbour
    }

    /// Plugs it into `eth1` of another neighbour instead of our bridge.
    pub(crate) fn behind(other: &Self, name: &str, mac: MacAddr) -> Self {
        let namespace = format!("{}-{name}", std::env::var(INSIDE).unwrap());
        ip(&["netns", "add", &namespace]).unwrap();
        let neighbour = Self { namespace, daemons: vec![] };
        let there = &neighbour.namespace;
        other.ip(&["link", "add", "eth1", "type", "veth", "peer", "name", "eth0", "netns", there]);
        other.ip(&["link", "set", "eth1", "up"]);
        neighbour.rise(mac);
        neighbour
    }

    fn rise(&self, mac: MacAddr) {
        // No wait for others that could have the address.
        let dad = ["-c", "echo 0 > /proc/sys/net/ipv6/conf/eth0/accept_dad"];
        assert!(self.command("sh").args(dad).status().unwrap().success());
        self.ip(&["link", "set", "lo", "up"]);
        self.ip(&["link", "set", "eth0", "address", &mac.to_string()]);
        self.ip(&["link", "set", "eth0", "up"]);
    }

    /// The name of its network namespace.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn ip(&self, args: &[&str]) {
        ip(&[&["-n", &self.namespace], args].concat()).unwrap();
    }

    /// `program`, to run there.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace, program]).stdin(Stdio::null());
        command
    }

    /// Starts `command`, which ends with the neighbour.
    pub(crate) fn start(&mut self, mut command: Command) {
        self.daemons.push(command.spawn().unwrap());
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = ip(&["netns", "del", &self.namespace]);
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
