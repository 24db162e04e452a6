//! The ways to the ramdisk over IPv6 alone: no DHCPv4 is answered.

use bessemer_pxe::{BootServer, Mode};
use tokio_util::sync::CancellationToken;

use crate::artefacts::Artefacts;
use crate::host::{OneHost, config_v6, ramdisk};
use crate::machine::{Firmware, Machine};
use crate::network::inside;
use crate::{BOOT, MARKER};

async fn boots(artefacts: &Artefacts, firmware: Firmware, first: &str) {
    let host = OneHost::new(ramdisk());
    let mut config = config_v6(artefacts);
    config.subnets[0].mode = Mode::Off;
    let _server = BootServer::start(config, host.clone(), CancellationToken::new()).await.unwrap();
    Machine::power_on(firmware, None).expect(&format!("INIT marker={MARKER}"));
    let files = host.files();
    assert_eq!(files.first().map(String::as_str), Some(first), "{files:?}");
    assert!(files.contains(&format!("http://[fd77::1]:8080/b/{BOOT}/boot.ipxe")), "{files:?}");
}

#[test]
fn uefi_pxe_over_ipv6_boots_the_ramdisk() {
    inside("paths_v6::uefi_pxe_over_ipv6_boots_the_ramdisk", async |artefacts| {
        boots(artefacts, Firmware::PxeIpv6, "tftp://[fd77::1]/ipxe.efi").await;
    });
}

#[test]
fn uefi_http_boot_over_ipv6_boots_the_ramdisk() {
    inside("paths_v6::uefi_http_boot_over_ipv6_boots_the_ramdisk", async |artefacts| {
        boots(artefacts, Firmware::HttpIpv6, "http://[fd77::1]:8080/ipxe.efi").await;
    });
}
