//! Whole ways by the trait alone, against the fake BMC: a wish for a setting until it holds, an update until the
//! inventory shows it, an event until it arrives, and what the log says of all that.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that fails should panic")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bessemer_bmc::{
    BiosValue, Bmc, BmcError, Credentials, FirmwareApply, FirmwareImage, FirmwareProgress, FollowFirmware, PowerAction,
    PowerState, ReadBack, Subscription, SubscriptionId, Trust, connect, follow_firmware_update, parse_events,
};
use bessemer_fake_bmc::fleet::start_one;
use bessemer_fake_bmc::redfish::Behaviour;
use bessemer_fake_bmc::redfish::behaviour::Reply;
use bessemer_fake_bmc::redfish::tls::Tls;
use bessemer_fake_bmc::{FakeBmc, HostOptions, seed};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

async fn start(change: impl FnOnce(&mut Behaviour)) -> (FakeBmc, Arc<dyn Bmc>) {
    let fake = start_one(&seed::minimal().unwrap(), HostOptions::numbered(4), Tls::Authority).await.unwrap();
    fake.redfish().change(change);
    let address = format!("redfish://{}", fake.address()).parse().unwrap();
    let trust = Trust::Authorities(fake.trusted().unwrap().to_owned());
    let bmc = connect(&address, Credentials::new("admin", "password"), trust).unwrap();
    (fake, bmc)
}

fn text(text: &str) -> BiosValue {
    BiosValue::Text(text.to_owned())
}

fn wish() -> BTreeMap<String, BiosValue> {
    let wish = [
        ("LogicalProc", text("Disabled")),
        ("MemPatrolInterval", text("12")),
        ("FastBoot", BiosValue::Boolean(true)),
        ("BootMode", text("UEFI")),
    ];
    wish.map(|(name, value)| (name.to_owned(), value)).into()
}

/// What was written to `part` of the tree.
fn patches(fake: &FakeBmc, part: &str) -> usize {
    fake.redfish().recorder().seen().iter().filter(|seen| seen.method == "PATCH" && seen.path.contains(part)).count()
}

#[tokio::test]
async fn a_setting_is_wished_for_waits_and_holds_after_the_reset() {
    for reply in [Reply::default(), Reply::Task] {
        let (fake, bmc) = start(|behaviour| behaviour.patch_reply = reply).await;
        let before = bmc.bios().await.unwrap();
        let interval = before.attributes["MemPatrolInterval"].description.clone().unwrap();
        assert!(interval.kind.as_deref() == Some("Integer") && interval.upper_bound.is_some(), "{interval:?}");
        assert!(before.attributes["FirmwareBuild"].read_only);
        bmc.power(PowerAction::On).await.unwrap();
        for _ in 0..2 {
            let answer = bmc.set_bios(&wish()).await.unwrap();
            assert!(matches!(answer, ReadBack::Pending(_)), "{answer:?}");
        }
        // The boot mode was as wished, by its name for people, and the second time nothing was left to write.
        assert_eq!(patches(&fake, "Bios/Settings"), 1);
        let waits = bmc.bios().await.unwrap();
        assert_eq!(waits.pending.keys().collect::<Vec<_>>(), ["FastBoot", "LogicalProc", "MemPatrolInterval"]);
        assert_eq!(waits.attributes["LogicalProc"].value, Some(text("Enabled")));
        bmc.power(PowerAction::Reset).await.unwrap();
        wait_until(async || bmc.bios().await.unwrap().pending.is_empty()).await;
        let after = bmc.bios().await.unwrap();
        assert_eq!(after.attributes["MemPatrolInterval"].value, Some(BiosValue::Integer(12)));
        assert_eq!(bmc.set_bios(&wish()).await.unwrap(), ReadBack::Confirmed);
    }
}

/// A server that shows wishes as if they held.
#[tokio::test]
async fn q128_a_wish_that_shows_at_once_is_still_one() {
    let (_fake, bmc) = start(|behaviour| behaviour.bios_shows_pending = true).await;
    bmc.power(PowerAction::On).await.unwrap();
    let answer = bmc.set_bios(&wish()).await.unwrap();
    assert!(matches!(answer, ReadBack::Pending(_)), "{answer:?}");
}

#[tokio::test]
async fn a_wish_that_is_wrong_never_reaches_the_bmc() {
    let (fake, bmc) = start(|_| ()).await;
    let mut wrong = wish();
    wrong.insert("MemPatrolInterval".to_owned(), BiosValue::Integer(0));
    wrong.insert("FirmwareBuild".to_owned(), text("3"));
    let error = bmc.set_bios(&wrong).await.unwrap_err();
    assert!(matches!(&error, BmcError::Refused { .. }), "{error:?}");
    let error = error.to_string();
    assert!(
        error.contains("MemPatrolInterval: 0 is out of bounds; 1 to 4294967296") && error.contains("FirmwareBuild"),
        "{error}"
    );
    assert_eq!(patches(&fake, "Bios"), 0);
}

#[tokio::test]
async fn secure_boot_is_switched_for_the_next_boot() {
    let (_fake, bmc) = start(|_| ()).await;
    bmc.power(PowerAction::On).await.unwrap();
    assert_eq!(bmc.secure_boot().await.unwrap().active, Some(false));
    let answer = bmc.set_secure_boot(true).await.unwrap();
    assert_eq!(answer, ReadBack::Pending("secure boot is on from the next boot on".to_owned()));
    assert_eq!(bmc.secure_boot().await.unwrap().enabled, Some(true));
}

fn image(url: &str) -> FirmwareImage {
    FirmwareImage { url: url.to_owned(), targets: Vec::new(), apply: FirmwareApply::Default, login: None }
}

const QUICK: FollowFirmware = FollowFirmware {
    period: Duration::from_millis(100),
    outage: Duration::from_secs(10),
    deadline: Duration::from_secs(30),
};

#[tokio::test]
async fn an_update_is_followed_to_the_version_it_brings() {
    let (fake, bmc) = start(|behaviour| behaviour.task_time = Duration::from_millis(700)).await;
    let ways = bmc.firmware_ways().await.unwrap();
    assert_eq!((ways.fetches, ways.protocols.join(" ")), (true, "HTTP HTTPS".to_owned()));
    let job = bmc.start_firmware_update(&image("http://images.example/bios-2.11.0.bin")).await.unwrap();
    let mut running = 0;
    let end = follow_firmware_update(&*bmc, &job, QUICK, |seen| {
        running += usize::from(matches!(seen, Ok(FirmwareProgress::Running { .. })));
    });
    assert_eq!(end.await.unwrap(), FirmwareProgress::Done);
    assert!(running > 0);
    let firmware = bmc.inventory().await.unwrap().firmware;
    let bios = firmware.iter().find(|part| part.id.ends_with("/BIOS")).unwrap();
    assert_eq!(bios.version.as_deref(), Some("2.11.0"));
    // The same job, asked for by somebody who was not there; and one that fails.
    assert_eq!(bmc.firmware_progress(&job).await.unwrap(), FirmwareProgress::Done);
    fake.redfish().change(|behaviour| behaviour.update_fails = Some("the image is for another board".to_owned()));
    let job = bmc.start_firmware_update(&image("https://images.example/bios-2.12.0.bin")).await.unwrap();
    let end = follow_firmware_update(&*bmc, &job, QUICK, |_| ()).await.unwrap();
    let FirmwareProgress::Failed { why } = end else { panic!("{end:?}") };
    assert!(why.contains("the image is for another board"), "{why}");
    let error = bmc.start_firmware_update(&image("ftp://images.example/x.bin")).await.unwrap_err();
    assert!(error.to_string().contains("it fetches by HTTP, HTTPS only"), "{error}");
}

/// The task is deleted right after its end (Dell): the inventory tells that the update took.
#[tokio::test]
async fn q121_an_update_that_is_forgotten_is_known_by_its_version() {
    let (_fake, bmc) = start(|behaviour| {
        behaviour.task_time = Duration::from_millis(500);
        behaviour.task_keep = Some(Duration::ZERO);
    })
    .await;
    let job = bmc.start_firmware_update(&image("http://images.example/bios-2.11.0.bin")).await.unwrap();
    let end = follow_firmware_update(&*bmc, &job, QUICK, |_| ()).await.unwrap();
    assert_eq!(end, FirmwareProgress::Done);
    let job = bmc.start_firmware_update(&image("http://images.example/bios-2.11.0.bin")).await.unwrap();
    let end = follow_firmware_update(&*bmc, &job, QUICK, |_| ()).await.unwrap();
    assert_eq!(end, FirmwareProgress::Gone, "the same version again proves nothing");
}

/// Takes one POST and gives its body.
async fn taken(listener: &TcpListener) -> Vec<u8> {
    let wait = tokio::time::timeout(Duration::from_secs(10), listener.accept());
    let (mut stream, _) = wait.await.unwrap().unwrap();
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let length = stream.read(&mut chunk).await.unwrap();
        bytes.extend_from_slice(&chunk[..length]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((_, body)) = text.split_once("\r\n\r\n") else { continue };
        if serde_json::from_str::<serde_json::Value>(body).is_ok() {
            stream
                .write_all(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .await
                .unwrap();
            return body.as_bytes().to_vec();
        }
    }
}

#[tokio::test]
async fn an_event_arrives_where_it_was_subscribed_to_and_stands_in_the_log() {
    let (fake, bmc) = start(|_| ()).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let wanted = Subscription {
        destination: format!("http://{}/events", listener.local_addr().unwrap()),
        context: "bessemer rack 7".to_owned(),
    };
    let id = bmc.subscribe(&wanted).await.unwrap();
    assert_eq!(bmc.subscribe(&wanted).await.unwrap(), id);
    assert_eq!(bmc.subscriptions().await.unwrap().len(), 1);
    bmc.send_test_event().await.unwrap();
    let events = parse_events(&taken(&listener).await).unwrap();
    assert_eq!((events.len(), events[0].context.as_deref()), (1, Some("bessemer rack 7")));
    fake.host().note("Critical", "fan 2 stands still");
    let events = parse_events(&taken(&listener).await).unwrap();
    assert_eq!(events[0].message.as_deref(), Some("fan 2 stands still"));
    let log = bmc.log_entries(5).await.unwrap();
    assert!(log.iter().any(|entry| entry.message == "fan 2 stands still"), "{log:?}");
    bmc.unsubscribe(&id).await.unwrap();
    bmc.unsubscribe(&id).await.unwrap();
    assert!(bmc.subscriptions().await.unwrap().is_empty());
    // A table that is full says what is in it.
    for at in 0..20 {
        let one = Subscription { context: format!("c{at}"), ..wanted.clone() };
        bmc.subscribe(&one).await.unwrap();
    }
    let error = bmc.subscribe(&wanted).await.unwrap_err().to_string();
    assert!(error.contains("it holds 20 already, end one of them"), "{error}");
    let error = bmc.unsubscribe(&SubscriptionId("/redfish/v1/Systems/1".to_owned())).await.unwrap_err();
    assert!(matches!(error, BmcError::Refused { .. }), "{error}");
}

#[tokio::test]
async fn a_long_log_is_read_in_pages_newest_first() {
    let (fake, bmc) = start(|behaviour| behaviour.page = Some(10)).await;
    for at in 0..65 {
        fake.host().note(if at % 2 == 0 { "OK" } else { "Warning" }, format!("note {at}"));
    }
    let log = bmc.log_entries(12).await.unwrap();
    let messages: Vec<&str> = log.iter().map(|entry| entry.message.as_str()).collect();
    println!("{messages:?}");
    assert_eq!(messages.len(), 12);
    // All of one second: their numbers tell which is the newest.
    let wanted: Vec<String> = (53..65).rev().map(|at| format!("note {at}")).collect();
    assert_eq!(messages, wanted);
}

async fn wait_until(mut done: impl AsyncFnMut() -> bool) {
    let end = tokio::time::Instant::now() + Duration::from_secs(20);
    while !done().await {
        assert!(tokio::time::Instant::now() < end, "it did not come about");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_host_that_is_off_keeps_its_wishes() {
    let (_fake, bmc) = start(|_| ()).await;
    assert!(matches!(bmc.set_bios(&wish()).await.unwrap(), ReadBack::Pending(_)));
    assert_eq!(bmc.discard_pending_bios().await.unwrap(), ReadBack::Confirmed);
    assert!(bmc.bios().await.unwrap().pending.is_empty());
    assert!(matches!(bmc.set_bios(&wish()).await.unwrap(), ReadBack::Pending(_)));
    bmc.power(PowerAction::On).await.unwrap();
    assert_eq!(bmc.power_state().await.unwrap(), PowerState::On);
    wait_until(async || bmc.bios().await.unwrap().attributes["FastBoot"].value == Some(BiosValue::Boolean(true))).await;
}
