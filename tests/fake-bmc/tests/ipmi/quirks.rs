//! What controllers were publicly seen to do, replayed.

use std::time::{Duration, Instant};

use bessemer_fake_bmc::host::boot::Persistence;
use bessemer_fake_bmc::ipmi::{Burst, Options, Verdict};
use ipmi_client::command::{
    BootDevice, BootFlags, ChassisControl, ColdReset, GetBootFlags, GetChassisStatus, GetDeviceId, KeepBootFlagsValid,
    SetBootFlags, WarmReset,
};
use ipmi_client::{CompletionCode, IpmiError};

use super::{client, client_with, quick, start};

fn verdict(function: u8, command: u8, first: Option<u8>, code: u8, times: u32) -> Verdict {
    Verdict { function, command, first, code, times }
}

#[tokio::test]
async fn q132_nobody_asks_for_the_list_of_cipher_suites() {
    let options = Options { lists_cipher_suites: false, suites: vec![3], ..Options::default() };
    let (_host, server) = start(options).await;
    let begun = Instant::now();
    let client = client(&server);
    client.execute(&GetDeviceId).await.unwrap();
    assert_eq!(client.suite().await.unwrap().id, 3);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn q134_persistent_and_uefi_go_in_one_write() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    client.execute(&GetDeviceId).await.unwrap();
    let before = server.requests();
    let flags = BootFlags { valid: true, persistent: true, efi: true, device: BootDevice::Pxe };
    client.execute(&SetBootFlags(flags)).await.unwrap();
    assert_eq!(server.requests() - before, 1);
    assert_eq!(client.execute(&GetBootFlags).await.unwrap().flags, flags);
}

#[tokio::test]
async fn q137_flags_are_kept_past_the_minute_where_the_controller_lets_them() {
    for (known, kept) in [(true, true), (false, false)] {
        let options = Options { boot_flags_hold: Duration::from_millis(300), ..Options::default() };
        let (host, server) = start(options).await;
        if !known {
            server.faults().verdicts = vec![verdict(0x00, 0x08, Some(3), 0x80, 1)];
        }
        let client = client(&server);
        assert_eq!(client.execute(&KeepBootFlagsValid).await.is_ok(), known);
        let flags = BootFlags { valid: true, persistent: false, efi: true, device: BootDevice::Pxe };
        client.execute(&SetBootFlags(flags)).await.unwrap();
        assert_eq!(host.boot_override().enabled, Persistence::Once);
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(client.execute(&GetBootFlags).await.unwrap().flags.valid, kept);
    }
}

#[tokio::test]
async fn q138_no_override_clears_the_valid_bit() {
    let (host, server) = start(Options::default()).await;
    let client = client(&server);
    let pxe = BootFlags { valid: true, persistent: true, efi: true, device: BootDevice::Pxe };
    client.execute(&SetBootFlags(pxe)).await.unwrap();
    let none = BootFlags { valid: false, persistent: false, efi: false, device: BootDevice::None };
    client.execute(&SetBootFlags(none)).await.unwrap();
    assert_eq!(client.execute(&GetBootFlags).await.unwrap().flags, none);
    assert_eq!(host.boot_override().enabled, Persistence::Disabled);
}

#[tokio::test]
async fn q141_a_controller_that_cannot_bear_haste_is_not_hurried() {
    let (_host, server) = start(Options::default()).await;
    // Fifteen in a tenth of a second are too many.
    let burst = Burst { requests: 15, within: Duration::from_millis(100), deaf_for: Duration::from_secs(30) };
    server.faults().burst = Some(burst);
    let paced = client(&server);
    for _ in 0..60 {
        paced.execute(&GetChassisStatus).await.unwrap();
    }
    assert_eq!(paced.sessions_opened().await, 1);
    // Without the pause it is deaf soon. Counted over longer: a test machine may be slow.
    server.faults().burst = Some(Burst { within: Duration::from_secs(1), ..burst });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let hasty = ipmi_client::Options { pace: Duration::ZERO, deadline: Duration::from_secs(2), ..quick() };
    let hasty = client_with(&server, super::USER, super::PASSWORD, hasty);
    let mut answered = 0;
    let error = loop {
        match hasty.execute(&GetChassisStatus).await {
            Ok(_) => answered += 1,
            Err(error) => break error,
        }
        assert!(answered < 60, "nobody was hasty");
    };
    assert!(matches!(error, IpmiError::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn q142_a_busy_controller_is_asked_again() {
    let (host, server) = start(Options::default()).await;
    let client = client(&server);
    client.execute(&GetDeviceId).await.unwrap();
    // Node busy, time-out, out of space, firmware update, initialisation in progress.
    for code in [0xc0, 0xc3, 0xc4, 0xd1, 0xd2] {
        server.faults().verdicts = vec![verdict(0x00, 0x01, None, code, 3)];
        client.execute(&GetChassisStatus).await.unwrap_or_else(|error| panic!("{code:#04x}: {error}"));
        // An act is asked for again only where it has certainly not begun.
        server.faults().verdicts = vec![verdict(0x00, 0x02, None, code, 1)];
        let boots = host.boots();
        let result = client.execute(&ChassisControl::PowerUp).await;
        assert_eq!((result.is_ok(), host.boots() - boots), if code == 0xc3 { (false, 0) } else { (true, 1) });
        client.execute(&ChassisControl::PowerDown).await.unwrap();
    }
    // One that stays busy is told as such, within the patience given.
    server.faults().verdicts = vec![verdict(0x00, 0x01, None, 0xc0, u32::MAX)];
    let begun = Instant::now();
    let error = client.execute(&GetChassisStatus).await.unwrap_err();
    assert!(matches!(error, IpmiError::Completion { code: CompletionCode::NODE_BUSY, .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    // What will not change is not asked again.
    server.faults().verdicts = vec![verdict(0x00, 0x01, None, 0xc1, 1)];
    let before = server.requests();
    client.execute(&GetChassisStatus).await.unwrap_err();
    assert_eq!(server.requests() - before, 1);
}

#[tokio::test]
async fn q144_any_password_of_up_to_twenty_bytes_is_text() {
    let (host, server) = start(Options::default()).await;
    for password in ["", "12345678", "0123456789012345", "sixteen-and-one!!", "twenty-bytes-are-ok!", "pä55wörd"] {
        host.users().named_mut(super::USER).unwrap().password = password.to_owned();
        client_with(&server, super::USER, password, quick())
            .execute(&GetDeviceId)
            .await
            .unwrap_or_else(|error| panic!("{password:?}: {error}"));
    }
    let error = ipmi_client::Login::new(super::USER, "twenty-one-bytes-long").unwrap_err();
    assert_eq!(error.to_string(), "password is 21 bytes long: ipmi allows 20");
}

#[tokio::test]
async fn q145_the_lan_channel_is_found_wherever_it_is() {
    for (channel, idle) in [(1, vec![]), (8, vec![]), (3, vec![1, 2]), (11, vec![1, 8])] {
        let options = Options { lan_channel: channel, idle_channels: idle, ..Options::default() };
        let (host, server) = start(options).await;
        let client = client(&server);
        // Some do not know "this channel" either: then all are tried.
        server.faults().verdicts = vec![verdict(0x06, 0x42, Some(0x0e), 0xcc, 1)];
        for _ in 0..2 {
            let lan = client.read_lan().await.unwrap().unwrap();
            assert_eq!((lan.channel, lan.mac), (channel, host.identity().bmc_mac.0));
        }
    }
    // Only channels without an address: better than nothing, and without one.
    let options = Options { lan_channel: 12, idle_channels: vec![2], ..Options::default() };
    let (_host, server) = start(options).await;
    server.faults().verdicts = vec![verdict(0x06, 0x42, Some(0x0e), 0xcc, 1)];
    let lan = client(&server).read_lan().await.unwrap().unwrap();
    assert_eq!((lan.channel, lan.address), (2, None));
}

#[tokio::test]
async fn q150_cold_and_warm_resets_are_what_they_say() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    client.execute(&GetDeviceId).await.unwrap();
    // The session may be gone before the answer: the caller looks, and comes back with a new one.
    let _ = client.execute(&ColdReset).await;
    assert_eq!(server.resets(), (1, 0));
    client.execute(&GetDeviceId).await.unwrap();
    let _ = client.execute(&WarmReset).await;
    assert_eq!(server.resets(), (1, 1));
    client.execute(&GetDeviceId).await.unwrap();
    assert_eq!(client.sessions_opened().await, 3);
}
