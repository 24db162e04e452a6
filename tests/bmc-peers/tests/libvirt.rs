//! One virtual machine of libvirt's behind two BMCs of others at once: Redfish by sushy-tools, IPMI by virtualbmc.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use bessemer_bmc::{BootDevice, MediaKind, Medium, PowerAction, PowerState};
use bessemer_bmc_peers::{Boot, Libvirt, Machine, Switch, libvirt_cannot_run, peers};
use common::{bmc, once, switch};

#[macro_use]
mod common;

#[tokio::test(flavor = "multi_thread")]
async fn a_virtual_machine_boots_what_is_asked_by_redfish_and_by_ipmi() {
    if let Some(why) = peers().err().or_else(libvirt_cannot_run) {
        println!("SKIP {why}");
        return;
    }
    let libvirt = Libvirt::start().unwrap();
    let (_sushy, port) = libvirt.sushy().unwrap();
    let redfish = bmc(&format!("redfish+http://127.0.0.1:{port}/redfish/v1/Systems/{}", Libvirt::UUID));
    let (_virtualbmc, port) = libvirt.virtualbmc().unwrap();
    let ipmi = bmc(&format!("ipmi://127.0.0.1:{port}"));
    // serves the CD only
    let files = Switch::start(&Machine::new().unwrap()).await.unwrap();

    let identity = redfish.identify().await.unwrap();
    say!("{identity:?}");
    assert_eq!((identity.uuid.as_deref(), identity.power), (Some(Libvirt::UUID), Some(PowerState::Off)));
    assert_eq!(identity.macs, [Libvirt::MAC.parse().unwrap()], "{identity:?}");

    // over IPMI: the network
    say!("pxe: {:?}", ipmi.set_boot_override(&once(BootDevice::Pxe)).await.unwrap());
    let before = libvirt.boots();
    switch(&*ipmi, PowerAction::On, PowerState::On).await;
    assert_eq!(libvirt.next_boot(before).await.unwrap(), Boot::Pxe);
    assert_eq!(redfish.power_state().await.unwrap(), PowerState::On, "both see one machine");

    // over Redfish: a CD
    switch(&*redfish, PowerAction::ForceOff, PowerState::Off).await;
    say!("inserted: {:?}", redfish.insert_media(&Medium::cd(files.cd_url())).await.unwrap());
    say!("cd: {:?}", redfish.set_boot_override(&once(BootDevice::Cd)).await.unwrap());
    let before = libvirt.boots();
    switch(&*redfish, PowerAction::On, PowerState::On).await;
    assert_eq!(libvirt.next_boot(before).await.unwrap(), Boot::Cd);
    assert_eq!(ipmi.power_state().await.unwrap(), PowerState::On);

    // the CD out, and the network over Redfish
    switch(&*redfish, PowerAction::ForceOff, PowerState::Off).await;
    say!("ejected: {:?}", redfish.eject_media(MediaKind::Cd).await.unwrap());
    say!("pxe: {:?}", redfish.set_boot_override(&once(BootDevice::Pxe)).await.unwrap());
    let before = libvirt.boots();
    switch(&*redfish, PowerAction::On, PowerState::On).await;
    assert_eq!(libvirt.next_boot(before).await.unwrap(), Boot::Pxe);

    // over IPMI: the disk. virtualbmc reads the running machine and writes the one to come: it is set while off
    switch(&*ipmi, PowerAction::ForceOff, PowerState::Off).await;
    say!("disk: {:?}", ipmi.set_boot_override(&once(BootDevice::Disk)).await.unwrap());
    let before = libvirt.boots();
    switch(&*ipmi, PowerAction::On, PowerState::On).await;
    assert_eq!(libvirt.next_boot(before).await.unwrap(), Boot::Disk);
    switch(&*ipmi, PowerAction::ForceOff, PowerState::Off).await;
}
