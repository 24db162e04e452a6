//! One emulated machine and what it says on its serial line.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::MAC;
use crate::artefacts::{Artefacts, OVMF_CODE, OVMF_VARS};
use crate::network::TAP;

/// For each line waited for; emulated firmware on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(240);

#[derive(Clone, Copy)]
pub(crate) enum Firmware {
    /// OVMF's own PXE client (`romfile=` takes QEMU's iPXE away).
    Pxe,
    /// OVMF's HTTP boot, without waiting for PXE first.
    Http,
    /// iPXE as the network card's option ROM, as QEMU brings it.
    IpxeRom,
}

pub(crate) struct Machine {
    process: Child,
    lines: Receiver<(Instant, String)>,
    powered_on: Instant,
    _variables: tempfile::NamedTempFile,
}

impl Machine {
    pub(crate) fn power_on(_: &Artefacts, firmware: Firmware, disk: Option<&Path>) -> Self {
        let variables = tempfile::NamedTempFile::new().unwrap();
        std::fs::copy(OVMF_VARS, variables.path()).unwrap();
        let rom = if matches!(firmware, Firmware::IpxeRom) { "" } else { ",romfile=" };
        let mut command = Command::new("qemu-system-x86_64");
        command
            .args(["-accel", "tcg", "-machine", "q35", "-cpu", "max", "-m", "512", "-nodefaults", "-no-reboot"])
            .args(["-display", "none", "-serial", "stdio"])
            .args(["-drive", &format!("if=pflash,unit=0,format=raw,readonly=on,file={OVMF_CODE}")])
            .args(["-drive", &format!("if=pflash,unit=1,format=raw,file={}", variables.path().display())])
            .args(["-netdev", &format!("tap,id=n0,ifname={TAP},script=no,downscript=no")])
            .args(["-device", &format!("virtio-net-pci,netdev=n0,mac={MAC},bootindex=1{rom}")]);
        // Else OVMF tries IPv6 for a minute before it goes on, and PXE before HTTP.
        let off: &[&str] = match firmware {
            Firmware::Pxe => &["IPv6PXESupport", "IPv6Support"],
            Firmware::Http => &["IPv4PXESupport", "IPv6PXESupport", "IPv6Support"],
            Firmware::IpxeRom => &[],
        };
        for setting in off {
            command.args(["-fw_cfg", &format!("name=opt/org.tianocore/{setting},string=n")]);
        }
        if let Some(disk) = disk {
            command
                .args(["-drive", &format!("if=none,id=d0,format=raw,snapshot=on,file={}", disk.display())])
                .args(["-device", "virtio-blk-pci,drive=d0,bootindex=2"]);
        }
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let powered_on = Instant::now();
        let (said, lines) = channel();
        let serial = process.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(serial).split(b'\n') {
                let Ok(line) = line else { return };
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                println!("{:7.2} | {}", powered_on.elapsed().as_secs_f32(), line.escape_debug());
                if said.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Self { process, lines, powered_on, _variables: variables }
    }

    /// Waits until the machine says something.
    pub(crate) fn expect(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok((at, line)) if line.contains(text) => {
                    println!("WALL {:.1} s from power on to `{text}`", (at - self.powered_on).as_secs_f32());
                    return;
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => panic!("`{text}` did not come within {PATIENCE:?}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the machine went off before it said `{text}`"),
            }
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
