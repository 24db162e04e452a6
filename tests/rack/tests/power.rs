//! The rack against a foreign client: `ipmitool` turns hosts on and off through their BMCs, and the firmware is seen
//! on the bridge.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bessemer_rack::{Boot, End, Host, HostSpec, Power, Rack, Spec};

const HELPER: &str = env!("CARGO_BIN_EXE_bessemer-rack");

/// Why the rack cannot run here, if it cannot.
fn impossible() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("not root: network namespaces cannot be made".to_owned());
    }
    let missing = |program: &&&str| {
        !std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|dir| dir.join(program).exists())
    };
    let needed = ["ip", "nsenter", "ipmi_sim", "ipmitool", bessemer_rack::QEMU];
    if let Some(program) = needed.iter().find(missing) {
        return Some(format!("no {program}"));
    }
    (!Path::new(bessemer_rack::OVMF_CODE).exists()).then(|| "no ovmf".to_owned())
}

fn rack(id: &str, hosts: &[&str]) -> Option<Rack> {
    if let Some(why) = impossible() {
        println!("SKIP {why}");
        return None;
    }
    let hosts = hosts.iter().map(|name| HostSpec::small(name)).collect();
    Some(Rack::start_with(&Spec::new(id, hosts), Path::new(HELPER)).unwrap())
}

fn ipmi(rack: &Rack, host: &Host, words: &str) -> String {
    let output = rack
        .exec("ipmitool")
        .args("-I lanplus -C 3 -H 127.0.0.1".split(' '))
        .args(["-p", &host.bmc_port().to_string(), "-U", host.bmc_user(), "-P", host.bmc_password()])
        .args(words.split(' '))
        .output()
        .unwrap();
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_bmc_turns_its_host_on_and_the_firmware_asks_the_network() {
    let Some(rack) = rack("test-power", &["a", "b"]) else { return };
    let (a, b) = (rack.host("a").unwrap(), rack.host("b").unwrap());
    assert_eq!(a.state().unwrap().power, Power::Off);
    assert!(ipmi(&rack, &a, "chassis power status").contains("is off"));

    let mut sniffer = rack
        .exec("tcpdump")
        .args(["-i", "br0", "-n", "-c", "1", "udp and dst port 67 and ether src", &a.mac()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    ipmi(&rack, &a, "chassis bootdev pxe");
    ipmi(&rack, &a, "chassis power on");
    let state = a.wait_for("on", Duration::from_secs(5), |state| state.power == Power::On).unwrap();
    assert_eq!((state.last_boot, state.next_boot, state.starts), (Some(Boot::Pxe), Boot::Default, 1));
    assert!(ipmi(&rack, &a, "chassis power status").contains("is on"));
    assert_eq!(b.state().unwrap().power, Power::Off, "the neighbour stays off");
    a.wait_serial("Start PXE over IPv4", Duration::from_secs(180)).unwrap();
    let sniffed = bessemer_rack::Process::of(sniffer.id()).is_none_or(|p| p.wait_gone(Duration::from_secs(60)));
    assert!(sniffed, "no DHCP request of {} on the bridge", a.mac());
    sniffer.wait().unwrap();

    ipmi(&rack, &a, "chassis power reset");
    let state = a.wait_for("reset", Duration::from_secs(5), |state| state.starts == 2).unwrap();
    assert_eq!((state.last_boot, state.last_end), (Some(Boot::Default), Some(End::Cut)));
    a.cut_power().unwrap();
    assert_eq!(a.state().unwrap().power, Power::Off);
    ipmi(&rack, &a, "chassis power on");
    ipmi(&rack, &a, "chassis power off");
    assert_eq!(a.state().unwrap().power, Power::Off);

    let dir = rack.dir().to_owned();
    rack.stop().unwrap();
    assert!(!dir.exists());
    assert!(!Path::new("/run/netns/bessemer-rack-test-power").exists());
}

#[test]
fn what_a_killed_run_left_is_swept_by_the_next() {
    let Some(first) = rack("test-sweep", &["a"]) else { return };
    let host = first.host("a").unwrap();
    ipmi(&first, &host, "chassis power on");
    let mut child = first.exec("sleep").arg("600").spawn().unwrap();
    let sleeper = bessemer_rack::Process::of(child.id()).unwrap();
    let holders = std::fs::read_to_string(first.dir().join("holders.json")).unwrap();
    let keeper = holders.split("\"keeper\":{\"pid\":").nth(1).unwrap().split(',').next().unwrap();
    // the keeper is killed and this process forgets its rack: nobody is left to clean up
    assert!(Command::new("kill").args(["-9", keeper]).status().unwrap().success());
    let in_use = Rack::sweep("test-sweep").unwrap_err().to_string();
    assert!(in_use.contains("in use by process"), "{in_use}");
    let path = first.dir().join("holders.json");
    std::mem::forget(first);
    std::fs::write(&path, holders.replace("\"owner\":{\"pid\":", "\"owner\":{\"pid\":9")).unwrap();

    let said = Rack::sweep("test-sweep").unwrap().unwrap();
    assert!(said.contains("processes"), "{said}");
    assert!(!sleeper.is_alive());
    child.wait().unwrap();
    assert!(!path.exists());
    assert_eq!(Rack::sweep("test-sweep").unwrap(), None);
    rack("test-sweep", &["a"]).unwrap().stop().unwrap();
}

#[test]
fn a_killed_owner_takes_its_rack_along() {
    if let Some(why) = impossible() {
        println!("SKIP {why}");
        return;
    }
    let mut owner =
        Command::new(HELPER).args(["hold", "test-kill"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(owner.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    let dir = Path::new("/var/lib/bessemer-rack/test-kill");
    let holders = std::fs::read_to_string(dir.join("holders.json")).unwrap();
    let keeper = holders.split("\"keeper\":{\"pid\":").nth(1).unwrap().split(',').next().unwrap();
    let keeper = bessemer_rack::Process::of(keeper.parse().unwrap()).unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(keeper.wait_gone(Duration::from_secs(30)), "the keeper is still there");
    assert!(!dir.exists());
    assert!(!Path::new("/run/netns/bessemer-rack-test-kill").exists());
}
