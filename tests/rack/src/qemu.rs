//! One run of a host: the QEMU process from power on to its end, and why it ended.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixListener;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::machine::{Boot, End};
use crate::spec::{HostSpec, Slot};

/// The emulator.
pub const QEMU: &str = "qemu-system-x86_64";

/// UEFI firmware (Debian's `ovmf`), without secure boot.
pub const OVMF_CODE: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";

/// Its variables as they leave the factory.
pub const OVMF_VARS: &str = "/usr/share/OVMF/OVMF_VARS_4M.fd";

/// What a running emulator can be told.
#[derive(Debug)]
pub(crate) enum Order {
    Kill,
    PressButton,
}

/// The files of a host, which outlive its runs.
#[derive(Debug, Clone)]
pub(crate) struct Hardware {
    pub(crate) spec: HostSpec,
    pub(crate) slot: Slot,
    pub(crate) dir: PathBuf,
}

impl Hardware {
    /// An empty disk and fresh firmware variables.
    pub(crate) fn build(&self) -> Result<()> {
        fs::create_dir_all(&self.dir)?;
        let disk = File::create(self.disk())?;
        disk.set_len(u64::from(self.spec.disk_gib) << 30).context("cannot make the disk")?;
        fs::copy(OVMF_VARS, self.variables()).with_context(|| format!("cannot copy {OVMF_VARS}: install ovmf"))?;
        File::create(self.serial_log())?;
        Ok(())
    }

    fn disk(&self) -> PathBuf {
        disk(&self.dir)
    }

    fn variables(&self) -> PathBuf {
        self.dir.join("vars.fd")
    }

    pub(crate) fn serial_log(&self) -> PathBuf {
        serial_log(&self.dir)
    }

    fn arguments(&self, boot: Boot, control: &Path) -> Vec<String> {
        let (disk_index, net_index) = if boot == Boot::Pxe { (2, 1) } else { (1, 2) };
        let Self { spec, slot, .. } = self;
        let list = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut arguments = vec!["-name".to_owned(), spec.name.clone()];
        // a guest's reset ends the run, so that the next one starts with the boot order then in force
        arguments.extend(list("-machine q35 -accel tcg,thread=multi -cpu max -nodefaults -no-user-config -no-reboot"));
        arguments.extend(list(&format!("-display none -smp {} -m {}", spec.cpus, spec.memory_mib)));
        for (option, value) in [
            ("-chardev", format!("file,id=serial,append=on,path={}", self.serial_log().display())),
            ("-serial", "chardev:serial".to_owned()),
            ("-chardev", format!("socket,id=control,path={}", control.display())),
            ("-mon", "chardev=control,mode=control".to_owned()),
            ("-drive", format!("if=pflash,unit=0,format=raw,readonly=on,file={OVMF_CODE}")),
            ("-drive", format!("if=pflash,unit=1,format=raw,file={}", self.variables().display())),
            ("-drive", format!("if=none,id=disk,format=raw,cache=unsafe,discard=unmap,file={}", self.disk().display())),
            ("-device", format!("virtio-blk-pci,drive=disk,serial={}-DISK,bootindex={disk_index}", slot.serial())),
            ("-device", "virtio-rng-pci".to_owned()),
            ("-netdev", format!("tap,id=net,ifname={},script=no,downscript=no", slot.tap())),
            // without these OVMF tries PXE over IPv6 for 45 s before it goes on to the disk
            ("-fw_cfg", "name=opt/org.tianocore/IPv6PXESupport,string=n".to_owned()),
            ("-fw_cfg", "name=opt/org.tianocore/IPv6Support,string=n".to_owned()),
            // no option ROM: the firmware's own network boot is what is tested
            ("-device", format!("virtio-net-pci,netdev=net,mac={},romfile=,bootindex={net_index}", slot.mac())),
            (
                "-smbios",
                format!(
                    "type=1,manufacturer=Bessemer,product=Virtual Rack Server,version=1,serial={},uuid={}",
                    slot.serial(),
                    slot.uuid()
                ),
            ),
        ] {
            arguments.extend([option.to_owned(), value]);
        }
        arguments
    }

    /// Starts a run and gives it to [`Run::until_end`].
    pub(crate) fn start(&self, boot: Boot) -> Result<Run> {
        let control = self.dir.join("qmp.sock");
        fs::remove_file(&control).ok();
        let listener = UnixListener::bind(&control).with_context(|| format!("cannot bind {}", control.display()))?;
        let log = self.dir.join("qemu.log");
        let errors = File::create(&log)?;
        let child = Command::new(QEMU)
            .args(self.arguments(boot, &control))
            .stdin(Stdio::null())
            .stdout(errors.try_clone()?)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run {QEMU}: install qemu-system-x86"))?;
        Ok(Run { child, listener, log })
    }
}

pub(crate) fn serial_log(dir: &Path) -> PathBuf {
    dir.join("serial.log")
}

pub(crate) fn disk(dir: &Path) -> PathBuf {
    dir.join("disk.raw")
}

/// A running emulator.
pub(crate) struct Run {
    child: Child,
    listener: UnixListener,
    log: PathBuf,
}

impl Run {
    /// Follows orders until the emulator has ended, and says why it did.
    pub(crate) async fn until_end(mut self, mut orders: mpsc::Receiver<Order>) -> End {
        let mut monitor: Option<Monitor> = None;
        let mut reason = None;
        let mut killed = false;
        let status = loop {
            tokio::select! {
                accepted = self.listener.accept(), if monitor.is_none() => {
                    if let Ok((stream, _)) = accepted {
                        let (read, write) = stream.into_split();
                        monitor = Some(Monitor { lines: BufReader::new(read).lines(), write });
                    }
                }
                line = next_line(&mut monitor) => match line {
                    Some(line) => reason = follow(&line, &mut monitor).await.or(reason),
                    None => break self.child.wait().await,
                },
                order = orders.recv() => match order {
                    Some(Order::PressButton) => command(&mut monitor, "system_powerdown").await,
                    Some(Order::Kill) | None => {
                        killed = true;
                        self.child.start_kill().ok();
                        break self.child.wait().await;
                    }
                },
                status = self.child.wait() => break status,
            }
        };
        while let Some(line) = next_line_if_any(&mut monitor).await {
            reason = shutdown_reason(&line).or(reason);
        }
        match (killed, reason.as_deref()) {
            (true, _) => End::Cut,
            (_, Some("guest-reset")) => End::GuestReset,
            (_, Some("guest-shutdown")) => End::GuestOff,
            (_, reason) => {
                let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                let said = fs::read_to_string(&self.log).unwrap_or_default();
                End::Broken(format!("{QEMU} ended: {status}, {}: {}", reason.unwrap_or("no reason given"), said.trim()))
            }
        }
    }
}

struct Monitor {
    lines: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
}

/// The next line of the monitor; never while there is no monitor; `None` when it hung up.
async fn next_line(monitor: &mut Option<Monitor>) -> Option<String> {
    match monitor {
        Some(monitor) => monitor.lines.next_line().await.ok().flatten(),
        None => std::future::pending().await,
    }
}

async fn next_line_if_any(monitor: &mut Option<Monitor>) -> Option<String> {
    monitor.as_mut()?.lines.next_line().await.ok().flatten()
}

/// Answers the greeting, without which the monitor tells nothing.
async fn follow(line: &str, monitor: &mut Option<Monitor>) -> Option<String> {
    if line.contains("\"QMP\"") {
        command(monitor, "qmp_capabilities").await;
    }
    shutdown_reason(line)
}

async fn command(monitor: &mut Option<Monitor>, name: &str) {
    if let Some(monitor) = monitor {
        // a monitor that cannot be written to is at its end, which is seen by its reader
        monitor.write.write_all(format!("{{\"execute\":\"{name}\"}}\n").as_bytes()).await.ok();
    }
}

fn shutdown_reason(line: &str) -> Option<String> {
    let event: serde_json::Value = serde_json::from_str(line).ok()?;
    (event.get("event")? == "SHUTDOWN").then_some(())?;
    Some(event.get("data")?.get("reason")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shutdown_has_a_reason() {
        let reset = r#"{"timestamp": {"seconds": 1, "microseconds": 2}, "event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-reset"}}"#;
        assert_eq!(shutdown_reason(reset).as_deref(), Some("guest-reset"));
        assert_eq!(shutdown_reason(r#"{"event": "STOP"}"#), None);
        assert_eq!(shutdown_reason("{"), None);
    }
}
