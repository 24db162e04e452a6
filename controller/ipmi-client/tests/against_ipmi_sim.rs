//! The client against OpenIPMI's simulator: a BMC that shares no code with us.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

use std::time::Duration;

use ipmi_client::command::{
    BootDevice, BootFlags, ChassisControl, GetBootFlags, GetChassisStatus, GetDeviceId, GetSystemGuid,
    KeepBootFlagsValid, SetBootFlags,
};
use ipmi_client::sel::Event;
use ipmi_client::{Client, IpmiError, Login, Options, Privilege, SUITE_17};
use ipmi_client::{Reading, sdr::SensorClass};
use sim::Sim;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;

mod sim;

fn quick() -> Options {
    Options {
        deadline: Duration::from_secs(8),
        retransmit_after: Duration::from_millis(300),
        give_up_session_after: Duration::from_secs(3),
        ..Options::default()
    }
}

fn client(sim: &Sim, user: &str, password: &str) -> Client {
    Client::new("127.0.0.1", sim.port(), Login::new(user, password).unwrap(), quick())
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
async fn many_commands_share_one_session() {
    let sim = start_or_skip!();
    let client = client(&sim, sim::USER, sim::PASSWORD);
    let id = client.execute(&GetDeviceId).await.unwrap();
    assert_eq!((id.manufacturer, id.product, id.firmware_major, id.firmware_minor), (0x1291, 0xf02, 9, 8));
    for round in 0..100 {
        let status = client.execute(&GetChassisStatus).await.unwrap();
        assert!(!status.power_is_on, "round {round}");
    }
    assert_eq!(client.sessions_opened().await, 1);
}

#[tokio::test]
async fn power_and_boot_reach_the_chassis() {
    let sim = start_or_skip!();
    let client = client(&sim, sim::USER, sim::PASSWORD);
    client.execute(&ChassisControl::PowerUp).await.unwrap();
    assert_eq!(sim.read("power"), "1");
    assert!(client.execute(&GetChassisStatus).await.unwrap().power_is_on);
    client.execute(&ChassisControl::PowerDown).await.unwrap();
    assert_eq!(sim.read("power"), "0");

    let kept = client.execute(&KeepBootFlagsValid).await;
    assert!(matches!(kept, Ok(()) | Err(IpmiError::Completion { .. })), "{kept:?}");
    let flags = BootFlags { valid: true, persistent: false, efi: true, device: BootDevice::Pxe };
    client.execute(&SetBootFlags(flags)).await.unwrap();
    assert_eq!(sim.read("boot"), "pxe");
    assert_eq!(client.execute(&GetBootFlags).await.unwrap().flags.device, BootDevice::Pxe);
    assert_eq!(client.execute(&GetSystemGuid).await.unwrap()[..3], [0xa1, 0x23, 0x45]);
    assert_eq!(client.sessions_opened().await, 1);
}

#[tokio::test]
async fn a_wrong_password_is_told_from_silence() {
    let mut sim = start_or_skip!();
    assert!(client(&sim, sim::USER, sim::PASSWORD).execute(&GetDeviceId).await.is_ok());
    for (user, password) in [(sim::USER, "wrong"), (sim::USER, ""), ("nobody", sim::PASSWORD)] {
        let error = client(&sim, user, password).execute(&GetDeviceId).await.unwrap_err();
        assert!(matches!(error, IpmiError::AuthenticationRejected { .. }), "{user}: {error:?}");
    }
    sim.stop();
    let begun = std::time::Instant::now();
    let error = client(&sim, sim::USER, sim::PASSWORD).execute(&GetDeviceId).await.unwrap_err();
    assert!(begun.elapsed() < quick().deadline + Duration::from_secs(1));
    assert!(matches!(error, IpmiError::Timeout { .. }), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_users_privilege_limits_the_session() {
    let sim = start_or_skip!();
    let login = Login::new(sim::LOOKER, sim::PASSWORD).unwrap().with_privilege(Privilege::User);
    let looker = Client::new("127.0.0.1", sim.port(), login, quick());
    assert!(!looker.execute(&GetChassisStatus).await.unwrap().power_is_on);
    let error = looker.execute(&ChassisControl::PowerUp).await.unwrap_err();
    assert!(matches!(error, IpmiError::Completion { code: ipmi_client::CompletionCode::INSUFFICIENT_PRIVILEGE, .. }));
    assert_eq!(sim.read("power"), "0");
}

#[tokio::test]
async fn a_slow_reset_happens_once() {
    let sim = start_or_skip!();
    sim.write("slow", "");
    let client = client(&sim, sim::USER, sim::PASSWORD);
    client.execute(&ChassisControl::HardReset).await.unwrap();
    // Its answer comes after whatever the simulator may have queued.
    client.execute(&GetChassisStatus).await.unwrap();
    assert_eq!(sim.read("calls").matches("set reset 1").count(), 1, "{}", sim.read("calls"));
}

#[tokio::test]
async fn a_reset_without_an_answer_is_not_sent_again() {
    let sim = start_or_skip!();
    sim.write("slow", "");
    let options = Options { deadline: Duration::from_secs(2), ..quick() };
    let login = Login::new(sim::USER, sim::PASSWORD).unwrap();
    let client = Client::new("127.0.0.1", sim.port(), login, options);
    client.execute(&GetChassisStatus).await.unwrap();
    let error = client.execute(&ChassisControl::HardReset).await.unwrap_err();
    assert!(matches!(error, IpmiError::Timeout { .. }), "{error:?}");
    // The simulator is busy with the reset; this client's session waits until it is through with it.
    let patient = self::client(&sim, sim::USER, sim::PASSWORD);
    patient.execute(&GetChassisStatus).await.unwrap();
    assert_eq!(sim.read("calls").matches("set reset 1").count(), 1, "{}", sim.read("calls"));
}

#[tokio::test]
async fn suites_outside_the_list_are_not_used() {
    let sim = start_or_skip!();
    let options = Options { suites: vec![&SUITE_17], ..quick() };
    let login = Login::new(sim::USER, sim::PASSWORD).unwrap();
    let error = Client::new("127.0.0.1", sim.port(), login, options).execute(&GetDeviceId).await.unwrap_err();
    assert!(matches!(&error, IpmiError::NoCommonCipherSuite { allowed } if allowed == "17"), "{error:?}");
}

#[tokio::test]
async fn a_restarted_bmc_gets_a_new_session() {
    let mut sim = start_or_skip!();
    let client = client(&sim, sim::USER, sim::PASSWORD);
    client.execute(&ChassisControl::PowerUp).await.unwrap();
    sim.restart();
    assert!(client.execute(&GetChassisStatus).await.unwrap().power_is_on);
    assert_eq!(client.sessions_opened().await, 2);
}

#[tokio::test]
async fn closed_sessions_free_their_slots() {
    let sim = start_or_skip!();
    // The simulator has a few dozen slots: more clients than that only fit when each leaves.
    for round in 0..80 {
        let client = client(&sim, sim::USER, sim::PASSWORD);
        client.execute(&GetDeviceId).await.unwrap_or_else(|error| panic!("round {round}: {error}"));
        if round % 2 == 0 {
            client.close().await;
        }
    }
}

#[tokio::test]
async fn lost_datagrams_are_sent_again() {
    let sim = start_or_skip!();
    let relay = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = relay.local_addr().unwrap().port();
    let onward = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    onward.connect(("127.0.0.1", sim.port())).await.unwrap();
    // Of the datagrams in each direction, every third is lost; the handshake's are among them.
    let lossy = tokio::spawn(async move {
        let (mut out, mut back) = ([0; 1024], [0; 1024]);
        let (mut sent, mut answered, mut console) = (0, 0, None);
        loop {
            tokio::select! {
                Ok((length, from)) = relay.recv_from(&mut out) => {
                    console = Some(from);
                    sent += 1;
                    if sent % 3 != 0 {
                        onward.send(&out[..length]).await.ok();
                    }
                }
                Ok(length) = onward.recv(&mut back) => {
                    answered += 1;
                    if let Some(console) = console && answered % 3 != 1 {
                        relay.send_to(&back[..length], console).await.ok();
                    }
                }
            }
        }
    });
    let login = Login::new(sim::USER, sim::PASSWORD).unwrap();
    let client = Client::new("127.0.0.1", port, login, quick());
    for _ in 0..10 {
        client.execute(&GetChassisStatus).await.unwrap();
    }
    assert_eq!(client.sessions_opened().await, 1);
    lossy.abort();
}

#[tokio::test]
async fn records_sensors_inventory_and_log() {
    let sim = start_or_skip!();
    let client = client(&sim, sim::USER, sim::PASSWORD);
    let inventory = client.read_sdr().await.unwrap();
    assert_eq!((inventory.sensors.len(), inventory.unreadable.len()), (1, 0), "{inventory:?}");
    let sensor = &inventory.sensors[0];
    assert_eq!((sensor.name.as_str(), sensor.class), ("CPU Temp", SensorClass::Threshold));
    let value = client.read_sensor(sensor).await.unwrap();
    assert_eq!(value.reading, Reading::Value(96.0));
    let upper = (value.thresholds.upper_non_critical, value.thresholds.upper_critical);
    assert_eq!((upper, value.thresholds.lower_critical), ((Some(98.0), Some(100.0)), None));

    let product = client.read_fru(0).await.unwrap().product.unwrap();
    assert_eq!((product.name.as_deref(), product.serial.as_deref()), (Some("Box"), Some("S123")));

    let page = client.read_sel(None, 10).await.unwrap();
    assert_eq!((page.entries.len(), page.next), (1, None), "{page:?}");
    let Event::Sensor(event) = &page.entries[0].event else { panic!("{page:?}") };
    assert_eq!(event.to_string(), "temperature 0x01: upper critical, going high: asserted");
    assert_eq!(client.sessions_opened().await, 1);
}

#[tokio::test]
async fn a_serial_console_through_openipmi() {
    const SOON: Duration = Duration::from_secs(20);
    let sim = start_or_skip!();
    let listener = sim.serial().try_clone().unwrap();
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let (mut server, _) = tokio::time::timeout(SOON, listener.accept()).await.expect("in time").unwrap();
    let client = client(&sim, sim::USER, sim::PASSWORD);
    let mut console = client.console(true).await.unwrap();
    let printed: Vec<u8> = (0..3000u32).map(|number| b' ' + u8::try_from(number % 94).unwrap()).collect();
    for part in printed.chunks(100) {
        server.write_all(part).await.unwrap();
        let mut shown = vec![0; part.len()];
        tokio::time::timeout(SOON, console.read_exact(&mut shown)).await.expect("in time").unwrap();
        assert_eq!(shown, part);
    }
    let text = b"systemctl poweroff --force --force and more than one packet holds, one would think\r";
    console.write_all(text).await.unwrap();
    let mut typed = vec![0; text.len()];
    tokio::time::timeout(SOON, server.read_exact(&mut typed)).await.expect("in time").unwrap();
    assert_eq!(typed, text);
    console.close().await;
    // Free again, for whoever does not take over.
    client.console(false).await.unwrap().close().await;
}
