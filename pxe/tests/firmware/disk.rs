//! Machines that shall not boot the ramdisk now: they go on to their disk, or wait.

use std::sync::atomic::Ordering;

use bessemer_pxe::BootTarget;

use crate::MARKER;
use crate::host::{OneHost, ramdisk, serve};
use crate::machine::{Firmware, Machine};
use crate::network::inside;

#[test]
#[ignore = "half a minute of emulation"]
fn a_boot_that_is_not_there_yet_is_asked_for_again() {
    inside("disk::a_boot_that_is_not_there_yet_is_asked_for_again", async |artefacts| {
        let host = OneHost::new(ramdisk());
        let _server = serve(artefacts, host.clone()).await;
        // First the script itself is refused, in place of which the disk must not be booted; then what the script names.
        host.refusals.store(1, Ordering::SeqCst);
        let mut machine = Machine::power_on(Firmware::Pxe, Some(&artefacts.disk));
        machine.expect("this boot is not served, asking again");
        machine.expect("bessemer: boot");
        host.refusals.store(1, Ordering::SeqCst);
        machine.expect(&format!("INIT marker={MARKER}"));
    });
}

#[test]
#[ignore = "half a minute of emulation"]
fn a_host_held_in_ipxe_boots_when_its_target_changes() {
    inside("disk::a_host_held_in_ipxe_boots_when_its_target_changes", async |artefacts| {
        let host = OneHost::new(BootTarget::PowerOff);
        let _server = serve(artefacts, host.clone()).await;
        let mut machine = Machine::power_on(Firmware::Pxe, Some(&artefacts.disk));
        machine.expect("this host should be off");
        *host.target.lock().unwrap() = ramdisk();
        machine.expect(&format!("INIT marker={MARKER}"));
    });
}

#[test]
fn uefi_pxe_goes_on_to_the_local_disk() {
    inside("disk::uefi_pxe_goes_on_to_the_local_disk", async |artefacts| {
        let _server = serve(artefacts, OneHost::new(BootTarget::LocalDisk)).await;
        Machine::power_on(Firmware::Pxe, Some(&artefacts.disk)).expect("INIT from=disk");
    });
}

#[test]
#[ignore = "half a minute of emulation"]
fn ipxe_in_the_network_card_goes_on_to_the_local_disk() {
    inside("disk::ipxe_in_the_network_card_goes_on_to_the_local_disk", async |artefacts| {
        let _server = serve(artefacts, OneHost::new(BootTarget::LocalDisk)).await;
        Machine::power_on(Firmware::UefiIpxeRom, Some(&artefacts.disk)).expect("INIT from=disk");
    });
}

#[test]
#[ignore = "half a minute of emulation"]
fn uefi_http_boot_goes_on_to_the_local_disk() {
    inside("disk::uefi_http_boot_goes_on_to_the_local_disk", async |artefacts| {
        let _server = serve(artefacts, OneHost::new(BootTarget::LocalDisk)).await;
        Machine::power_on(Firmware::Http, Some(&artefacts.disk)).expect("INIT from=disk");
    });
}
