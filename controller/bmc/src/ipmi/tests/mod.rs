//! The trait against OpenIPMI's `ipmi_sim`, whose chassis is files that say what really reached it.

mod fake;
mod power;
#[path = "../../../../ipmi-client/tests/sim/mod.rs"]
mod sim;

use std::time::Duration;

use ipmi_client::Options;
use sim::Sim;

use super::*;
use crate::{BootDevice, BootFirmware, BootLifetime};

fn bmc(sim: &Sim, user: &str, password: &str) -> IpmiBmc {
    let address = format!("ipmi://127.0.0.1:{}", sim.port()).parse().unwrap();
    let options = Options {
        deadline: Duration::from_secs(8),
        retransmit_after: Duration::from_millis(300),
        give_up_session_after: Duration::from_secs(3),
        ..Options::default()
    };
    let patience = Patience { settles_within: Duration::from_secs(5) };
    IpmiBmc::with(&address, &Credentials::new(user, password), options, patience).unwrap()
}

macro_rules! start_or_skip {
    () => {
        match Sim::start() {
            Some(sim) => sim,
            None => return,
        }
    };
}

#[tokio::test]
async fn a_first_boot_from_the_network() {
    let sim = start_or_skip!();
    let bmc = bmc(&sim, sim::USER, sim::PASSWORD);
    let identity = bmc.identify().await.unwrap();
    assert_eq!(identity.to_string(), "Acme · Box · firmware 9.08 · serial S123");
    assert!(identity.uuid.unwrap().starts_with("efcdab89-6745"));
    assert_eq!(bmc.power_state().await.unwrap(), PowerState::Off);

    let read_back = bmc.set_boot_override(&BootOverride::once(BootDevice::Pxe)).await.unwrap();
    assert!(matches!(read_back, ReadBack::Unverifiable(_)), "{read_back:?}");
    assert_eq!(sim.read("boot"), "pxe");
    bmc.power(PowerAction::On).await.unwrap();
    assert_eq!(sim.read("power"), "1");
    bmc.power(PowerAction::On).await.unwrap();
    bmc.power(PowerAction::Reset).await.unwrap();
    assert!(sim.read("calls").contains("set reset 1"), "{}", sim.read("calls"));

    let disk =
        BootOverride { device: BootDevice::Disk, lifetime: BootLifetime::Persistent, firmware: BootFirmware::Uefi };
    let read_back = bmc.set_boot_override(&disk).await.unwrap();
    assert!(matches!(read_back, ReadBack::Unverifiable(_)), "{read_back:?}");
    assert_eq!(sim.read("boot"), "default");
    assert_eq!(bmc.set_boot_override(&BootOverride::once(BootDevice::None)).await.unwrap(), ReadBack::Confirmed);
    assert_eq!(sim.read("boot"), "none");

    bmc.power(PowerAction::Cycle).await.unwrap();
    assert_eq!(sim.read("power"), "1");
    bmc.power(PowerAction::GracefulOff).await.unwrap();
    assert!(sim.read("calls").contains("set shutdown 1"), "{}", sim.read("calls"));
    bmc.power(PowerAction::ForceOff).await.unwrap();
    assert_eq!(bmc.power_state().await.unwrap(), PowerState::Off);
    assert_eq!(bmc.client.sessions_opened().await, 1);
}

#[tokio::test]
async fn refusal_and_silence_are_different_errors() {
    let mut sim = start_or_skip!();
    let error = bmc(&sim, sim::USER, "letmein").identify().await.unwrap_err();
    assert!(matches!(&error, BmcError::BadCredentials { user, .. } if user == sim::USER), "{error:?}");
    assert!(!error.is_transient() && !error.to_string().contains("letmein"), "{error}");
    sim.stop();
    let error = bmc(&sim, sim::USER, sim::PASSWORD).power_state().await.unwrap_err();
    assert!(matches!(&error, BmcError::Unreachable { .. }), "{error:?}");
    assert!(error.is_transient() && error.to_string().contains(&sim.port().to_string()), "{error}");
}

#[tokio::test]
async fn a_bmc_that_accepts_and_does_nothing_is_found_out() {
    let sim = start_or_skip!();
    sim.write("deaf", "");
    let bmc = bmc(&sim, sim::USER, sim::PASSWORD);
    let error = bmc.power(PowerAction::On).await.unwrap_err();
    assert!(matches!(&error, BmcError::NotApplied { .. }), "{error:?}");
    let error = bmc.set_boot_override(&BootOverride::once(BootDevice::Pxe)).await.unwrap_err();
    assert!(matches!(&error, BmcError::Contradicted { .. }), "{error:?}");
}

#[tokio::test]
async fn a_restart_of_the_bmc_costs_no_call() {
    let mut sim = start_or_skip!();
    let bmc = bmc(&sim, sim::USER, sim::PASSWORD);
    bmc.power(PowerAction::On).await.unwrap();
    sim.restart();
    assert_eq!(bmc.power_state().await.unwrap(), PowerState::On);
}
