//! A QEMU machine without acceleration that boots the ramdisk directly, with the overlay appended as the boot server does it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bessemer_images::cache::Cache;
use bessemer_images::ramdisk::{self, RamdiskSpec, Variant};
use bessemer_protocol::{BOOT_CONFIG_PATH, BootConfig};

/// Variable that names a static agent; without it one is built as it is shipped.
pub const AGENT_VARIABLE: &str = "BESSEMER_AGENT";

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The static agent, without debug information.
pub fn agent(folder: &Path) -> PathBuf {
    let stripped = folder.join("agent");
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(unstripped()).status().unwrap();
    assert!(status.success());
    stripped
}

fn unstripped() -> PathBuf {
    if let Some(path) = std::env::var_os(AGENT_VARIABLE) {
        return path.into();
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // What cargo tells this test about its crate would make it build others again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    let output = command
        .args([
            "build",
            "--quiet",
            "--profile",
            "agent",
            "--package",
            "bessemer-agent",
            "--target",
            TARGET,
            "--message-format=json",
        ])
        .env("RUSTFLAGS", "-Ctarget-feature=+crt-static")
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "cannot build a static agent");
    let messages = String::from_utf8(output.stdout).unwrap();
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back();
    executable.expect("cargo built no program")
}

/// Why machines cannot run here.
pub fn missing() -> Option<String> {
    let runs =
        |tool: &str| Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    ["qemu-system-x86_64", "apt-get", "dpkg-deb", "strip"]
        .iter()
        .find(|tool| !runs(tool))
        .map(|tool| format!("{tool} is missing"))
}

const CONSOLE: &str = "console.log";

/// Debian's OVMF.
pub const UEFI_CODE: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";
const UEFI_VARIABLES: &str = "/usr/share/OVMF/OVMF_VARS_4M.fd";

/// What both ways to boot have in common.
fn qemu(folder: &Path, disk: &Path, mebibytes: u32, processors: u32) -> Command {
    let mut command = Command::new("qemu-system-x86_64");
    command
        .args(["-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max"])
        .args(["-m", &mebibytes.to_string(), "-smp", &processors.to_string()])
        .args(["-nodefaults", "-no-reboot", "-display", "none"])
        .arg("-serial")
        .arg(format!("file:{}", folder.join(CONSOLE).display()))
        .arg("-drive")
        .arg(format!("if=none,id=d0,format=raw,file={},cache=unsafe,discard=unmap", disk.display()))
        .args(["-device", "virtio-blk-pci,drive=d0,serial=disk0,bootindex=1"])
        .args(["-netdev", "user,id=n0", "-device", "virtio-net-pci,netdev=n0,mac=52:54:00:00:00:01,romfile="])
        .args([
            "-uuid",
            "7b1c9a0e-2f64-4a39-9c35-2d1e7d7f0001",
            "-smbios",
            "type=1,manufacturer=Bessemer,serial=SN0001",
        ])
        .stdin(Stdio::null());
    command
}

pub struct Machine {
    qemu: Child,
    pub console: PathBuf,
    pub started: Instant,
}

impl Machine {
    /// Boots with `config` as overlay. `disk` must exist.
    pub fn boot(folder: &Path, config: &BootConfig, disk: &Path) -> Self {
        Self::boot_variant(Variant::Cloud, folder, config, disk, &[])
    }

    /// The same with the drivers of servers, and more of QEMU's arguments.
    pub fn boot_server(folder: &Path, config: &BootConfig, disk: &Path, more: &[&str]) -> Self {
        Self::boot_variant(Variant::Server, folder, config, disk, more)
    }

    fn boot_variant(variant: Variant, folder: &Path, config: &BootConfig, disk: &Path, more: &[&str]) -> Self {
        let spec = RamdiskSpec {
            variant,
            agent: agent(folder),
            firmware: None,
            out_dir: folder.join("ramdisk"),
            cache: Cache::from_env().unwrap(),
        };
        let built = ramdisk::build(&spec).unwrap();
        let agent_size = std::fs::metadata(&spec.agent).unwrap().len();
        println!(
            "SIZE ramdisk: agent of {agent_size} bytes, kernel {} of {} bytes, initrd of {} bytes",
            built.kernel, built.vmlinuz_size, built.initrd_size
        );
        let mut initrd = std::fs::read(&built.initrd).unwrap();
        initrd.resize(initrd.len().next_multiple_of(4), 0);
        initrd.extend(overlay(&serde_json::to_vec(config).unwrap()));
        let with_overlay = folder.join("initrd");
        std::fs::write(&with_overlay, initrd).unwrap();
        let mut qemu = qemu(folder, disk, 512, 1);
        qemu.arg("-kernel")
            .arg(&built.vmlinuz)
            .arg("-initrd")
            .arg(&with_overlay)
            .args(["-append", "console=ttyS0 panic=-1 BOOTIF=01-52-54-00-00-00-01"])
            .args(more);
        Self { qemu: qemu.spawn().unwrap(), console: folder.join(CONSOLE), started: Instant::now() }
    }

    /// Boots what is on `disk` through UEFI, with what a small control plane needs.
    pub fn boot_disk(folder: &Path, disk: &Path) -> Self {
        let variables = folder.join("variables.fd");
        std::fs::copy(UEFI_VARIABLES, &variables).unwrap();
        let mut qemu = qemu(folder, disk, 2560, 2);
        qemu.arg("-drive")
            .arg(format!("if=pflash,unit=0,format=raw,readonly=on,file={UEFI_CODE}"))
            .arg("-drive")
            .arg(format!("if=pflash,unit=1,format=raw,file={}", variables.display()))
            .args(["-device", "virtio-rng-pci"]);
        Self { qemu: qemu.spawn().unwrap(), console: folder.join(CONSOLE), started: Instant::now() }
    }

    pub fn console(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.console).unwrap_or_default()).into_owned()
    }

    /// What the agent said on the console.
    pub fn said(&self) -> String {
        self.console().lines().filter(|line| line.contains("bessemer:")).collect::<Vec<_>>().join("\n")
    }

    /// Waits until it is off.
    pub fn wait_off(&mut self, seconds: u64) -> bool {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < deadline {
            if self.qemu.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        false
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
        if std::thread::panicking() {
            println!("console:\n{}", self.console());
        }
    }
}

/// One file in an uncompressed archive, written independently of the builder's own writer.
pub fn overlay(content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut add = |name: &str, mode: usize, content: &[u8]| {
        let fields = [1, mode, 0, 0, 1, 0, content.len(), 0, 0, 0, 0, name.len() + 1, 0];
        bytes.extend(b"070701");
        fields.iter().for_each(|field| bytes.extend(format!("{field:08X}").bytes()));
        bytes.extend(name.bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    };
    add(BOOT_CONFIG_PATH.trim_start_matches('/'), 0o100_600, content);
    add("TRAILER!!!", 0, &[]);
    bytes
}
