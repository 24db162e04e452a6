//! Machines of QEMU without acceleration: with either firmware, disks of every kind, and started from a kernel, a disc or their disk.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bessemer_images::cache::Cache;
use bessemer_images::iso::{self, IsoSpec};
use bessemer_images::ramdisk::{self, Ramdisk, RamdiskSpec, Variant};
use bessemer_protocol::BootConfig;

use crate::support::machine;

const UEFI_CODE: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";
const UEFI_VARIABLES: &str = "/usr/share/OVMF/OVMF_VARS_4M.fd";

pub const MAC: &str = "52:54:00:00:00:01";
/// On the network the ramdisk is told so by the kernel's command line.
const CMDLINE: &str = "console=ttyS0 panic=-1 BOOTIF=01-52-54-00-00-00-01";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Firmware {
    #[default]
    Bios,
    Uefi,
}

/// What the ramdisk comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
    /// The firmware is handed kernel and ramdisk.
    #[default]
    Direct,
    /// Our ISO in a CD drive, with this boot's overlay in its slot.
    Iso,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiskKind {
    #[default]
    Virtio,
    Sata,
    Nvme,
    /// A SCSI disk with sectors of 4096 bytes.
    Native4k,
}

impl DiskKind {
    pub fn serial(self) -> &'static str {
        match self {
            Self::Virtio => "virtio0",
            Self::Sata => "sata0",
            Self::Nvme => "nvme0",
            Self::Native4k => "4kn0",
        }
    }

    fn devices(self) -> &'static [&'static str] {
        match self {
            Self::Virtio => &["virtio-blk-pci"],
            Self::Sata => &["ide-hd,bus=ide.0"],
            Self::Nvme => &["nvme"],
            Self::Native4k => &["virtio-scsi-pci", "scsi-hd,logical_block_size=4096,physical_block_size=4096"],
        }
    }
}

/// Why such machines cannot run here.
pub fn missing() -> Option<String> {
    if let Some(reason) = machine::missing() {
        return Some(reason);
    }
    let there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    let tools = ["mmdebstrap", "xorriso", "grub-mkimage", "qemu-img", "xz", "mcopy"];
    let tool = tools.iter().find(|tool| !there(tool)).map(|tool| format!("{tool} is missing"));
    let root = || Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    tool.or_else(|| (!Path::new(UEFI_CODE).exists()).then(|| "OVMF is missing".to_owned()))
        .or_else(|| (!root()).then(|| "images are built as root".to_owned()))
}

/// A machine's parts, which outlive its being switched on.
pub struct Parts {
    pub folder: PathBuf,
    pub firmware: Firmware,
    /// The first is the one that firmware boots.
    pub disks: Vec<(DiskKind, PathBuf)>,
}

impl Parts {
    pub fn new(folder: &Path, firmware: Firmware, kinds: &[DiskKind], size: u64) -> Self {
        let disk = |kind: &DiskKind| {
            let path = folder.join(format!("{}.disk", kind.serial()));
            File::create(&path).unwrap().set_len(size).unwrap();
            (*kind, path)
        };
        fs::copy(UEFI_VARIABLES, folder.join("variables.fd")).unwrap();
        Self { folder: folder.to_owned(), firmware, disks: kinds.iter().map(disk).collect() }
    }

    fn qemu(&self, console: &Path) -> Command {
        let mut qemu = Command::new("qemu-system-x86_64");
        qemu.args(["-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max", "-m", "512", "-smp", "1"])
            .args(["-nodefaults", "-no-reboot", "-display", "none", "-serial"])
            .arg(format!("file:{}", console.display()))
            .args(["-uuid", "7b1c9a0e-2f64-4a39-9c35-2d1e7d7f0002"])
            .args(["-smbios", "type=1,manufacturer=Bessemer,product=Rack,serial=SN0002"])
            .args(["-netdev", "user,id=n0,ipv6=off", "-device"])
            .arg(format!("e1000e,netdev=n0,mac={MAC},romfile="))
            .stdin(Stdio::null());
        if self.firmware == Firmware::Uefi {
            qemu.args(["-drive", &format!("if=pflash,unit=0,format=raw,readonly=on,file={UEFI_CODE}"), "-drive"])
                .arg(format!("if=pflash,unit=1,format=raw,file={}/variables.fd", self.folder.display()));
        }
        for (index, (kind, path)) in self.disks.iter().enumerate() {
            qemu.arg("-drive")
                .arg(format!("if=none,id=d{index},format=raw,file={},cache=unsafe,discard=unmap", path.display()));
            let (disk, controllers) = kind.devices().split_last().unwrap();
            for controller in controllers {
                qemu.args(["-device", controller]);
            }
            qemu.arg("-device").arg(format!("{disk},drive=d{index},serial={},bootindex={}", kind.serial(), index + 1));
        }
        qemu
    }

    /// Starts the ramdisk with `config` as overlay.
    pub fn boot_ramdisk(&self, medium: Medium, config: &BootConfig) -> Machine {
        let built = self.ramdisk();
        let overlay = machine::overlay(&serde_json::to_vec(config).unwrap());
        let console = self.folder.join("ramdisk.log");
        let mut qemu = self.qemu(&console);
        match medium {
            Medium::Direct => {
                let initrd = self.folder.join("initrd");
                fs::write(&initrd, [fs::read(&built.initrd).unwrap(), overlay].concat()).unwrap();
                qemu.arg("-kernel").arg(&built.vmlinuz).arg("-initrd").arg(initrd).args(["-append", CMDLINE]);
            }
            Medium::Iso => {
                let disc = self.folder.join("bessemer.iso");
                iso::build(&IsoSpec { ramdisk: &built, cmdline: CMDLINE, out: &disc }).unwrap();
                let mut bytes = fs::read(&disc).unwrap();
                let slot = bytes.chunks(2048).position(|sector| sector.starts_with(iso::SLOT_MAGIC)).unwrap() * 2048;
                bytes[slot..slot + iso::SLOT_LENGTH].fill(0);
                bytes[slot..slot + overlay.len()].copy_from_slice(&overlay);
                fs::write(&disc, bytes).unwrap();
                qemu.arg("-drive")
                    .arg(format!("if=none,id=cd,media=cdrom,readonly=on,format=raw,file={}", disc.display()))
                    .args(["-device", "ide-cd,drive=cd,bus=ide.1,bootindex=0"]);
            }
        }
        Machine::start(qemu, console)
    }

    fn ramdisk(&self) -> Ramdisk {
        let spec = RamdiskSpec {
            variant: Variant::Server,
            agent: machine::agent(&self.folder),
            firmware: None,
            out_dir: self.folder.join("ramdisk"),
            cache: Cache::from_env().unwrap(),
        };
        let built = ramdisk::build(&spec).unwrap();
        let sum = built.vmlinuz_size + built.initrd_size;
        println!(
            "SIZE kernel {} + drivers {} + agent {} = {sum} bytes",
            built.vmlinuz_size, built.drivers_size, built.agent_size
        );
        assert!(sum <= 40_000_000);
        built
    }

    /// Starts it from its disk.
    pub fn boot_disk(&self) -> Machine {
        let console = self.folder.join("disk.log");
        Machine::start(self.qemu(&console), console)
    }
}

/// A machine that is on.
pub struct Machine {
    qemu: Child,
    console: PathBuf,
    pub started: Instant,
}

impl Machine {
    fn start(mut qemu: Command, console: PathBuf) -> Self {
        let _ = fs::remove_file(&console);
        Self { qemu: qemu.spawn().unwrap(), console, started: Instant::now() }
    }

    pub fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.console).unwrap_or_default()).into_owned()
    }

    /// The rest of the first line on its console with `word` in it, from there on.
    pub async fn says(&mut self, word: &str, seconds: u64) -> String {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        loop {
            let off = self.qemu.try_wait().unwrap();
            let console = self.console();
            // Whole lines only: the rest may be on its way.
            let lines = console.rsplit_once('\n').map_or("", |(lines, _)| lines);
            if let Some(found) = lines.lines().find_map(|line| line.find(word).map(|at| &line[at..])) {
                return found.trim_end().to_owned();
            }
            assert!(off.is_none(), "off without {word}");
            assert!(Instant::now() < deadline, "no {word} in {seconds} s");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until it is off, or wants to start again through its firmware.
    pub async fn ends(&mut self, seconds: u64) {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        while self.qemu.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "still on after {seconds} s");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
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
