//! What is advertised is served: every machine that there is asks for every target, whatever it is told is fetched, and
//! whatever a script names is fetched too, with real clients and over the wire.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV6, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bessemer_pxe::{BootId, BootServer, BootTarget, Ipxe, Media, Mode, Ramdisk, SLOT_MAGIC};
use bytes::Bytes;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio_util::sync::CancellationToken;

use crate::artefacts::Artefacts;
use crate::host::{OneHost, config, config_v6};
use crate::network::{ADDRESS, Neighbour, inside};
use crate::{BOOT, MAC, MARKER};

const STUB: &str = "/usr/lib/systemd/boot/efi/linuxx64.efi.stub";
/// Kernel and ramdisk of a processor that is not here.
const ARM64: &str = "for arm64";
/// curl's exit code for TFTP's error 1.
const TFTP_NOT_FOUND: u16 = 68;
const LIVE: &str = "http://10.77.0.9/live/debian.iso";

/// Vendor class, whether it says that it is iPXE, option 93.
type Asker = (&'static str, bool, Option<u16>);

/// IANA's architectures of firmware that exists: BIOS, IA32, both numbers of x64, arm32, arm64; then over HTTP.
const PXE: [Option<u16>; 7] = [None, Some(0), Some(6), Some(7), Some(9), Some(10), Some(11)];
const HTTP: [Option<u16>; 5] = [Some(15), Some(16), Some(18), Some(19), Some(20)];

fn askers() -> Vec<Asker> {
    let firmware = PXE.into_iter().map(|arch| ("PXEClient", false, arch));
    let ipxe = PXE.into_iter().map(|arch| ("PXEClient", true, arch));
    firmware.chain(ipxe).chain(HTTP.into_iter().map(|arch| ("HTTPClient", false, arch))).collect()
}

#[test]
fn whatever_is_advertised_is_served() {
    inside("contract::whatever_is_advertised_is_served", async |artefacts| {
        let folder = tempfile::tempdir().unwrap();
        let host = OneHost::new(BootTarget::Nothing);
        let mut config = config_v6(artefacts);
        let (arm64, bios) = (as_arm64(&artefacts.ipxe_efi), Bytes::from(vec![0xea; 70_000]));
        let own = Ipxe { bios: Some(bios.clone()), arm64: Some(arm64.clone()), ..config.ipxe.clone() };
        config.ipxe = own;
        config.media = Media {
            uki: Some(uki(artefacts, folder.path())),
            iso: Some(iso(folder.path())),
            arm64: Some(Ramdisk { kernel: ARM64.into(), initrd: ARM64.into(), ..Ramdisk::default() }),
        };
        let cancel = CancellationToken::new();
        let server = BootServer::start(config, host.clone(), cancel.clone()).await.unwrap();
        let client = Neighbour::join("client", "10.77.0.160/24");
        client.ip(&["addr", "add", "fd77::9/64", "dev", "eth0", "nodad"]);
        let dhcp = Dhcp::of(&client);
        let served = Served { artefacts, bios, arm64, client: &client };
        let targets = [
            BootTarget::Nothing,
            BootTarget::Ramdisk { boot_id: BOOT },
            BootTarget::Discover { boot_id: BOOT },
            BootTarget::LocalDisk,
            BootTarget::LiveIso { boot_id: BOOT, url: LIVE.to_owned() },
            BootTarget::PowerOff,
        ];
        let mut told = BTreeMap::<String, BTreeSet<String>>::new();
        let mut tell = |target: &BootTarget, asker: Asker, name: Option<String>| {
            println!("{target:?} {asker:?}: {name:?}");
            name.map(|name| told.entry(name).or_default().insert(format!("{target:?} {asker:?}")));
        };
        for target in &targets {
            *host.target.lock().unwrap() = target.clone();
            // One asker is enough to hear nothing.
            let asked = if *target == BootTarget::Nothing { 1 } else { usize::MAX };
            for asker in askers().into_iter().take(asked) {
                // The server's tasks run on another thread meanwhile.
                tell(target, asker, tokio::task::block_in_place(|| dhcp.boot_file(asker)));
                if matches!(asker.2, Some(7 | 16)) {
                    tell(target, asker, tokio::task::block_in_place(|| dhcp.boot_file_v6(asker)));
                }
            }
        }
        // By media only, which this boot is not: the contract of the ISO is in the sources' tests.
        let iso = server.iso_urls(BOOT).remove(0);
        assert_eq!(served.get(&iso).0, 404);
        let mut named = BTreeSet::new();
        for (name, askers) in told.iter().filter(|(name, _)| *name != LIVE) {
            tokio::task::block_in_place(|| served.check(name, &mut named))
                .unwrap_or_else(|why| panic!("{why}: {askers:?}"));
        }
        println!("named by scripts: {named:#?}");
        let all: BTreeSet<&str> = told.keys().chain(&named).map(|name| last(name)).collect();
        let expected = BTreeSet::from([
            "boot-arm64.ipxe",
            "boot-from-disk",
            "boot-from-disk.efi",
            "boot.efi",
            "boot.ipxe",
            "debian.iso",
            "hold.ipxe",
            "initrd",
            "initrd-arm64",
            "ipxe-arm64.efi",
            "ipxe.efi",
            "kernel",
            "kernel-arm64",
            "local.ipxe",
            "undionly.kpxe",
        ]);
        let missing: Vec<_> = expected.iter().filter(|name| !all.contains(*name)).collect();
        assert!(missing.is_empty(), "nobody was told {missing:?}");
        for root in ["tftp://[fd77::1]/", "http://[fd77::1]:8080/b/"] {
            assert!(told.keys().any(|name| name.starts_with(root)), "{root}");
        }
        cancel.cancel();
        server.stopped().await;
        server_beside(artefacts, host.clone(), &dhcp, &served).await;
    });
}

/// The same names where another server gives the addresses: they are still of this one.
async fn server_beside(artefacts: &Artefacts, host: std::sync::Arc<OneHost>, dhcp: &Dhcp, served: &Served<'_>) {
    let mut config = config(artefacts);
    for subnet in &mut config.subnets {
        (subnet.mode, subnet.pool) = (Mode::Proxy, None);
    }
    config.ipxe.bios = Some(served.bios.clone());
    let _server = BootServer::start(config, host.clone(), CancellationToken::new()).await.unwrap();
    let mut named = BTreeSet::new();
    for target in [BootTarget::Ramdisk { boot_id: BOOT }, BootTarget::LocalDisk, BootTarget::PowerOff] {
        *host.target.lock().unwrap() = target.clone();
        for asker in [
            ("PXEClient", false, Some(0)),
            ("PXEClient", false, Some(7)),
            ("PXEClient", true, Some(7)),
            ("HTTPClient", false, Some(16)),
        ] {
            let name = tokio::task::block_in_place(|| dhcp.boot_file(asker));
            println!("beside another server: {target:?} {asker:?}: {name:?}");
            let name = name.unwrap_or_else(|| panic!("{target:?} {asker:?} was told nothing"));
            tokio::task::block_in_place(|| served.check(&name, &mut named)).unwrap();
        }
    }
}

/// `curl` with what firmware and image writers do: sizes, parts, many requests on one connection, both protocols.
#[test]
fn curl_fetches_by_http() {
    inside("contract::curl_fetches_by_http", async |artefacts| {
        let host = OneHost::new(BootTarget::Ramdisk { boot_id: BOOT });
        let mut config = config(artefacts);
        config.interfaces[0].v6.address = Some("fd77::1".parse().unwrap());
        let _server = BootServer::start(config, host, CancellationToken::new()).await.unwrap();
        let client = Neighbour::join("client", "10.77.0.160/24");
        client.ip(&["addr", "add", "fd77::9/64", "dev", "eth0", "nodad"]);
        let curl = |args: &[&str]| {
            let output = tokio::task::block_in_place(|| client.command("curl").args(["-sS"]).args(args).output());
            let output = output.unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            output.stdout
        };
        for root in ["http://10.77.0.1:8080", "http://[fd77::1]:8080"] {
            let url = |file: &str| format!("{root}/b/{BOOT}/{file}");
            let kernel = curl(&[&url("kernel")]);
            assert!(kernel == artefacts.kernel);
            assert!(curl(&["-r", "1000-1999", &url("kernel")]) == kernel[1000..2000]);
            assert!(curl(&["-r", "-7", &url("kernel")]) == kernel[kernel.len() - 7..]);
            let head = String::from_utf8(curl(&["-I", &url("kernel")])).unwrap();
            assert!(head.contains(&format!("Content-Length: {}\r\n", kernel.len())), "{head}");
            assert!(!head.contains("Transfer-Encoding"), "{head}");
            // A script is never refused: firmware would go on to the disk.
            let gone = |file: &str| format!("{root}/b/{}/{file}", BootId(BOOT.0 + 1));
            let held = String::from_utf8(curl(&["-f", &gone("boot.ipxe")])).unwrap();
            assert!(held.contains("not served, asking again\n") && !held.contains("/b/"), "{held}");
            assert_eq!(curl(&["-o", "/dev/null", "-w", "%{http_code}", &gone("kernel")]), b"404");
            // Scripts name the address that was asked.
            let script = String::from_utf8(curl(&[&url("boot.ipxe")])).unwrap();
            assert!(script.contains(&format!("kernel {root}/b/")), "{script}");
            // One connection for all of them.
            let said = curl(&[
                "-w",
                "%{num_connects}\n",
                "-o",
                "/dev/null",
                "-o",
                "/dev/null",
                "-o",
                "/dev/null",
                &url("kernel"),
                &url("boot.ipxe"),
                &url("initrd"),
            ]);
            assert_eq!(String::from_utf8(said).unwrap(), "1\n0\n0\n");
            // A download that was cut goes on where it was.
            let partial = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(partial.path(), &kernel[..5000]).unwrap();
            curl(&["-C", "-", "-o", &partial.path().display().to_string(), &url("kernel")]);
            assert!(std::fs::read(partial.path()).unwrap() == kernel);
        }
    });
}

/// What the files should be.
struct Served<'a> {
    artefacts: &'a Artefacts,
    bios: Bytes,
    arm64: Bytes,
    client: &'a Neighbour,
}

impl Served<'_> {
    /// Fetches what is called `name`, and whatever it names itself.
    fn check(&self, name: &str, named: &mut BTreeSet<String>) -> Result<(), String> {
        let url = if name.contains("://") { name.to_owned() } else { format!("tftp://{ADDRESS}/{name}") };
        let (status, content_type, body) = self.get(&url);
        if last(name).starts_with("boot-from-disk") {
            // Any other status may be a server that does not answer.
            let is_refused = if url.starts_with("http") { status == 404 } else { status == TFTP_NOT_FOUND };
            return if is_refused { Ok(()) } else { Err(format!("{name} must not exist: {status}")) };
        }
        if status != 200 {
            return Err(format!("{name}: status {status}"));
        }
        let artefacts = self.artefacts;
        let (right, expected_type) = match last(name) {
            "ipxe.efi" => (body == artefacts.ipxe_efi, "application/efi"),
            "ipxe-arm64.efi" => (body == self.arm64, "application/efi"),
            "undionly.kpxe" => (body == self.bios, "application/octet-stream"),
            "boot.efi" => (has(&body, b"070701") && has(&body, MARKER.as_bytes()), "application/efi"),
            "kernel" => (body == artefacts.kernel, "application/octet-stream"),
            "kernel-arm64" => (body == ARM64.as_bytes(), "application/octet-stream"),
            "initrd-arm64" => {
                (body.starts_with(ARM64.as_bytes()) && has(&body, MARKER.as_bytes()), "application/octet-stream")
            }
            "initrd" => {
                let right = body.starts_with(&artefacts.ramdisk) && has(&body, MARKER.as_bytes());
                (right, "application/octet-stream")
            }
            script if script.ends_with(".ipxe") => {
                let text = String::from_utf8(body).map_err(|error| error.to_string())?;
                // The live system is somebody else's.
                let urls = text.split_whitespace().filter(|word| word.contains("://") && *word != LIVE);
                for url in urls {
                    named.insert(url.to_owned());
                    self.check(url, named)?;
                }
                // What holds a host whose boot is refused is a script, too.
                let is_held = last(name).starts_with("boot") && !text.contains("\nkernel http");
                (text.starts_with("#!ipxe\n") && !is_held, "text/plain; charset=utf-8")
            }
            other => return Err(format!("{other} is a name that this test does not know")),
        };
        if !right {
            return Err(format!("{name} has a wrong content"));
        }
        if url.starts_with("http") && content_type != expected_type {
            return Err(format!("{name} is said to be {content_type}"));
        }
        Ok(())
    }

    /// Status (200 for a whole TFTP transfer, else curl's exit code), type and content; the length is what was announced.
    fn get(&self, url: &str) -> (u16, String, Vec<u8>) {
        let mut curl = self.client.command("curl");
        let output = curl.args(["-sS", "-w", "\n%{http_code} %{content_type}", url]).output().unwrap();
        let end = output.stdout.iter().rposition(|octet| *octet == b'\n').unwrap();
        let about = String::from_utf8_lossy(&output.stdout[end + 1..]).into_owned();
        let (code, content_type) = about.split_once(' ').unwrap();
        let status = match code {
            "000" => output.status.code().filter(|code| *code != 0).map_or(200, |code| code.try_into().unwrap()),
            code => code.parse().unwrap(),
        };
        // 18: shorter than announced.
        assert_ne!(output.status.code(), Some(18), "{url}");
        (status, content_type.to_owned(), output.stdout[..end].to_vec())
    }
}

/// Longer than the server ever takes, also on a busy machine.
const SILENCE: Duration = Duration::from_millis(400);

static IDS: AtomicU32 = AtomicU32::new(0xbe55_0000);

/// A DHCP client's sockets in the neighbour's namespace.
struct Dhcp {
    v4: UdpSocket,
    v6: UdpSocket,
    interface: u32,
}

impl Dhcp {
    fn of(client: &Neighbour) -> Self {
        let namespace = File::open(format!("/run/netns/{}", client.namespace())).unwrap();
        let sockets = std::thread::spawn(move || {
            // This thread ends here: nothing else gets into that namespace.
            move_into_link_name_space(std::os::fd::AsFd::as_fd(&namespace), Some(LinkNameSpaceType::Network)).unwrap();
            let v4 = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 68)).unwrap();
            // There is no route for broadcasts.
            socket2::SockRef::from(&v4).bind_device(Some(b"eth0")).unwrap();
            let v6 = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 546)).unwrap();
            let interface = rustix::net::netdevice::name_to_index(&v6, "eth0").unwrap();
            (v4, v6, interface)
        });
        let (v4, v6, interface) = sockets.join().unwrap();
        v4.set_broadcast(true).unwrap();
        Self { v4, v6, interface }
    }

    /// The boot file of an offer; `None` for silence or an offer without one.
    fn boot_file(&self, (class, is_ipxe, arch): Asker) -> Option<String> {
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let mut packet = vec![1, 1, 6, 0];
        packet.extend(id.to_be_bytes());
        packet.extend([0, 0, 0x80, 0]);
        packet.resize(28, 0);
        packet.extend(MAC.0);
        packet.resize(236, 0);
        packet.extend([99, 130, 83, 99, 53, 1, 1, 60, u8::try_from(class.len()).unwrap()]);
        packet.extend(class.as_bytes());
        packet.extend([55, 6, 1, 3, 43, 60, 66, 67]);
        if let Some(arch) = arch {
            packet.extend([&[93, 2][..], &arch.to_be_bytes(), &[94, 3, 1, 3, 16]].concat());
        }
        if is_ipxe {
            packet.extend(b"\x4d\x04iPXE\xaf\x06\xb1\x04\x01\x80\x86\x10");
        }
        packet.push(255);
        packet.resize(packet.len().max(300), 0);
        self.v4.send_to(&packet, (Ipv4Addr::BROADCAST, 67)).unwrap();
        boot_file(&answer(&self.v4, |reply| reply[4..8] == id.to_be_bytes())?)
    }

    /// The boot URL of an advertisement.
    fn boot_file_v6(&self, (class, is_ipxe, arch): Asker) -> Option<String> {
        let id = IDS.fetch_add(1, Ordering::Relaxed) & 0x00ff_ffff;
        let mut message = (1 << 24 | id).to_be_bytes().to_vec();
        let mut option = |code: u16, value: &[u8]| {
            message.extend(code.to_be_bytes());
            message.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
            message.extend(value);
        };
        option(1, &[&[0, 3, 0, 1][..], &MAC.0].concat());
        option(3, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        option(6, &[0, 59, 0, 60]);
        let arch = arch.unwrap_or_default();
        let class = format!("{class}:Arch:{arch:05}:UNDI:003016");
        option(
            16,
            &[&343_u32.to_be_bytes()[..], &u16::try_from(class.len()).unwrap().to_be_bytes(), class.as_bytes()]
                .concat(),
        );
        option(61, &arch.to_be_bytes());
        if is_ipxe {
            option(15, b"\0\x04iPXE");
        }
        let servers = SocketAddrV6::new("ff02::1:2".parse().unwrap(), 547, 0, self.interface);
        self.v6.send_to(&message, servers).unwrap();
        let reply = answer(&self.v6, |reply| reply[1..4] == id.to_be_bytes()[1..])?;
        let mut options = &reply[4..];
        while let [code_high, code, high, low, rest @ ..] = options {
            let (value, rest) = rest.split_at(usize::from(*high) << 8 | usize::from(*low));
            if (*code_high, *code) == (0, 59) {
                return Some(String::from_utf8(value.to_vec()).unwrap());
            }
            options = rest;
        }
        None
    }
}

/// The first message that is the answer; `None` after a while without one.
fn answer(socket: &UdpSocket, is_it: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let deadline = Instant::now() + SILENCE;
    let mut reply = [0; 1500];
    loop {
        let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        socket.set_read_timeout(Some(left)).unwrap();
        let (len, _) = socket.recv_from(&mut reply).ok()?;
        if is_it(&reply[..len]) {
            return Some(reply[..len].to_vec());
        }
    }
}

/// Option 67, else the fixed field.
fn boot_file(reply: &[u8]) -> Option<String> {
    let mut options = &reply[240..];
    while let [code, rest @ ..] = options {
        match (code, rest) {
            (0, rest) => options = rest,
            (255, _) | (_, []) => break,
            (code, [len, rest @ ..]) => {
                let value = &rest[..usize::from(*len)];
                if *code == 67 {
                    return Some(String::from_utf8(value.to_vec()).unwrap().trim_end_matches('\0').to_owned());
                }
                options = &rest[usize::from(*len)..];
            }
        }
    }
    let file = reply[108..236].split(|octet| *octet == 0).next().unwrap();
    (!file.is_empty()).then(|| String::from_utf8(file.to_vec()).unwrap())
}

fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap()
}

fn has(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

/// The same program with another machine type: enough for a server, which does not run it.
fn as_arm64(program: &Bytes) -> Bytes {
    let mut program = program.to_vec();
    let pe = u32::from_le_bytes(program[0x3c..0x40].try_into().unwrap()) as usize;
    program[pe + 4..pe + 6].copy_from_slice(&0xaa64_u16.to_le_bytes());
    program.into()
}

/// A UKI of systemd's stub, the kernel and the ramdisk.
pub(crate) fn uki(artefacts: &Artefacts, folder: &Path) -> Bytes {
    std::fs::write(folder.join("cmdline"), "console=ttyS0 panic=-1").unwrap();
    let mut objcopy = Command::new("objcopy");
    for (name, content, address) in
        [("linux", &artefacts.kernel, "0x2000000"), ("initrd", &artefacts.ramdisk, "0x3000000")]
    {
        std::fs::write(folder.join(name), content).unwrap();
        objcopy.arg("--add-section").arg(format!(".{name}={}", folder.join(name).display()));
        objcopy.arg("--change-section-vma").arg(format!(".{name}={address}"));
    }
    objcopy.arg("--add-section").arg(format!(".cmdline={}", folder.join("cmdline").display()));
    objcopy.args(["--change-section-vma", ".cmdline=0x30000"]);
    assert!(objcopy.arg(STUB).arg(folder.join("uki")).status().unwrap().success());
    std::fs::read(folder.join("uki")).unwrap().into()
}

/// Enough of an ISO for a server, which does not boot it.
fn iso(folder: &Path) -> std::path::PathBuf {
    let mut octets = vec![0; 40 * 2048];
    octets[16 * 2048 + 1..16 * 2048 + 6].copy_from_slice(b"CD001");
    octets[20 * 2048..20 * 2048 + 32].copy_from_slice(&SLOT_MAGIC);
    octets[20 * 2048 + 32..20 * 2048 + 40].copy_from_slice(&4096_u64.to_le_bytes());
    std::fs::write(folder.join("boot.iso"), octets).unwrap();
    folder.join("boot.iso")
}
