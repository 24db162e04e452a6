//! A real BMC implementation to talk to: OpenIPMI's `ipmi_sim`, one process per test, its chassis kept in files.

#![allow(dead_code, clippy::indexing_slicing, reason = "each test program uses a part of it")]

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// User whom the simulator lets in as administrator.
pub(crate) const USER: &str = "admin";
/// Both users' password. Longer than IPMI 1.5's 16 bytes; with the full 20 the simulator refuses every client.
pub(crate) const PASSWORD: &str = "correct-horse-bat";
/// User who may only look.
pub(crate) const LOOKER: &str = "looker";

/// Keeps `power` and `boot` in files beside itself; `deaf` makes it ignore what it is told,
/// `slow` makes a reset take longer than a client waits before it gives a session up.
const CHASSIS: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
op=$2; shift 2
echo "$op $*" >> calls
case $op in
get) for p in "$@"; do case $p in
    power) echo "power:$(cat power)";;
    boot) echo "boot:$(cat boot)";;
    *) echo "$p:0";;
    esac; done;;
set) while [ $# -gt 0 ]; do case $1 in
    power) [ -e deaf ] || echo "$2" > power;;
    reset) [ ! -e slow ] || sleep 4;;
    shutdown) echo 0 > power;;
    boot) [ -e deaf ] || echo "$2" > boot;;
    esac; shift 2; done;;
check) ;;
esac
exit 0
"#;

/// A temperature with thresholds from above: 96 °C now, 98 worrying, 100 critical, 104 harmful.
const SENSOR: &str = "sensor_add 0x20 0 1 0x01 0x01\nsensor_set_value 0x20 0 1 0x60 0\n\
                      sensor_set_threshold 0x20 0 1 readable 111000 0x68 0x64 0x62 0 0 0\n\
                      sensor_set_event_support 0x20 0 1 enable scanning none 000000000000000 000000000000000 \
                      000000000000000 000000000000000\n";
/// Its record (IPMI 2.0, table 43-1), header first.
const RECORD: &[u8] =
    b"\x01\0\x51\x01\x33\x20\0\x01\x03\x01\x7f\x64\x01\x01\0\0\0\0\x38\0\0\x01\0\0\x01\0\0\0\0\0\0\0\0\0\xff\0\
                        \x68\x64\x62\0\0\0\x01\x01\0\0\0\xc8CPU Temp";
/// An inventory with a product area only.
const INVENTORY: &[u8] = b"\x01\0\0\0\x01\0\0\xfe\x01\x04\x19\xc4Acme\xc3Box\xc3B-1\xc2v2\xc4S123\xc0\xc0\xc1\0\0";
/// The upper critical threshold crossed: type, time, generator, revision, temperature 1, threshold, event data.
const EVENT: &[u8] = b"\x02\x80\x51\x01\x65\x20\0\x04\x01\x01\x01\x59\x65\x64";

/// A running simulator; dropping it ends the process.
pub(crate) struct Sim {
    dir: TempDir,
    serial: TcpListener,
    port: u16,
    child: Option<Child>,
}

impl Sim {
    /// Starts one on a free port, or says why not.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = find("ipmi_sim") else {
            eprintln!("SKIP ipmi_sim is not installed (Debian package openipmi)");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("state")).unwrap();
        fs::write(at("power"), "0").unwrap();
        fs::write(at("boot"), "none").unwrap();
        fs::write(at("chassis"), CHASSIS).unwrap();
        fs::set_permissions(at("chassis"), fs::Permissions::from_mode(0o755)).unwrap();
        let serial = TcpListener::bind("127.0.0.1:0").unwrap();
        let serial_port = serial.local_addr().unwrap().port();
        let auths = "none md2 md5 straight";
        let lan = format!(
            "name \"sim\"\nset_working_mc 0x20\n  startlan 1\n    addr 127.0.0.1 {port}\n    priv_limit admin\n    \
             allowed_auths_callback {auths}\n    allowed_auths_user {auths}\n    allowed_auths_operator {auths}\n    \
             allowed_auths_admin {auths}\n    guid a123456789abcdefa123456789abcdef\n  endlan\n  \
             chassis_control \"{} 0x20\"\n  sol \"tcp:127.0.0.1:{serial_port}\" 115200\n  user 1 true \"\" \"test\" user 10 {auths}\n  \
             user 2 true \"{USER}\" \"{PASSWORD}\" admin 10 {auths}\n  \
             user 3 true \"{LOOKER}\" \"{PASSWORD}\" user 10 {auths}\n",
            at("chassis").display()
        );
        fs::write(at("lan.conf"), lan).unwrap();
        let emu = format!(
            "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\n\
             sel_enable 0x20 1000 0x0a\n{SENSOR}main_sdr_add 0x20{}\nmc_add_fru_data 0x20 0 256 data{}\n\
             sel_add 0x20{}\nmc_enable 0x20\n",
            listed(RECORD),
            listed(&sealed(INVENTORY)),
            listed(EVENT),
        );
        fs::write(at("sim.emu"), emu).unwrap();
        let mut sim = Self { dir, serial, port, child: None };
        sim.spawn(&program);
        Some(sim)
    }

    /// Ends the process, and with it every session; the port closes.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Starts it again on the same port.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.spawn(&find("ipmi_sim").unwrap());
    }

    /// The UDP port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Where the simulator's serial port calls in.
    pub(crate) fn serial(&self) -> &TcpListener {
        &self.serial
    }

    /// A file of the chassis script's.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap_or_default().trim().to_owned()
    }

    /// Changes a file of the chassis script's.
    pub(crate) fn write(&self, name: &str, value: &str) {
        fs::write(self.dir.path().join(name), value).unwrap();
    }

    fn spawn(&mut self, program: &Path) {
        let at = |name: &str| self.dir.path().join(name);
        let child = Command::new(program)
            .arg("-n")
            .arg("-c")
            .arg(at("lan.conf"))
            .arg("-f")
            .arg(at("sim.emu"))
            .arg("-s")
            .arg(at("state"))
            // It reads commands from standard input, and dies of /dev/null.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.child = Some(child);
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.stop();
    }
}

/// With the checksum of the area behind the header, as far as the area says it goes.
fn sealed(inventory: &[u8]) -> Vec<u8> {
    let mut inventory = inventory.to_vec();
    inventory.resize(8 + 4 * 8 - 1, 0);
    let sum = inventory[8..].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    inventory.push(sum.wrapping_neg());
    inventory
}

/// Bytes as the simulator's commands take them.
fn listed(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!(" {byte:#04x}")).collect()
}

fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}
