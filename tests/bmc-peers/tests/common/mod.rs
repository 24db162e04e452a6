//! The product's way to a BMC, as the controller takes it.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bessemer_bmc::{
    Bmc, BootDevice, BootFirmware, BootLifetime, BootOverride, Credentials, PowerAction, PowerState, Trust, connect,
};
use bessemer_bmc_peers::{PASSWORD, USER};

/// Prints what happened and when, which is what a slow or failed run is understood by.
macro_rules! say {
    ($($what:tt)*) => { println!("{:6.1} s {}", crate::common::elapsed(), format_args!($($what)*)) };
}

pub(crate) fn elapsed() -> f64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed().as_secs_f64()
}

pub(crate) fn bmc(address: &str) -> Arc<dyn Bmc> {
    bmc_as(address, USER, PASSWORD)
}

pub(crate) fn bmc_as(address: &str, user: &str, password: &str) -> Arc<dyn Bmc> {
    connect(&address.parse().unwrap(), Credentials::new(user, password), Trust::Anyone).unwrap()
}

/// Once, by BIOS: what the emulated servers have.
pub(crate) fn once(device: BootDevice) -> BootOverride {
    BootOverride { device, lifetime: BootLifetime::Once, firmware: BootFirmware::Legacy }
}

pub(crate) async fn switch(bmc: &dyn Bmc, action: PowerAction, then: PowerState) {
    bmc.power(action).await.unwrap_or_else(|error| panic!("{action}: {error}"));
    assert_eq!(bmc.power_state().await.unwrap(), then, "after {action}");
    say!("{action}: {then}");
}
