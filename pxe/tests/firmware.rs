//! Real firmware boots from this crate: OVMF in QEMU, behind a tap in a network namespace of its own. Real clients of
//! installed systems are served too.
//!
//! The two ways that a host takes from bare to installed run by default; the others are minutes of emulation and run
//! with `--ignored`.
//!
//! Needs root, QEMU, OVMF, iPXE and Debian's archive (a kernel and busybox are taken from it once, into
//! `$BESSEMER_TEST_CACHE`, by default `~/.cache/bessemer/test`); without them it says `SKIP` and why. Each scenario runs
//! this test program again inside the namespace.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "firmware/artefacts.rs"]
mod artefacts;
#[path = "firmware/machine.rs"]
mod machine;
#[path = "firmware/network.rs"]
mod network;

use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bessemer_pxe::{
    Answer, BootFiles, BootId, BootServer, BootTarget, ClientIdentity, Config, DirectoryError, Error, Exchange,
    HostDirectory, Interface, Ipxe, Lease, MacAddr, Overlay, OverlayFile, Pool, Protocol, Ramdisk, Reach, Subnet,
    TftpLimits,
};
use tokio_util::sync::CancellationToken;

use artefacts::Artefacts;
use machine::{Firmware, Machine};

const MAC: MacAddr = MacAddr([0x52, 0x54, 0, 0, 0, 1]);
const BOOT: BootId = BootId(0x5eed_0000_0000_0000_0000_0000_0000_0001);
const MARKER: &str = "overlay-of-this-boot";

/// One host, one boot.
struct OneHost {
    target: Mutex<BootTarget>,
    /// Questions for the overlay that are answered "no such boot" before it is there.
    refusals: AtomicUsize,
    events: Mutex<Vec<Exchange>>,
}

impl OneHost {
    fn new(target: BootTarget) -> Arc<Self> {
        Arc::new(Self { target: Mutex::new(target), refusals: AtomicUsize::new(0), events: Mutex::default() })
    }

    fn files(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let name = |event: &Exchange| match &event.answer {
            Answer::Confirmed { boot_file, .. } => boot_file.clone(),
            Answer::Sent { .. } if event.protocol == Protocol::Http => Some(event.asked.clone().into_owned()),
            _ => None,
        };
        events.iter().filter_map(name).collect()
    }
}

#[async_trait::async_trait]
impl HostDirectory for OneHost {
    async fn boot_target(&self, _: &ClientIdentity) -> Result<BootTarget, DirectoryError> {
        Ok(self.target.lock().unwrap().clone())
    }

    async fn lease(
        &self,
        who: &ClientIdentity,
        subnet: &Subnet,
        _: Option<Ipv4Addr>,
    ) -> Result<Option<Lease>, DirectoryError> {
        let address = || subnet.pool.as_ref().unwrap().pick(MAC, &Default::default()).unwrap();
        Ok((who.mac() == Some(MAC)).then(|| Lease { address: address() }))
    }

    async fn overlay(&self, boot_id: &BootId) -> Result<BootFiles, DirectoryError> {
        let refused =
            self.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if refused || *boot_id != BOOT {
            return Ok(BootFiles::Unknown);
        }
        let marker = OverlayFile { path: "etc/bessemer/marker".into(), mode: 0o600, content: MARKER.into() };
        Ok(BootFiles::Ready(Overlay { files: vec![marker], addresses: vec![] }))
    }

    fn observed(&self, exchange: &Exchange) {
        self.events.lock().unwrap().push(exchange.clone());
    }
}

async fn serve(artefacts: &Artefacts, directory: Arc<OneHost>) -> BootServer {
    start(artefacts, directory, CancellationToken::new()).await.unwrap()
}

async fn start(artefacts: &Artefacts, directory: Arc<OneHost>, cancel: CancellationToken) -> Result<BootServer, Error> {
    let pool = Pool::new(Ipv4Addr::new(10, 77, 0, 100), Ipv4Addr::new(10, 77, 0, 200)).unwrap();
    let subnet = Subnet {
        pool: Some(pool),
        lease_time: Duration::from_secs(600),
        ..Subnet::new("10.77.0.0/24".parse().unwrap(), Reach::OnLink(network::BRIDGE.into()))
    };
    let mut interface = Interface::new(network::BRIDGE, network::ADDRESS);
    interface.v6.answer_router_solicitations = true;
    let config = Config {
        interfaces: vec![interface],
        subnets: vec![subnet],
        http_port: 8080,
        tftp: TftpLimits::default(),
        ipxe: Ipxe { x64: artefacts.ipxe_efi.clone(), ..Ipxe::default() },
        ramdisk: Ramdisk {
            kernel: artefacts.kernel.clone(),
            initrd: artefacts.ramdisk.clone(),
            kernel_args: "console=ttyS0 panic=-1".into(),
        },
        images_dir: None,
    };
    BootServer::start(config, directory, cancel).await
}

fn ramdisk() -> BootTarget {
    BootTarget::Ramdisk { boot_id: BOOT }
}

#[test]
fn uefi_pxe_reaches_the_ramdisk_with_its_overlay() {
    network::inside("uefi_pxe_reaches_the_ramdisk_with_its_overlay", async |artefacts| {
        let host = OneHost::new(ramdisk());
        let _server = serve(artefacts, host.clone()).await;
        let mut machine = Machine::power_on(artefacts, Firmware::Pxe, None);
        // The kernel prints its command line: iPXE has put in the card that it booted from.
        machine.expect(&format!("BOOTIF=01-{}", MAC.to_string().replace(':', "-")));
        machine.expect(&format!("INIT marker={MARKER}"));
        let script = format!("http://10.77.0.1:8080/b/{BOOT}/boot.ipxe");
        assert_eq!(host.files(), ["ipxe.efi", &script, "boot.ipxe", "kernel", "initrd"]);
    });
}

#[test]
#[ignore = "half a minute of emulation"]
fn uefi_http_boot_reaches_the_ramdisk() {
    network::inside("uefi_http_boot_reaches_the_ramdisk", async |artefacts| {
        let _server = serve(artefacts, OneHost::new(ramdisk())).await;
        Machine::power_on(artefacts, Firmware::Http, None).expect(&format!("INIT marker={MARKER}"));
    });
}

#[test]
#[ignore = "half a minute of emulation"]
fn a_boot_that_is_not_there_yet_is_asked_for_again() {
    network::inside("a_boot_that_is_not_there_yet_is_asked_for_again", async |artefacts| {
        let host = OneHost::new(ramdisk());
        let _server = serve(artefacts, host.clone()).await;
        let mut machine = Machine::power_on(artefacts, Firmware::Pxe, None);
        machine.expect("bessemer: boot");
        host.refusals.store(1, Ordering::SeqCst);
        machine.expect(&format!("INIT marker={MARKER}"));
    });
}

#[test]
#[ignore = "half a minute of emulation"]
fn a_host_held_in_ipxe_boots_when_its_target_changes() {
    network::inside("a_host_held_in_ipxe_boots_when_its_target_changes", async |artefacts| {
        let host = OneHost::new(BootTarget::PowerOff);
        let _server = serve(artefacts, host.clone()).await;
        let mut machine = Machine::power_on(artefacts, Firmware::Pxe, Some(&artefacts.disk));
        machine.expect("this host should be off");
        *host.target.lock().unwrap() = ramdisk();
        machine.expect(&format!("INIT marker={MARKER}"));
    });
}

#[test]
fn uefi_pxe_goes_on_to_the_local_disk() {
    network::inside("uefi_pxe_goes_on_to_the_local_disk", async |artefacts| {
        let _server = serve(artefacts, OneHost::new(BootTarget::LocalDisk)).await;
        Machine::power_on(artefacts, Firmware::Pxe, Some(&artefacts.disk)).expect("INIT from=disk");
    });
}

#[test]
#[ignore = "half a minute of emulation"]
fn ipxe_in_the_network_card_goes_on_to_the_local_disk() {
    network::inside("ipxe_in_the_network_card_goes_on_to_the_local_disk", async |artefacts| {
        let _server = serve(artefacts, OneHost::new(BootTarget::LocalDisk)).await;
        Machine::power_on(artefacts, Firmware::IpxeRom, Some(&artefacts.disk)).expect("INIT from=disk");
    });
}

#[test]
#[ignore = "half a minute of emulation"]
fn uefi_http_boot_goes_on_to_the_local_disk() {
    network::inside("uefi_http_boot_goes_on_to_the_local_disk", async |artefacts| {
        let _server = serve(artefacts, OneHost::new(BootTarget::LocalDisk)).await;
        Machine::power_on(artefacts, Firmware::Http, Some(&artefacts.disk)).expect("INIT from=disk");
    });
}

#[test]
fn an_installed_system_gets_its_lease_and_a_stranger_gets_none() {
    network::inside("an_installed_system_gets_its_lease_and_a_stranger_gets_none", async |artefacts| {
        let host = OneHost::new(BootTarget::LocalDisk);
        let _server = serve(artefacts, host.clone()).await;
        network::add_wire("client0", "wire0");
        let script =
            r#"[ "$1" = bound ] && echo "$ip/$mask lease=$lease server=$serverid file=${boot_file:-none}"; true"#;
        let hook = tempfile::Builder::new().permissions(std::fs::Permissions::from_mode(0o755)).tempfile().unwrap();
        std::fs::write(hook.path(), format!("#!/bin/sh\n{script}\n")).unwrap();
        let hook = hook.into_temp_path();
        let ask = |mac: &str| {
            network::ip(&["link", "set", "client0", "address", mac]).unwrap();
            let mut client = std::process::Command::new(&artefacts.busybox);
            client.args(["udhcpc", "-i", "client0", "-f", "-q", "-n", "-t", "3", "-T", "1", "-s"]).arg(&hook);
            let output = client.output().unwrap();
            (output.status.success(), String::from_utf8(output.stdout).unwrap())
        };
        let expected = "10.77.0.160/24 lease=600 server=10.77.0.1 file=none\n";
        assert_eq!(ask(&MAC.to_string()), (true, expected.to_owned()));
        assert_eq!(ask("52:54:00:00:00:02"), (false, String::new()));
    });
}

#[test]
fn curl_fetches_by_tftp() {
    network::inside("curl_fetches_by_tftp", async |artefacts| {
        let _server = serve(artefacts, OneHost::new(BootTarget::LocalDisk)).await;
        for options in [&["--tftp-no-options"][..], &["--tftp-blksize", "1024"], &["--tftp-blksize", "8192"]] {
            let output =
                std::process::Command::new("curl").arg("-sS").args(options).arg("tftp://10.77.0.1/ipxe.efi").output();
            assert!(output.unwrap().stdout == artefacts.ipxe_efi, "{options:?}");
        }
        let none = std::process::Command::new("curl").args(["-sS", "tftp://10.77.0.1/etc/passwd"]).output().unwrap();
        assert!(!none.status.success() && none.stdout.is_empty(), "{none:?}");
    });
}

#[test]
fn a_second_server_is_told_which_port_is_taken_and_a_cancelled_one_frees_it() {
    network::inside("a_second_server_is_told_which_port_is_taken_and_a_cancelled_one_frees_it", async |artefacts| {
        let host = OneHost::new(BootTarget::LocalDisk);
        let cancel = CancellationToken::new();
        let server = start(artefacts, host.clone(), cancel.clone()).await.unwrap();
        let error = start(artefacts, host.clone(), cancel.clone()).await.unwrap_err();
        let said = "DHCP cannot listen on UDP 0.0.0.0:67 of br0: the port is taken; stop the other DHCP server \
                        (`ss -lpn sport = :67` names it) or choose another interface";
        assert_eq!(error.to_string(), said);
        cancel.cancel();
        tokio::time::timeout(Duration::from_secs(5), server.stopped()).await.unwrap();
        start(artefacts, host, CancellationToken::new()).await.unwrap();
    });
}
