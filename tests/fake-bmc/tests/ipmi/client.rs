//! The product's client sees what is there.

use std::net::Ipv4Addr;

use bessemer_fake_bmc::host::boot::{BootMode, Persistence};
use bessemer_fake_bmc::host::power::PowerState;
use bessemer_fake_bmc::ipmi::Options;
use bessemer_fake_bmc::machine::BootSource;
use ipmi_client::command::{
    BootDevice, BootFlags, ChassisControl, ChassisIdentify, GetBootFlags, GetChassisStatus, GetDeviceId, SetBootFlags,
};
use ipmi_client::{CompletionCode, IpmiError, Reading};

use super::{SUITES, client, client_with, quick, start};

#[tokio::test]
async fn power_boot_and_lamp_in_each_suite() {
    for suite in SUITES {
        let (host, server) = start(Options { suites: vec![suite.id], ..Options::default() }).await;
        let client = client(&server);
        assert!(!client.execute(&GetChassisStatus).await.unwrap().power_is_on);
        let flags = BootFlags { valid: true, persistent: true, efi: true, device: BootDevice::Pxe };
        client.execute(&SetBootFlags(flags)).await.unwrap();
        assert_eq!(client.execute(&GetBootFlags).await.unwrap().flags, flags);
        let boot = host.boot_override();
        assert_eq!((boot.enabled, boot.mode), (Persistence::Continuous, BootMode::Uefi));
        client.execute(&ChassisControl::PowerUp).await.unwrap();
        assert_eq!(host.last_boot().unwrap().source, BootSource::Pxe);
        assert!(client.execute(&GetChassisStatus).await.unwrap().power_is_on);
        client.execute(&ChassisControl::PowerCycle).await.unwrap();
        client.execute(&ChassisControl::HardReset).await.unwrap();
        assert_eq!(host.boots(), 3);
        client.execute(&ChassisControl::SoftShutdown).await.unwrap();
        assert_eq!(host.power(), PowerState::Off);
        client.execute(&ChassisIdentify::UntilToldOtherwise).await.unwrap();
        assert!(host.identify());
        client.execute(&ChassisIdentify::Seconds(0)).await.unwrap();
        assert!(!host.identify());
        assert_eq!(client.suite().await, Some(suite));
        assert_eq!(client.downgrade().await, None);
        client.close().await;
        // A round trip of another client's, so that the close has been handled.
        super::client(&server).execute(&GetDeviceId).await.unwrap();
        assert_eq!(server.sessions_opened(), 2);
    }
}

#[tokio::test]
async fn sensors_with_units_and_thresholds() {
    let (host, server) = start(Options::default()).await;
    let client = client(&server);
    let inventory = client.read_sdr().await.unwrap();
    assert_eq!(inventory.unreadable, []);
    let frus: Vec<_> = inventory.frus.iter().map(|fru| (fru.name.as_str(), fru.device)).collect();
    assert_eq!(frus, [("Builtin FRU", Some(0)), ("PSU1", Some(1))]);

    let read = async || {
        let mut lines = Vec::new();
        for sensor in &inventory.sensors {
            let value = client.read_sensor(sensor).await.unwrap();
            let reading = match value.reading {
                Reading::Value(number) => format!("{number:.3} {}", sensor.unit),
                other => format!("{other:?}"),
            };
            lines.push(format!("{}: {reading}", sensor.name));
        }
        lines
    };
    let off = read().await;
    assert_eq!(off[0], "Inlet Temp: 23.000 °C");
    assert_eq!(off[2], "Fan1: Unavailable");
    client.execute(&ChassisControl::PowerUp).await.unwrap();
    server.sensors().set(0x02, 0xfe);
    assert_eq!(host.power(), PowerState::On);
    assert_eq!(
        read().await,
        [
            "Inlet Temp: 23.000 °C",
            "CPU1 Temp: -2.000 °C",
            "Fan1: 5280.000 RPM",
            "12V: 12.096 V",
            "Pwr Consumption: 248.000 W",
            "PS Status1: States(1)",
            "PS Status2: States(1)",
        ]
    );
    let rail = client.read_sensor(&inventory.sensors[3]).await.unwrap().thresholds;
    let rounded = |value: Option<f64>| value.map(|value| format!("{value:.3}"));
    assert_eq!(rounded(rail.lower_critical).as_deref(), Some("11.025"));
    assert_eq!(rounded(rail.upper_non_critical).as_deref(), Some("12.600"));
    assert_eq!(rail.upper_non_recoverable, None);
    assert_eq!(client.sessions_opened().await, 1);
}

#[tokio::test]
async fn inventories() {
    let (host, server) = start(Options::default()).await;
    let client = client(&server);
    let fru = client.read_fru(0).await.unwrap();
    assert_eq!(fru.damaged, []);
    let identity = host.identity();
    let product = fru.product.unwrap();
    assert_eq!(product.manufacturer.as_deref(), Some(identity.manufacturer.as_str()));
    assert_eq!(product.name.as_deref(), Some(identity.model.as_str()));
    assert_eq!(product.serial.as_deref(), Some(identity.serial.as_str()));
    let board = fru.board.unwrap();
    assert_eq!((board.name.as_deref(), board.part_number.as_deref()), (Some("Mainboard"), Some("MB-1")));
    assert_eq!(fru.chassis.unwrap().kind, 0x17);
    assert_eq!(client.read_fru(1).await.unwrap().product.unwrap().serial.as_deref(), Some("PSU-0001"));
    let error = client.read_fru(9).await.unwrap_err();
    assert!(matches!(error, IpmiError::Completion { code: CompletionCode::NOT_PRESENT, .. }), "{error}");
}

#[tokio::test]
async fn the_log_by_pages() {
    let (host, server) = start(Options::default()).await;
    let client = client(&server);
    assert_eq!(client.read_sel(None, 10).await.unwrap().entries, []);
    for number in 0..25 {
        host.log().add(["OK", "Warning", "Critical"][number % 3], format!("entry {number}"));
    }
    let (mut from, mut ids, mut pages) = (None, Vec::new(), 0);
    loop {
        let page = client.read_sel(from, 10).await.unwrap();
        ids.extend(page.entries.iter().map(|entry| entry.id));
        assert!(page.entries.iter().all(|entry| entry.time.is_some()));
        pages += 1;
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    assert_eq!((ids, pages), ((1..=25).collect(), 3));
}

#[tokio::test]
async fn the_controllers_own_addresses() {
    let (host, server) = start(Options::default()).await;
    let lan = client(&server).read_lan().await.unwrap().unwrap();
    assert_eq!((lan.channel, lan.mac, lan.is_dhcp), (1, host.identity().bmc_mac.0, Some(true)));
    assert_eq!(lan.address, Some(Ipv4Addr::LOCALHOST));
    assert_eq!(lan.gateway, Some(Ipv4Addr::new(127, 0, 0, 254)));
}

#[tokio::test]
async fn who_is_refused_learns_why() {
    let (host, server) = start(Options::default()).await;
    let refused =
        async |user, password| client_with(&server, user, password, quick()).execute(&GetDeviceId).await.unwrap_err();
    for (user, password) in [("nobody", "x"), ("admin", "wrong"), ("admin", "")] {
        let error = refused(user, password).await;
        assert!(matches!(error, IpmiError::AuthenticationRejected { .. }), "{error}");
    }
    // The looker may not be an administrator, whatever the password.
    let error = refused("looker", "look").await;
    assert!(matches!(error, IpmiError::PrivilegeRefused { .. }), "{error}");
    host.users().named_mut("admin").unwrap().locked = true;
    let error = refused("admin", super::PASSWORD).await;
    assert!(matches!(error, IpmiError::AuthenticationRejected { .. }), "{error}");
    assert_eq!(server.open_sessions(), 0);
}

#[tokio::test]
async fn no_suite_without_encryption_is_ever_asked_for() {
    // A controller that would take nothing else.
    let (_host, server) = start(Options { suites: vec![], ..Options::default() }).await;
    let error = client(&server).execute(&GetDeviceId).await.unwrap_err();
    assert!(matches!(&error, IpmiError::NoCommonCipherSuite { allowed } if allowed == "17, 3"), "{error}");
}

#[tokio::test]
async fn falling_back_to_a_weaker_suite_is_told() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    client.execute(&GetDeviceId).await.unwrap();
    assert_eq!((client.suite().await.unwrap().id, client.downgrade().await), (17, None));
    server.set_suites(&[3]);
    server.forget_sessions();
    client.execute(&GetDeviceId).await.unwrap();
    let fall = client.downgrade().await.unwrap();
    assert_eq!((fall.from.id, fall.to.id), (17, 3));
    // Remembered by whoever made the client, too; and going up is no fall.
    let remembering = ipmi_client::Options { known_suite: Some(&ipmi_client::SUITE_17), ..quick() };
    let other = client_with(&server, super::USER, super::PASSWORD, remembering);
    other.execute(&GetDeviceId).await.unwrap();
    assert!(other.downgrade().await.is_some());
    server.set_suites(&[17]);
    let upgrading = ipmi_client::Options { known_suite: Some(&ipmi_client::SUITE_3), ..quick() };
    let third = client_with(&server, super::USER, super::PASSWORD, upgrading);
    third.execute(&GetDeviceId).await.unwrap();
    assert_eq!((third.suite().await.unwrap().id, third.downgrade().await), (17, None));
}

#[tokio::test]
async fn an_open_session_is_kept_alive_and_none_opened_for_it() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    client.keep_alive().await.unwrap();
    assert_eq!(server.sessions_opened(), 0);
    client.execute(&GetDeviceId).await.unwrap();
    let before = server.requests();
    client.keep_alive().await.unwrap();
    assert_eq!((server.requests() - before, server.sessions_opened()), (1, 1));
}
