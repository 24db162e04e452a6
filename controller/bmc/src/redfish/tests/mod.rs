//! The trait against the answers of real BMCs.

mod boot;
mod capabilities;
mod dump;
mod events;
mod fixtures;
mod golden;
mod identity;
mod inventory;
mod logs;
mod media;
mod power;
mod replay;
mod resets;
pub(in crate::redfish) mod scripted;
mod secure_boot;
mod settings;
mod updates;

use std::time::Duration;

use dump::Dump;
use redfish_client::{Options, Trust};
use serde_json::json;

use super::*;
use crate::{BootDevice, BootFirmware, BootLifetime};

/// A BMC served from `dump`, whose server is `system` (none: it is to be found).
async fn bmc(dump: &Dump, system: &str) -> RedfishBmc {
    let address = format!("redfish+http://{}{system}", dump.serve().await).parse().unwrap();
    let mut options = Options::default();
    options.trust = Trust::Anyone;
    options.longest_pause = Duration::from_millis(20);
    let patience = Patience { settles_within: Duration::from_millis(500) };
    RedfishBmc::with(&address, &Credentials::new("admin", "secret"), options, patience).unwrap()
}

const R750: &str = "/redfish/v1/Systems/System.Embedded.1";

/// Who they are, where their boot override is written, and how.
#[tokio::test]
async fn real_bmcs_are_known_powered_and_booted() {
    let cases = [
        ("dell-r630-idrac8-2.81", "", "Dell Inc.", "Confirmed"),
        ("dell-r750-idrac9-6.00", "", "Dell Inc.", "Confirmed"),
        ("dmtf-public-rackmount1", "", "Contoso", "Confirmed"),
        ("hpe-dl325gen10plus-ilo5-2.46", "", "HPE", "Confirmed"),
        ("hpe-dl385gen10plusv2-ilo5-2.72", "", "HPE", "Confirmed"),
        ("intel-s2600bpb-1.93", "", "Intel Corporation", "Confirmed"),
        ("lenovo-sr670v2-xcc-2.83", "", "Lenovo", "Confirmed"),
        ("nvidia-bluefield3-bmc-24.10", "", "Nvidia", "Pending"),
        ("nvidia-dgxh100-ami-23.11", "", "NVIDIA", "Pending"),
        ("openbmc-stock-2.15-dev", "", "", "Confirmed"),
        ("supermicro-sys821ge-tnhr", "", "Supermicro", "Confirmed"),
        ("supermicro-x10-b", "", "Supermicro", "Confirmed"),
    ];
    for (name, system, vendor, read_back) in cases {
        let Some(dump) = Dump::load(name) else { return };
        let bmc = bmc(&dump, system).await;
        let identity = bmc.identify().await.unwrap();
        println!("{name}: {identity} {:?}", identity.uuid);
        assert_eq!(identity.vendor.as_deref().unwrap_or_default(), vendor, "{name}");
        let answer = bmc.set_boot_override(&BootOverride::once(BootDevice::Pxe)).await;
        let answer = format!("{answer:?}");
        println!("{name}: {answer} {:?}", dump.writes());
        assert!(answer.contains(read_back), "{name}: {answer}");
        bmc.power(PowerAction::ForceOff).await.unwrap();
        assert_eq!(bmc.power_state().await.unwrap(), PowerState::Off, "{name}");
        bmc.power(PowerAction::On).await.unwrap();
        bmc.power(PowerAction::Reset).await.unwrap();
        assert_eq!(bmc.power_state().await.unwrap(), PowerState::On, "{name}");
    }
}

#[tokio::test]
async fn of_several_systems_the_address_names_one() {
    let Some(dump) = Dump::load("hpe-cray-ex4252-4node") else { return };
    let error = bmc(&dump, "").await.identify().await.unwrap_err().to_string();
    assert!(error.contains("/redfish/v1/Systems/Node0, /redfish/v1/Systems/Node1"), "{error}");
    let node = bmc(&dump, "/redfish/v1/Systems/Node2").await;
    assert_eq!(node.power_state().await.unwrap(), PowerState::On);
    let error = bmc(&dump, "/redfish/v1/Systems/1").await.identify().await.unwrap_err().to_string();
    assert!(error.contains("there is no /redfish/v1/Systems/1 on this bmc"), "{error}");
}

#[tokio::test]
async fn an_override_that_is_set_is_not_written_again() {
    let Some(dump) = Dump::load("dell-r750-idrac9-6.00") else { return };
    let bmc = bmc(&dump, "").await;
    let pxe = BootOverride::once(BootDevice::Pxe);
    for _ in 0..2 {
        assert_eq!(bmc.set_boot_override(&pxe).await.unwrap(), ReadBack::Confirmed);
    }
    let body = json!({"Boot": {
        "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe", "BootSourceOverrideMode": "UEFI",
    }});
    assert_eq!(dump.writes(), [(format!("PATCH {R750}"), body)]);
    let disk =
        BootOverride { device: BootDevice::Disk, lifetime: BootLifetime::Persistent, firmware: BootFirmware::Uefi };
    assert_eq!(bmc.set_boot_override(&disk).await.unwrap(), ReadBack::Confirmed);
    assert_eq!(bmc.set_boot_override(&BootOverride::once(BootDevice::None)).await.unwrap(), ReadBack::Confirmed);
}

#[tokio::test]
async fn a_bmc_that_accepts_and_does_nothing_is_found_out() {
    let Some(dump) = Dump::load("dell-r750-idrac9-6.00") else { return };
    let bmc = bmc(&dump.clone().deaf(), "").await;
    let error = bmc.power(PowerAction::ForceOff).await.unwrap_err();
    assert!(matches!(&error, BmcError::NotApplied { .. }), "{error:?}");
    let error = bmc.set_boot_override(&BootOverride::once(BootDevice::Pxe)).await.unwrap_err();
    assert!(matches!(&error, BmcError::Contradicted { .. }), "{error:?}");
    assert!(error.to_string().contains("enabled Disabled, target None, mode UEFI"), "{error}");
}

#[tokio::test]
async fn a_state_in_between_is_not_one() {
    let Some(dump) = Dump::load("openbmc-stock-2.15-dev") else { return };
    dump.set("/redfish/v1/Systems/system", json!({"PowerState": "PoweringOn"}));
    let error = bmc(&dump, "").await.power_state().await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("PoweringOn"), "{error}");
}
