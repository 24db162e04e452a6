//! The trait against the fake BMC: all that IPMI can, what it cannot, and what BMCs were seen to do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bessemer_fake_bmc::host::boot::Persistence;
use bessemer_fake_bmc::host::power::Timing;
use bessemer_fake_bmc::ipmi::{Options, Server, Verdict};
use bessemer_fake_bmc::{Host, HostOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::super::*;
use crate::{BootDevice, BootFirmware, BootLifetime, Capability, Health, MediaKind, SensorKind, Support};

const PASSWORD: &str = "password";

pub(super) async fn start(options: Options) -> (Arc<Host>, Server) {
    let host = Host::new(HostOptions::numbered(3));
    let server = Server::start(Arc::clone(&host), options).await.unwrap();
    (host, server)
}

pub(super) fn bmc(server: &Server) -> IpmiBmc {
    within(server, Duration::from_secs(8))
}

/// Whose commands have so long.
pub(super) fn within(server: &Server, deadline: Duration) -> IpmiBmc {
    let address = format!("ipmi://{}", server.address()).parse().unwrap();
    let options = ipmi_client::Options {
        deadline,
        retransmit_after: Duration::from_millis(300),
        give_up_session_after: Duration::from_secs(1),
        ..ipmi_client::Options::default()
    };
    let patience = Patience { settles_within: Duration::from_secs(5) };
    IpmiBmc::with(&address, &Credentials::new("admin", PASSWORD), options, patience).unwrap()
}

fn disk() -> BootOverride {
    BootOverride { device: BootDevice::Disk, lifetime: BootLifetime::Persistent, firmware: BootFirmware::Uefi }
}

#[tokio::test]
async fn who_it_is_and_what_it_has() {
    let (host, server) = start(Options::default()).await;
    let bmc = bmc(&server);
    let identity = bmc.identify().await.unwrap();
    let known = host.identity();
    assert_eq!(identity.vendor.as_ref(), Some(&known.manufacturer));
    assert_eq!((identity.model.as_ref(), identity.serial.as_ref()), (Some(&known.model), Some(&known.serial)));
    assert_eq!((identity.firmware.as_deref(), identity.power), (Some("2.13"), Some(PowerState::Off)));
    assert_eq!(identity.uuid, Some(known.uuid.to_string()));
    assert!(identity.remarks.is_empty());

    let inventory = bmc.inventory().await.unwrap();
    assert_eq!(inventory.power_supplies.len(), 1);
    assert_eq!(inventory.power_supplies[0].serial.as_deref(), Some("PSU-0001"));
    assert_eq!(inventory.firmware[0].version.as_deref(), Some("2.13"));
    assert_eq!(inventory.gaps.len(), 1);
    assert_eq!((server.sessions_opened(), server.open_sessions()), (1, 1));
}

#[tokio::test]
async fn an_address_may_ask_for_less_than_everything() {
    let (host, server) = start(Options::default()).await;
    host.users().add("operator", PASSWORD, "Operator");
    let log_in = async |query: &str| {
        let address = format!("ipmi://{}{query}", server.address()).parse().unwrap();
        let bmc = IpmiBmc::new(&address, &Credentials::new("operator", PASSWORD)).unwrap();
        bmc.power_state().await
    };
    let error = log_in("").await.unwrap_err();
    assert!(matches!(error, BmcError::BadCredentials { .. }), "{error}");
    assert_eq!(log_in("?privilegelevel=OPERATOR").await.unwrap(), PowerState::Off);
}

#[tokio::test]
async fn sensors_and_their_health() {
    let (_host, server) = start(Options::default()).await;
    let bmc = bmc(&server);
    bmc.power(PowerAction::On).await.unwrap();
    server.sensors().set(0x02, 96);
    let sensors = bmc.sensors().await.unwrap();
    let named = |name: &str| sensors.iter().find(|sensor| sensor.name == name).unwrap();
    let cpu = named("CPU1 Temp");
    assert_eq!((cpu.kind, cpu.reading, cpu.unit.as_str()), (SensorKind::Temperature, Some(96.0), "°C"));
    assert_eq!((cpu.health, cpu.thresholds.upper_critical), (Some(Health::Critical), Some(95.0)));
    let fan = named("Fan1");
    assert_eq!((fan.kind, fan.reading, fan.unit.as_str()), (SensorKind::Fan, Some(5280.0), "rpm"));
    assert_eq!((fan.health, named("Pwr Consumption").kind), (Some(Health::Ok), SensorKind::Power));
    assert_eq!(named("PS Status1").states, ["present"]);
    bmc.power(PowerAction::ForceOff).await.unwrap();
    let off = bmc.sensors().await.unwrap();
    assert!(off.iter().any(|sensor| sensor.name == "Fan1" && sensor.reading.is_none() && sensor.health.is_none()));
}

#[tokio::test]
async fn the_newest_entries_of_the_log_first() {
    let (host, server) = start(Options::default()).await;
    let bmc = bmc(&server);
    assert_eq!(bmc.log_entries(5).await.unwrap(), []);
    for severity in ["OK", "Warning", "Critical"].into_iter().cycle().take(150) {
        host.log().add(severity, "something");
    }
    let entries = bmc.log_entries(4).await.unwrap();
    let seen: Vec<_> = entries.iter().map(|entry| (entry.id.as_str(), entry.severity)).collect();
    assert_eq!(
        seen,
        [
            ("150", Some(Health::Critical)),
            ("149", Some(Health::Warning)),
            ("148", None),
            ("147", Some(Health::Critical))
        ]
    );
    assert!(entries[0].time.as_ref().unwrap().ends_with('Z'));
    assert_eq!(entries[0].message, "system event 0x70: critical from less severe: asserted");
}

#[tokio::test]
async fn a_log_that_goes_in_circles_is_read_once() {
    // Shorter and longer than what is read at once.
    for count in [3, 70] {
        let (host, server) = start(Options::default()).await;
        server.faults().log_goes_round = true;
        for _ in 0..count {
            host.log().add("OK", "something");
        }
        let entries = bmc(&server).log_entries(100).await.unwrap();
        let ids: Vec<_> = entries.iter().map(|entry| entry.id.parse::<u32>().unwrap()).collect();
        assert_eq!(ids, (1..=count).rev().collect::<Vec<_>>());
        assert!(server.requests() < 2 * u64::from(count) + 70, "{}", server.requests());
    }
}

#[tokio::test]
async fn a_slow_bmc_is_not_read_for_ever() {
    let (_host, server) = start(Options::default()).await;
    let bmc = bmc(&server);
    let error = bmc.within(Duration::from_millis(10), "its event log", std::future::pending::<Result<(), _>>()).await;
    let said = error.unwrap_err().to_string();
    assert!(said.ends_with("is unreachable: it was still telling its event log (gave up after 10ms)"), "{said}");
}

#[tokio::test]
async fn the_console_is_a_stream() {
    let (_host, server) = start(Options::default()).await;
    let bmc = bmc(&server);
    assert_eq!(bmc.console().await.unwrap()[0].port, Some(server.address().port()));
    let mut console = bmc.open_console(false).await.unwrap();
    console.write_all(b"echo").await.unwrap();
    let mut back = [0; 4];
    tokio::time::timeout(Duration::from_secs(10), console.read_exact(&mut back)).await.unwrap().unwrap();
    assert_eq!(&back, b"echo");
    // Nobody loses it to somebody who does not say so.
    let Err(error) = bmc.open_console(false).await else { panic!("two have one console") };
    assert!(matches!(&error, BmcError::Busy { why, .. } if why.contains("somebody else has it")), "{error}");
    console.write_all(b"mine").await.unwrap();
    tokio::time::timeout(Duration::from_secs(10), console.read_exact(&mut back)).await.unwrap().unwrap();
    assert_eq!(&back, b"mine");
    bmc.open_console(true).await.unwrap();

    let (_host, server) = start(Options { sol_enabled: false, ..Options::default() }).await;
    let Err(error) = self::bmc(&server).open_console(false).await else { panic!("a console that is switched off") };
    assert!(matches!(&error, BmcError::Unsupported { why, .. } if why.contains("switched off")), "{error}");
}

#[tokio::test]
async fn what_ipmi_cannot_is_unsupported_and_says_why() {
    let (_host, server) = start(Options::default()).await;
    let bmc = bmc(&server);
    let capabilities = bmc.capabilities().await.unwrap();
    for can in [Capability::GracefulOff, Capability::BootPersistent, Capability::Sensors, Capability::Console] {
        assert!(capabilities.has(can), "{can:?}");
    }
    for cannot in [Capability::VirtualCd, Capability::Bios, Capability::SecureBoot, Capability::BootHttpUri] {
        assert!(matches!(&capabilities.0[&cannot], Support::No(why) if why.contains("ipmi")), "{cannot:?}");
    }
    let http = BootOverride::once(BootDevice::UefiHttp(None));
    let errors = [
        bmc.set_boot_override(&http).await.map(drop).unwrap_err(),
        bmc.eject_media(MediaKind::Cd).await.map(drop).unwrap_err(),
        bmc.set_bios(&BTreeMap::new()).await.map(drop).unwrap_err(),
        bmc.secure_boot().await.map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, BmcError::Unsupported { .. }), "{error}");
    }
}

#[tokio::test]
async fn boot_flags_are_written_whole_and_confirmed() {
    let (host, server) = start(Options { boot_flags_hold: Duration::from_millis(100), ..Options::default() }).await;
    let bmc = bmc(&server);
    assert_eq!(bmc.set_boot_override(&disk()).await.unwrap(), ReadBack::Confirmed);
    assert_eq!(host.boot_override().enabled, Persistence::Continuous);
    let cd = BootOverride::once(BootDevice::Cd);
    assert_eq!(bmc.set_boot_override(&cd).await.unwrap(), ReadBack::Confirmed);
    // Past the time after which flags are forgotten that nobody asked to keep.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let boot = host.boot_override();
    assert_eq!((boot.enabled, boot.target.as_str()), (Persistence::Once, "Cd"));
    assert_eq!(bmc.set_boot_override(&BootOverride::once(BootDevice::None)).await.unwrap(), ReadBack::Confirmed);
    assert_eq!(host.boot_override().enabled, Persistence::Disabled);
}

#[tokio::test]
async fn a_fall_to_a_weaker_suite_is_remarked() {
    let (_host, server) = start(Options::default()).await;
    let bmc = bmc(&server);
    bmc.identify().await.unwrap();
    server.set_suites(&[3]);
    server.forget_sessions();
    let remarks = bmc.identify().await.unwrap().remarks;
    assert!(remarks[0].starts_with("the bmc refuses cipher suite 17 which it used before, and uses 3"), "{remarks:?}");
}

#[tokio::test]
async fn q136_supermicros_selector_for_the_disk_under_uefi() {
    use ipmi_client::command::{BootDevice as Selector, GetBootFlags};
    for (manufacturer, selector) in
        [(10876, Selector::Other(9)), (47488, Selector::Other(9)), (674, Selector::HardDrive)]
    {
        let (_host, server) = start(Options { manufacturer, ..Options::default() }).await;
        let bmc = bmc(&server);
        assert_eq!(bmc.set_boot_override(&disk()).await.unwrap(), ReadBack::Confirmed);
        assert_eq!(bmc.client.execute(&GetBootFlags).await.unwrap().flags.device, selector, "{manufacturer}");
        // Under legacy BIOS it is the specification's.
        let legacy = BootOverride { firmware: BootFirmware::Legacy, ..disk() };
        assert_eq!(bmc.set_boot_override(&legacy).await.unwrap(), ReadBack::Confirmed);
        assert_eq!(bmc.client.execute(&GetBootFlags).await.unwrap().flags.device, Selector::HardDrive);
    }
}

#[tokio::test]
async fn q140_on_after_off_is_asked_again_until_it_is_off() {
    let (host, server) = start(Options::default()).await;
    let bmc = bmc(&server);
    bmc.power(PowerAction::On).await.unwrap();
    host.set_timing(Timing { lag: Duration::from_millis(1500), ..Timing::default() });
    bmc.power(PowerAction::ForceOff).await.unwrap();
    assert_eq!(bmc.power_state().await.unwrap(), PowerState::Off);
    // One that never gets there is an error, and no success.
    server.faults().ignore_power = true;
    let error = bmc.power(PowerAction::On).await.unwrap_err();
    assert!(matches!(error, BmcError::NotApplied { .. }), "{error}");
}

#[tokio::test]
async fn q149_boot_flags_that_cannot_be_read_are_written_all_the_same() {
    let (host, server) = start(Options::default()).await;
    let refused = Verdict { function: 0x00, command: 0x09, first: Some(5), code: 0x80, times: u32::MAX };
    server.faults().verdicts = vec![refused];
    let read_back = bmc(&server).set_boot_override(&BootOverride::once(BootDevice::Pxe)).await.unwrap();
    assert!(matches!(&read_back, ReadBack::Unverifiable(why) if why.contains("0x80")), "{read_back:?}");
    assert_eq!(host.boot_override().target, "Pxe");
}

#[tokio::test]
async fn flags_kept_with_another_firmware_interface_are_no_success() {
    use bessemer_fake_bmc::ipmi::Options as Fake;
    for (manufacturer, contradicted) in [(674, true), (0, false)] {
        let (host, server) = start(Fake { manufacturer, ..Fake::default() }).await;
        server.faults().boot_flags_without_bits = true;
        let result = bmc(&server).set_boot_override(&BootOverride::once(BootDevice::Pxe)).await;
        match result {
            Err(BmcError::Contradicted { read, .. }) => assert!(contradicted && read.contains("efi: false"), "{read}"),
            Ok(ReadBack::Unverifiable(why)) => assert!(!contradicted, "{why}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(host.boot_override().target, "Pxe");
    }
}
