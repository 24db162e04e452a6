//! `ipmitool -I lanplus`, in both suites: it drives the fake, and sees what the product's client sees.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use bessemer_fake_bmc::host::boot::{BootMode, Persistence};
use bessemer_fake_bmc::host::power::PowerState;
use bessemer_fake_bmc::ipmi::{Options, Server};
use ipmi_client::command::{BootDevice, GetBootFlags, GetChassisStatus, GetDeviceId, KeepBootFlagsValid};
use ipmi_client::{CipherSuite, Reading};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::{PASSWORD, SUITES, USER, client, output, start};

struct Ipmitool {
    port: u16,
    suite: u8,
}

impl Ipmitool {
    fn new(server: &Server, suite: &CipherSuite) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|dir: PathBuf| dir.join("ipmitool")).any(|path| path.is_file());
        if !found {
            eprintln!("SKIP ipmitool is not installed (Debian package ipmitool)");
            return None;
        }
        Some(Self { port: server.address().port(), suite: suite.id })
    }

    fn arguments(&self) -> Vec<String> {
        let (port, suite) = (self.port.to_string(), self.suite.to_string());
        ["-I", "lanplus", "-H", "127.0.0.1", "-p", &port, "-U", USER, "-P", PASSWORD, "-C", &suite]
            .map(str::to_owned)
            .to_vec()
    }

    async fn run(&self, arguments: &str) -> String {
        output(Command::new("ipmitool").args(self.arguments()).args(arguments.split(' '))).await
    }
}

macro_rules! tool_or_skip {
    ($server:expr, $suite:expr) => {
        match Ipmitool::new(&$server, $suite) {
            Some(tool) => tool,
            None => return,
        }
    };
}

/// The value behind `name   :` in a listing.
fn field<'a>(listing: &'a str, name: &str) -> Option<&'a str> {
    listing.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[tokio::test]
async fn power_and_identity() {
    for suite in SUITES {
        let (host, server) = start(Options::default()).await;
        let tool = tool_or_skip!(server, suite);
        let client = client(&server);
        assert_eq!(tool.run("chassis power status").await.trim(), "Chassis Power is off");
        tool.run("chassis power on").await;
        assert!(client.execute(&GetChassisStatus).await.unwrap().power_is_on);
        assert_eq!(tool.run("chassis power status").await.trim(), "Chassis Power is on");
        tool.run("chassis power cycle").await;
        tool.run("chassis power reset").await;
        assert_eq!(host.boots(), 3);
        tool.run("chassis power soft").await;
        assert_eq!(host.power(), PowerState::Off);
        tool.run("chassis identify force").await;
        assert!(host.identify());

        let info = tool.run("mc info").await;
        let id = client.execute(&GetDeviceId).await.unwrap();
        assert_eq!(field(&info, "Manufacturer ID"), Some(id.manufacturer.to_string().as_str()));
        let firmware = format!("{}.{:02}", id.firmware_major, id.firmware_minor);
        assert_eq!(field(&info, "Firmware Revision"), Some(firmware.as_str()));
        assert!(field(&info, "Product ID").unwrap().starts_with(&id.product.to_string()), "{info}");
        let lan = client.read_lan().await.unwrap().unwrap();
        let listing = tool.run("lan print 1").await;
        let mac: Vec<String> = lan.mac.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(field(&listing, "IP Address"), Some(lan.address.unwrap().to_string().as_str()), "{listing}");
        assert!(listing.to_lowercase().contains(&mac.join(":")), "{listing}");
        // It closes what it opens.
        client.execute(&GetDeviceId).await.unwrap();
        assert_eq!(server.open_sessions(), 1);
    }
}

#[tokio::test]
async fn boot_options_down_to_the_bits() {
    for suite in SUITES {
        let (host, server) = start(Options::default()).await;
        let tool = tool_or_skip!(server, suite);
        let client = client(&server);
        tool.run("chassis bootdev pxe options=efiboot,persistent").await;
        let flags = client.execute(&GetBootFlags).await.unwrap().flags;
        assert!(flags.valid && flags.persistent && flags.efi && flags.device == BootDevice::Pxe, "{flags:?}");
        let boot = host.boot_override();
        let seen = (boot.enabled, boot.target.as_str(), boot.mode);
        assert_eq!(seen, (Persistence::Continuous, "Pxe", BootMode::Uefi));
        let listing = tool.run("chassis bootparam get 5").await;
        for line in ["Boot Flag Valid", "all future boots", "BIOS EFI boot", "Force PXE"] {
            assert!(listing.contains(line), "{line}: {listing}");
        }
        tool.run("chassis bootdev cdrom").await;
        let flags = client.execute(&GetBootFlags).await.unwrap().flags;
        assert_eq!((flags.persistent, flags.efi, flags.device), (false, false, BootDevice::Optical));
        // What the product's client writes, ipmitool reads.
        client.execute(&KeepBootFlagsValid).await.unwrap();
        let keep = tool.run("chassis bootparam get 3").await;
        assert!(keep.contains("60 seconds") || keep.contains("timeout"), "{keep}");
        for number in [0, 1, 2, 4, 6, 7] {
            assert!(tool.run(&format!("chassis bootparam get {number}")).await.contains("Boot parameter version: 1"));
        }
        tool.run("chassis bootdev none").await;
        assert_eq!(host.boot_override().enabled, Persistence::Disabled);
    }
}

#[tokio::test]
async fn records_inventories_and_the_log() {
    for suite in SUITES {
        let (host, server) = start(Options::default()).await;
        let tool = tool_or_skip!(server, suite);
        let client = client(&server);
        tool.run("chassis power on").await;
        host.log().add("Critical", "a fan stopped");

        let listing = tool.run("sdr list full").await;
        let mut compared = 0;
        for sensor in client.read_sdr().await.unwrap().sensors {
            let value = client.read_sensor(&sensor).await.unwrap();
            let Reading::Value(ours) = value.reading else { continue };
            let line = listing.lines().find(|line| line.split('|').next().unwrap().trim() == sensor.name);
            let theirs = line.unwrap_or_else(|| panic!("{}: {listing}", sensor.name)).split('|').nth(1).unwrap();
            let number: f64 = theirs.split_whitespace().next().unwrap().parse().unwrap();
            // It shows a few digits, and rounds its own way.
            assert!((number - ours).abs() <= ours.abs() / 200.0, "{}: {theirs}, {ours}", sensor.name);
            compared += 1;
        }
        assert_eq!(compared, 5);
        let rail = tool.run("sensor get 12V").await;
        assert_eq!(field(&rail, "Lower Critical"), Some("11.025"), "{rail}");
        assert_eq!(field(&rail, "Upper Non-Critical"), Some("12.600"), "{rail}");

        let fru = tool.run("fru print 0").await;
        let ours = client.read_fru(0).await.unwrap();
        let (product, board) = (ours.product.unwrap(), ours.board.unwrap());
        assert_eq!(field(&fru, "Product Serial"), product.serial.as_deref(), "{fru}");
        assert_eq!(field(&fru, "Product Name"), product.name.as_deref());
        assert_eq!(field(&fru, "Product Asset Tag"), product.asset_tag.as_deref());
        assert_eq!(field(&fru, "Board Part Number"), board.part_number.as_deref());
        assert!(fru.contains("Thu Feb  1") && board.made == Some(Duration::from_secs(1_706_774_400)), "{fru}");
        assert!(tool.run("fru print 1").await.contains("PSU-0001"));

        let log = tool.run("sel list").await;
        let page = client.read_sel(None, 100).await.unwrap();
        assert_eq!(log.lines().count(), page.entries.len(), "{log}");
        assert_eq!(page.entries.len(), host.log().entries().len());
        let count = page.entries.len().to_string();
        assert_eq!(field(&tool.run("sel info").await, "Entries"), Some(count.as_str()));
    }
}

#[tokio::test]
async fn the_serial_console() {
    for suite in SUITES {
        let (_host, server) = start(Options::default()).await;
        let tool = tool_or_skip!(server, suite);
        // It wants a terminal; `script` is one.
        let line = format!("ipmitool {} sol activate", tool.arguments().join(" "));
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (mut input, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        wait_for(&mut screen, "SOL Session operational").await;
        // Echoed by the fake alone: the terminal is in raw mode by then.
        input.write_all(b"boot the right disk\r").await.unwrap();
        wait_for(&mut screen, "boot the right disk").await;
        input.write_all(b"~.").await.unwrap();
        wait_for(&mut screen, "terminated ipmitool").await;
        timeout(Duration::from_secs(20), child.wait()).await.expect("in time").unwrap();
        let client = client(&server);
        client.console(false).await.expect("free again").close().await;
    }
}

async fn wait_for(screen: &mut (impl AsyncReadExt + Unpin), text: &str) {
    let mut seen = String::new();
    let wait = async {
        let mut buffer = [0; 256];
        while !seen.contains(text) {
            let count = screen.read(&mut buffer).await.unwrap();
            assert!(count > 0, "the screen ended without {text:?}: {seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    };
    let in_time = timeout(Duration::from_secs(20), wait).await.is_ok();
    assert!(in_time, "no {text:?} on the screen: {seen}");
}

#[tokio::test]
async fn a_wrong_password_and_a_refused_suite() {
    let (_host, server) = start(Options { suites: vec![17], ..Options::default() }).await;
    let tool = tool_or_skip!(server, &ipmi_client::SUITE_3);
    for (password, suite) in [("wrong", "17"), (PASSWORD, "3"), (PASSWORD, "0")] {
        let port = tool.port.to_string();
        let common = ["-I", "lanplus", "-H", "127.0.0.1", "-p", &port, "-U", USER, "-P", password, "-C", suite];
        let run = Command::new("ipmitool").args(common).args(["-R", "1", "-N", "1", "mc", "info"]).output().await;
        let run = run.unwrap();
        assert!(!run.status.success() && run.stdout.is_empty(), "{password} {suite}");
    }
    assert_eq!(server.sessions_opened(), 0);
}
