//! A libvirt of our own with one virtual machine, and the BMCs that drive it: sushy-tools' emulator with its libvirt
//! driver, and virtualbmc.
//!
//! libvirtd runs in namespaces of its own (files, processes, network), so that the system's libvirt is not touched and
//! everything ends with it. The machine is in a network of libvirt's, whose dnsmasq serves a boot program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use tempfile::TempDir;

use crate::boot_log::BootLog;
use crate::daemon::{Daemon, bound_to_us, free_tcp_port, free_udp_port};
use crate::machine::Boot;
use crate::payload::{boot_program, disk_image};
use crate::python;
use crate::redfish::{PASSWORD, USER, emulator};

/// The folders that a libvirt has, in which it sees ours.
const FOLDERS: [(&str, &str); 5] = [
    ("etc", "/etc/libvirt"),
    ("run", "/run/libvirt"),
    ("lib", "/var/lib/libvirt"),
    ("log", "/var/log/libvirt"),
    ("cache", "/var/cache/libvirt"),
];

/// No control groups, namespaces, locks or users for its machines: it has none to give.
const QEMU_CONF: &str = "user = \"root\"\ngroup = \"root\"\nsecurity_driver = \"none\"\ncgroup_controllers = []\n\
                         namespaces = []\nstdio_handler = \"file\"\nremember_owner = 0\n";

/// virtualbmc's BMC by itself: its daemon would leave it running.
const VIRTUALBMC: &str = "import sys\n\
                          from virtualbmc.vbmc import VirtualBMC\n\
                          user, password, port, domain, uri = sys.argv[1:]\n\
                          bmc = VirtualBMC(user, password, int(port), '127.0.0.1', domain, uri)\n\
                          print('ready', flush=True)\n\
                          bmc.listen(timeout=1)\n";

const STARTS: Duration = Duration::from_secs(60);

/// Between two questions whether it is there: it has no other way to tell.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// The virtual machine's name.
const DOMAIN: &str = "peer";

/// A running libvirt; it ends with this.
#[derive(Debug)]
pub struct Libvirt {
    // fields go in this order: it ends before the folders that it writes to
    _daemon: Daemon,
    log: BootLog,
    dir: TempDir,
}

impl Libvirt {
    /// UUID of its machine.
    pub const UUID: &'static str = "33333333-4444-5555-6666-777777777777";
    /// Hardware address of its machine's network card.
    pub const MAC: &'static str = "00:16:3e:00:00:03";

    /// Starts it and defines the machine, which is off.
    ///
    /// # Errors
    /// When something of it cannot be had.
    pub fn start() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let at = |name: &str| dir.path().join(name);
        for name in FOLDERS.map(|(name, _)| name).into_iter().chain(["sock", "pool", "tftp"]) {
            fs::create_dir(at(name))?;
            // dnsmasq reads as nobody
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755))?;
        }
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
        let shown = dir.path().display();
        fs::write(
            at("etc").join("libvirtd.conf"),
            format!("unix_sock_dir = \"{shown}/sock\"\nauth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\n"),
        )?;
        fs::write(at("etc").join("qemu.conf"), QEMU_CONF)?;
        fs::write(at("disk.raw"), disk_image(Boot::Disk.word()))?;
        fs::write(at("tftp").join("boot.0"), boot_program(Boot::Pxe.word()))?;
        let log = BootLog::listen(&at("serial.sock"))?;
        let mut libvirt = Self { _daemon: daemon(dir.path())?, dir, log };
        libvirt.define()?;
        Ok(libvirt)
    }

    /// How often its machine has booted so far.
    #[must_use]
    pub fn boots(&self) -> usize {
        self.log.boots()
    }

    /// Waits until its machine has booted more often than `before`, and says from what.
    ///
    /// # Errors
    /// When it has not in a minute and a half.
    pub async fn next_boot(&self, before: usize) -> Result<Boot> {
        self.log.next(before).await
    }

    /// Waits until its machine says a line with `words` in it on the serial port, and gives that line.
    ///
    /// # Errors
    /// When it has not in a minute and a half, with the last that it said.
    pub async fn line(&self, words: &str) -> Result<String> {
        self.log.line(words).await
    }

    /// Starts sushy-tools' emulator over it, without TLS and for everyone, and says on which TCP port.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn sushy(&self) -> Result<(Daemon, u16)> {
        let port = free_tcp_port()?;
        let config = format!(
            "SUSHY_EMULATOR_LIBVIRT_URI = '{}'\nSUSHY_EMULATOR_IGNORE_BOOT_DEVICE = False\n\
             SUSHY_EMULATOR_STATE_DIR = {:?}\nSUSHY_EMULATOR_BOOT_LOADER_MAP = {{'Legacy': {{'x86_64': None}}}}\n",
            self.uri(),
            self.dir.path(),
        );
        Ok((emulator(&self.dir, port, &config)?, port))
    }

    /// Starts virtualbmc over it for [`USER`] and [`PASSWORD`], and says on which UDP port.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn virtualbmc(&self) -> Result<(Daemon, u16)> {
        let port = free_udp_port()?;
        let mut command = python::program("python3").map_err(|why| anyhow!(why))?;
        command.args(["-c", VIRTUALBMC, USER, PASSWORD, &port.to_string(), DOMAIN, &self.uri()]);
        Ok((Daemon::start("virtualbmc", command, "ready")?, port))
    }

    fn uri(&self) -> String {
        format!("qemu+unix:///system?socket={}/sock/libvirt-sock", self.dir.path().display())
    }

    fn define(&mut self) -> Result<()> {
        let begun = Instant::now();
        while let Err(error) = self.virsh(&["version"]) {
            if begun.elapsed() > STARTS {
                bail!("libvirtd does not answer after {STARTS:?}: {error:#}; {}", self._daemon.said());
            }
            std::thread::sleep(ASK_AGAIN);
        }
        let path = |name: &str| self.dir.path().join(name).display().to_string();
        let (disk, serial, tftp, pool) = (path("disk.raw"), path("serial.sock"), path("tftp"), path("pool"));
        let network = path("network.xml");
        fs::write(
            &network,
            format!(
                "<network><name>boot</name><bridge name='virbr7' stp='off' delay='0'/>\n\
                 <ip address='192.0.2.1' netmask='255.255.255.0'><tftp root='{tftp}'/>\n\
                 <dhcp><range start='192.0.2.100' end='192.0.2.120'/><bootp file='boot.0'/></dhcp></ip></network>\n"
            ),
        )?;
        let domain = path("domain.xml");
        fs::write(
            &domain,
            format!(
                "<domain type='qemu'><name>{DOMAIN}</name><uuid>{uuid}</uuid>\n\
                 <memory unit='MiB'>512</memory><vcpu>1</vcpu>\n\
                 <os><type arch='x86_64' machine='pc'>hvm</type><boot dev='hd'/></os><features><acpi/></features>\n\
                 <devices><emulator>/usr/bin/qemu-system-x86_64</emulator>\n\
                 <disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='{disk}'/>\n\
                 <target dev='hda' bus='ide'/></disk>\n\
                 <interface type='network'><mac address='{mac}'/><source network='boot'/><model type='virtio'/>\n\
                 </interface><serial type='unix'><source mode='connect' path='{serial}'/></serial>\n\
                 </devices></domain>\n",
                uuid = Self::UUID,
                mac = Self::MAC,
            ),
        )?;
        for words in [
            &["net-define", network.as_str()][..],
            &["net-start", "boot"],
            // where sushy-tools puts media
            &["pool-define-as", "default", "dir", "--target", &pool],
            &["pool-start", "default"],
            &["define", &domain],
        ] {
            self.virsh(words).with_context(|| self._daemon.said())?;
        }
        Ok(())
    }

    fn virsh(&self, words: &[&str]) -> Result<()> {
        // it waits for ever for a libvirtd that hangs
        let mut command = Command::new("timeout");
        let output = command
            .args(["--kill-after=5", "60", "virsh", "--connect", &self.uri()])
            .args(words)
            .stdin(Stdio::null())
            .output()?;
        ensure!(
            output.status.success(),
            "virsh {}: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(())
    }
}

fn daemon(dir: &Path) -> Result<Daemon> {
    let dir = dir.display();
    let mounts: String =
        FOLDERS.map(|(name, at)| format!("mkdir -p {at} && mount --bind {dir}/{name} {at}\n")).concat();
    // the shell stays: the first process of a namespace must bury what others leave, and libvirtd does not
    let script = format!(
        "set -e\nip link set lo up\n{mounts}echo begins\nlibvirtd --config /etc/libvirt/libvirtd.conf --pid-file {dir}/pid &\nwait $!\n"
    );
    let mut command = bound_to_us("unshare");
    command.args("--mount --pid --net --fork --kill-child --mount-proc --propagation private sh -c".split(' '));
    command.arg(script);
    Daemon::start("libvirtd", command, "begins")
}
