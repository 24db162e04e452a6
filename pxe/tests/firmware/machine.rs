//! One emulated machine and what it says on its serial line.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::MAC;
use crate::artefacts::{OVMF_CODE, OVMF_VARS};
use crate::network::{Neighbour, TAP};

/// For each line waited for; emulated firmware on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(240);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Firmware {
    /// SeaBIOS, which has no network boot of its own: the card's option ROM is iPXE, as QEMU brings it.
    BiosIpxeRom,
    /// OVMF with iPXE as the card's option ROM.
    UefiIpxeRom,
    /// OVMF's own PXE client over IPv4 (`romfile=` takes QEMU's iPXE away).
    Pxe,
    /// OVMF's own PXE client over IPv6.
    PxeIpv6,
    /// OVMF's HTTP boot over IPv4, without waiting for PXE first.
    Http,
    /// OVMF's HTTP boot over IPv6.
    HttpIpv6,
}

impl Firmware {
    /// Switches of OVMF (`OvmfPkg/RUNTIME_CONFIG.md`) that are turned off: else it tries all ways in turn, each for up to
    /// a minute.
    fn without(self) -> &'static [&'static str] {
        match self {
            Self::BiosIpxeRom | Self::UefiIpxeRom => &[],
            Self::Pxe => &["IPv6PXESupport", "IPv6Support"],
            Self::PxeIpv6 => &["IPv4PXESupport", "IPv4Support"],
            Self::Http => &["IPv4PXESupport", "IPv6PXESupport", "IPv6Support"],
            Self::HttpIpv6 => &["IPv4PXESupport", "IPv6PXESupport", "IPv4Support"],
        }
    }

    fn rom(self) -> &'static str {
        if matches!(self, Self::BiosIpxeRom | Self::UefiIpxeRom) { "" } else { ",romfile=" }
    }
}

pub(crate) struct Machine {
    process: Child,
    lines: Receiver<(Instant, String)>,
    powered_on: Instant,
    _variables: tempfile::NamedTempFile,
}

impl Machine {
    /// A machine on our bridge.
    pub(crate) fn power_on(firmware: Firmware, disk: Option<&Path>) -> Self {
        Self::start(Command::new("qemu-system-x86_64"), firmware, disk)
    }

    /// A machine whose first card, which it boots from first, is in a segment where nobody answers.
    pub(crate) fn power_on_with_a_dead_card(firmware: Firmware) -> Self {
        let mut command = Command::new("qemu-system-x86_64");
        command.args(["-netdev", "hubport,id=dead,hubid=0"]).args([
            "-device",
            &format!("virtio-net-pci,netdev=dead,mac=52:54:00:00:00:99,bootindex=0{}", firmware.rom()),
        ]);
        Self::start(command, firmware, None)
    }

    /// A machine whose firmware trusts an authority: `certificates` is an EFI signature list
    /// (`OvmfPkg/README`, "HTTPS Boot").
    #[cfg(feature = "firmware-tls")]
    pub(crate) fn power_on_trusting(certificates: &Path) -> Self {
        let mut command = Command::new("qemu-system-x86_64");
        command.args(["-fw_cfg", &format!("name=etc/edk2/https/cacerts,file={}", certificates.display())]);
        command.args(["-object", "rng-random,filename=/dev/urandom,id=r0", "-device", "virtio-rng-pci,rng=r0"]);
        Self::start(command, Firmware::Http, None)
    }

    /// A machine on the bridge of another host, whose tap is called as ours.
    pub(crate) fn power_on_at(place: &Neighbour, firmware: Firmware) -> Self {
        Self::start(place.command("qemu-system-x86_64"), firmware, None)
    }

    fn start(mut command: Command, firmware: Firmware, disk: Option<&Path>) -> Self {
        let variables = tempfile::NamedTempFile::new().unwrap();
        command
            .args(["-accel", "tcg", "-machine", "q35", "-cpu", "max", "-m", "512", "-nodefaults", "-no-reboot"])
            .args(["-display", "none", "-serial", "stdio"])
            .args(["-netdev", &format!("tap,id=n0,ifname={TAP},script=no,downscript=no")])
            .args(["-device", &format!("virtio-net-pci,netdev=n0,mac={MAC},bootindex=1{}", firmware.rom())]);
        if firmware != Firmware::BiosIpxeRom {
            std::fs::copy(OVMF_VARS, variables.path()).unwrap();
            command
                .args(["-drive", &format!("if=pflash,unit=0,format=raw,readonly=on,file={OVMF_CODE}")])
                .args(["-drive", &format!("if=pflash,unit=1,format=raw,file={}", variables.path().display())]);
        }
        for setting in firmware.without() {
            command.args(["-fw_cfg", &format!("name=opt/org.tianocore/{setting},string=n")]);
        }
        if firmware == Firmware::HttpIpv6 {
            // OVMF does not wait for its own link-local address before it tries, so it gets a moment at the boot menu.
            command.args(["-boot", "menu=on,splash-time=6000"]);
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
