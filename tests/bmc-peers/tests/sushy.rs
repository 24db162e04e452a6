//! Our Redfish client against sushy-tools' emulator, whose fake system is a real emulated server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use bessemer_bmc::{BootDevice, MediaKind, Medium, PowerAction, PowerState};
use bessemer_bmc_peers::{Boot, Machine, SushyFake, Switch, missing_program, peers};
use common::{bmc, once, switch};

#[macro_use]
mod common;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_behind_sushy_boots_what_is_asked() {
    if let Some(why) = peers().err().or_else(|| missing_program(&[bessemer_rack::QEMU])) {
        println!("SKIP {why}");
        return;
    }
    let machine = Machine::new().unwrap();
    let power = Switch::start(&machine).await.unwrap();
    let sushy = SushyFake::start(&power).unwrap();
    let bmc = bmc(&format!("redfish+http://127.0.0.1:{}/redfish/v1/Systems/{}", sushy.port, SushyFake::UUID));

    let identity = bmc.identify().await.unwrap();
    assert_eq!(identity.uuid.as_deref(), Some(SushyFake::UUID), "{identity:?}");
    assert_eq!(identity.power, Some(PowerState::Off), "{identity:?}");
    assert_eq!(identity.macs, [SushyFake::MAC.parse().unwrap()], "{identity:?}");

    // a CD is inserted, chosen before power on, and booted
    let inserted = bmc.insert_media(&Medium::cd(power.cd_url())).await.unwrap();
    say!("inserted: {inserted:?}");
    let slots = bmc.media().await.unwrap();
    let slot = slots.iter().find(|slot| slot.id == inserted.slot).expect("the slot is listed");
    assert!(slot.inserted, "{slot:?}");
    assert_eq!(slot.image.as_deref(), Some(power.cd_url().as_str()));
    say!("cd: {:?}", bmc.set_boot_override(&once(BootDevice::Cd)).await.unwrap());
    let before = machine.boots();
    switch(&*bmc, PowerAction::On, PowerState::On).await;
    assert_eq!(machine.next_boot(before).await.unwrap(), Boot::Cd);

    // the network, by a cycle of a running server
    say!("pxe: {:?}", bmc.set_boot_override(&once(BootDevice::Pxe)).await.unwrap());
    let before = machine.boots();
    switch(&*bmc, PowerAction::Cycle, PowerState::On).await;
    assert_eq!(machine.next_boot(before).await.unwrap(), Boot::Pxe);

    // off, the CD out, and the disk
    switch(&*bmc, PowerAction::ForceOff, PowerState::Off).await;
    assert!(!machine.is_on());
    say!("ejected: {:?}", bmc.eject_media(MediaKind::Cd).await.unwrap());
    assert!(bmc.media().await.unwrap().iter().all(|slot| !slot.inserted));
    say!("disk: {:?}", bmc.set_boot_override(&once(BootDevice::Disk)).await.unwrap());
    let before = machine.boots();
    switch(&*bmc, PowerAction::On, PowerState::On).await;
    assert_eq!(machine.next_boot(before).await.unwrap(), Boot::Disk);
}
