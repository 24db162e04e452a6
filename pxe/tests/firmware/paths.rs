//! The ways from power-on to the ramdisk's init: one firmware, one way of addressing and one first program each.

use bessemer_pxe::{BootServer, Config, Mode, Pool, Reach, Subnet};
use tokio_util::sync::CancellationToken;

use crate::contract::uki;
use crate::host::{OneHost, config, ramdisk, serve};
use crate::machine::{Firmware, Machine};
use crate::network::{Neighbour, TAP, inside, ip};
use crate::{BOOT, MAC, MARKER};

/// What the test's init says once it runs, with the overlay that was served for this boot.
fn init() -> String {
    format!("INIT marker={MARKER}")
}

fn script() -> String {
    format!("http://10.77.0.1:8080/b/{BOOT}/boot.ipxe")
}

#[test]
fn bios_by_the_cards_ipxe() {
    inside("paths::bios_by_the_cards_ipxe", async |artefacts| {
        let host = OneHost::new(ramdisk());
        let _server = serve(artefacts, host.clone()).await;
        Machine::power_on(Firmware::BiosIpxeRom, None).expect(&init());
        assert_eq!(host.files(), [script().as_str(), "boot.ipxe", "kernel", "initrd"]);
    });
}

#[test]
fn uefi_pxe_by_tftp_to_ipxe() {
    inside("paths::uefi_pxe_by_tftp_to_ipxe", async |artefacts| {
        let host = OneHost::new(ramdisk());
        let _server = serve(artefacts, host.clone()).await;
        let mut machine = Machine::power_on(Firmware::Pxe, None);
        // The kernel prints its command line: iPXE has put in the card that it booted from.
        machine.expect(&format!("BOOTIF=01-{}", MAC.to_string().replace(':', "-")));
        machine.expect(&init());
        assert_eq!(host.files(), ["ipxe.efi", &script(), "boot.ipxe", "kernel", "initrd"]);
    });
}

#[test]
fn uefi_http_to_ipxe() {
    inside("paths::uefi_http_to_ipxe", async |artefacts| {
        let host = OneHost::new(ramdisk());
        let _server = serve(artefacts, host.clone()).await;
        Machine::power_on(Firmware::Http, None).expect(&init());
    });
}

#[test]
#[ignore = "half a minute of emulation"]
fn c116_a_card_without_dhcp_is_passed_over() {
    inside("paths::c116_a_card_without_dhcp_is_passed_over", async |artefacts| {
        let host = OneHost::new(ramdisk());
        let _server = serve(artefacts, host.clone()).await;
        let mut machine = Machine::power_on_with_a_dead_card(Firmware::BiosIpxeRom);
        // The one that booted is the one that is named to the kernel.
        machine.expect(&format!("BOOTIF=01-{}", MAC.to_string().replace(':', "-")));
        machine.expect(&init());
    });
}

/// Two requests in all: no iPXE, no TFTP, and the overlay within the image's own initrd.
#[test]
fn uefi_http_to_a_uki() {
    inside("paths::uefi_http_to_a_uki", async |artefacts| {
        let host = OneHost::new(ramdisk());
        let mut config = config(artefacts);
        let folder = tempfile::tempdir().unwrap();
        config.media.uki = Some(uki(artefacts, folder.path()));
        let _server = BootServer::start(config, host.clone(), CancellationToken::new()).await.unwrap();
        Machine::power_on(Firmware::Http, None).expect(&init());
        let url = format!("http://10.77.0.1:8080/b/{BOOT}/boot.efi");
        assert_eq!(host.files(), [&url, "boot.efi"]);
    });
}

#[test]
fn uefi_pxe_beside_a_dhcp_server_of_somebody_else() {
    inside("paths::uefi_pxe_beside_a_dhcp_server_of_somebody_else", async |artefacts| {
        let mut dnsmasq = Neighbour::join("dnsmasq", "10.77.0.2/24");
        let mut command = dnsmasq.command("dnsmasq");
        command.args([
            "--keep-in-foreground",
            "--port=0",
            "--interface=eth0",
            "--bind-interfaces",
            "--conf-file=/dev/null",
        ]);
        command.args(["--dhcp-range=10.77.0.50,10.77.0.60,255.255.255.0,10m", "--dhcp-leasefile=/dev/null"]);
        command.args(["--user=root", "--log-dhcp", "--log-facility=-", "--pid-file"]);
        dnsmasq.start(command);
        let host = OneHost::new(ramdisk());
        let mut config = config(artefacts);
        for subnet in &mut config.subnets {
            (subnet.mode, subnet.pool) = (Mode::Proxy, None);
        }
        let _server = BootServer::start(config, host.clone(), CancellationToken::new()).await.unwrap();
        Machine::power_on(Firmware::Pxe, None).expect(&init());
        assert!(host.leased().is_empty(), "addresses are the other server's");
    });
}

#[test]
fn uefi_pxe_through_a_relay() {
    inside("paths::uefi_pxe_through_a_relay", async |artefacts| {
        // The machine's own network is behind the relay's host, which routes.
        let mut relay = Neighbour::join("relay", "10.77.0.2/24");
        for args in [
            &["link", "add", "br1", "type", "bridge"][..],
            &["addr", "add", "10.78.0.1/24", "dev", "br1"],
            &["link", "set", "br1", "up"],
            &["tuntap", "add", "dev", TAP, "mode", "tap"],
            &["link", "set", TAP, "master", "br1", "up"],
        ] {
            relay.ip(args);
        }
        assert!(relay.command("sysctl").args(["-qw", "net.ipv4.ip_forward=1"]).status().unwrap().success());
        ip(&["route", "add", "10.78.0.0/24", "via", "10.77.0.2"]).unwrap();
        let mut command = relay.command("dhcrelay");
        command.args(["-4", "-d", "-a", "-id", "br1", "-iu", "eth0", "10.77.0.1"]);
        relay.start(command);
        let host = OneHost::new(ramdisk());
        let mut config: Config = config(artefacts);
        config.subnets.push(Subnet {
            pool: Some(Pool::new([10, 78, 0, 100].into(), [10, 78, 0, 200].into()).unwrap()),
            router: Some([10, 78, 0, 1].into()),
            ..Subnet::new("10.78.0.0/24".parse().unwrap(), Reach::Relayed)
        });
        let _server = BootServer::start(config, host.clone(), CancellationToken::new()).await.unwrap();
        Machine::power_on_at(&relay, Firmware::Pxe).expect(&init());
        let leased = host.leased();
        assert!(
            !leased.is_empty() && leased.iter().all(|address| address.to_string().starts_with("10.78.0.")),
            "{leased:?}"
        );
        assert_eq!(host.relays(), ["10.78.0.1".parse::<std::net::IpAddr>().unwrap()]);
    });
}
