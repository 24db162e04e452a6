//! Our IPMI client against IPMI servers of others over lanplus, each with a real emulated server behind it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use bessemer_bmc::{Bmc, BmcError, BootDevice, PowerAction, PowerState, ReadBack};
use bessemer_bmc_peers::{Boot, Machine, Switch, ipmi_sim, missing_program, peers, pyghmi};
use bessemer_rack::{BMC_PASSWORD, BMC_USER};
use common::{bmc, bmc_as, once, switch};

#[macro_use]
mod common;

/// What every IPMI server must bring about.
async fn boots_what_is_asked(bmc: &dyn Bmc, machine: &Machine) {
    say!("{:?}", bmc.identify().await.unwrap());
    assert_eq!(bmc.power_state().await.unwrap(), PowerState::Off);
    for (device, boot, action) in [
        (BootDevice::Pxe, Boot::Pxe, PowerAction::On),
        (BootDevice::Disk, Boot::Disk, PowerAction::Cycle),
        (BootDevice::Pxe, Boot::Pxe, PowerAction::Reset),
    ] {
        let read_back = bmc.set_boot_override(&once(device.clone())).await.unwrap();
        say!("{device}: {read_back:?}");
        assert!(!matches!(read_back, ReadBack::Pending(_)), "{read_back:?}");
        assert_eq!(machine.boots_from(), boot);
        let before = machine.boots();
        switch(bmc, action, PowerState::On).await;
        assert_eq!(machine.next_boot(before).await.unwrap(), boot, "{action}");
    }
    // our server has no operating system that would follow: the request is delivered, no more
    bmc.power(PowerAction::GracefulOff).await.unwrap();
    assert_eq!(bmc.power_state().await.unwrap(), PowerState::On);
    switch(bmc, PowerAction::ForceOff, PowerState::Off).await;
    assert!(!machine.is_on());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_behind_ipmi_sim_boots_what_is_asked() {
    if let Some(why) = missing_program(&["ipmi_sim", "curl", bessemer_rack::QEMU]) {
        println!("SKIP {why}");
        return;
    }
    let machine = Machine::new().unwrap();
    let power = Switch::start(&machine).await.unwrap();
    let sim = ipmi_sim(&power).await.unwrap();
    let address = format!("ipmi://127.0.0.1:{}", sim.port);
    boots_what_is_asked(&*bmc_as(&address, BMC_USER, BMC_PASSWORD), &machine).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_behind_pyghmi_boots_what_is_asked() {
    if let Some(why) = peers().err().or_else(|| missing_program(&[bessemer_rack::QEMU])) {
        println!("SKIP {why}");
        return;
    }
    let machine = Machine::new().unwrap();
    let power = Switch::start(&machine).await.unwrap();
    let server = pyghmi(&power).unwrap();
    let address = format!("ipmi://127.0.0.1:{}", server.port);
    let bmc = bmc(&address);
    boots_what_is_asked(&*bmc, &machine).await;
    let refused = bmc_as(&address, "admin", "not-to-be-seen").identify().await.unwrap_err();
    assert!(matches!(refused, BmcError::BadCredentials { .. }), "{refused:?}");
    assert!(!format!("{refused} {refused:?}").contains("not-to-be-seen"), "{refused}");
}
