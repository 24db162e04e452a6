//! The product's client when things go wrong: what is lost is sent again, what is forged is ignored, what is busy is
//! asked again, and what cannot be healed is an error that says so.

use std::time::{Duration, Instant};

use bessemer_fake_bmc::ipmi::{Options, Verdict};
use ipmi_client::command::{ChassisControl, GetChassisStatus, GetDeviceId};
use ipmi_client::{Client, CompletionCode, IpmiError, Login, Reading};
use tokio::net::UdpSocket;

use super::{PASSWORD, USER, client, quick, start};

#[tokio::test]
async fn what_is_forged_late_or_twice_is_ignored() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    let id = client.execute(&GetDeviceId).await.unwrap();
    for round in 0..6 {
        {
            let mut faults = server.faults();
            match round {
                0 => faults.forge_answers = 3,
                1 => faults.bare_answers = 3,
                2 => faults.replay_answers = 3,
                3 => faults.double_answers = 3,
                4 => faults.garbage = 3,
                _ => faults.hold_answers = 1,
            }
        }
        for _ in 0..3 {
            assert_eq!(client.execute(&GetDeviceId).await.unwrap(), id, "round {round}");
            // Another command right behind: a late answer must not be taken for its.
            assert!(!client.execute(&GetChassisStatus).await.unwrap().power_is_on, "round {round}");
        }
    }
    assert_eq!((client.sessions_opened().await, server.sessions_opened()), (1, 1));
}

#[tokio::test]
async fn lost_datagrams_are_sent_again_and_carried_out_once() {
    let (host, server) = start(Options::default()).await;
    let client = client(&server);
    client.execute(&ChassisControl::PowerUp).await.unwrap();
    let before = server.requests();
    server.faults().lose_answers = 2;
    client.execute(&GetChassisStatus).await.unwrap();
    assert_eq!(server.requests() - before, 3);
    server.faults().lose_requests = 2;
    client.execute(&GetChassisStatus).await.unwrap();
    // A reset whose answer is lost is not asked for again.
    server.faults().lose_answers = 1;
    let boots = host.boots();
    let error = client.execute(&ChassisControl::HardReset).await.unwrap_err();
    assert!(matches!(error, IpmiError::Timeout { .. }), "{error}");
    assert_eq!(host.boots() - boots, 1);
}

#[tokio::test]
async fn a_handshake_survives_its_first_datagrams_loss() {
    for lost in 0..4 {
        for answers in [false, true] {
            let (_host, server) = start(Options::default()).await;
            let client = client(&server);
            {
                let mut faults = server.faults();
                if answers { faults.lose_answers = lost } else { faults.lose_requests = lost }
            }
            client.execute(&GetDeviceId).await.unwrap();
            assert_eq!(server.open_sessions(), 1, "{lost} {answers}");
        }
    }
}

#[tokio::test]
async fn a_wrong_checksum_is_dropped_and_asked_again() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    client.execute(&GetDeviceId).await.unwrap();
    server.faults().break_checksums = 1;
    // The repetition is answered from what the controller remembers.
    client.execute(&GetChassisStatus).await.unwrap();
    server.faults().break_checksums = 1000;
    let error = client.execute(&GetChassisStatus).await.unwrap_err();
    assert!(matches!(error, IpmiError::Malformed(_)), "{error}");
    assert_eq!(error.to_string(), "ipmi response has a wrong checksum");
    assert_eq!(client.sessions_opened().await, 1);
}

#[tokio::test]
async fn a_short_answer_is_an_error_and_no_panic() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    client.execute(&GetDeviceId).await.unwrap();
    server.faults().cut_answers = Some(1);
    let error = client.execute(&GetChassisStatus).await.unwrap_err();
    assert!(matches!(error, IpmiError::Malformed(_)), "{error}");
    for result in [client.read_sel(None, 5).await.map(drop), client.read_sdr().await.map(drop)] {
        assert!(matches!(result.unwrap_err(), IpmiError::Malformed(_)));
    }
    server.faults().cut_answers = None;
    client.execute(&GetChassisStatus).await.unwrap();
    assert_eq!(client.sessions_opened().await, 1);
}

#[tokio::test]
async fn a_restart_costs_one_log_in() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    for round in 1..=3 {
        client.execute(&GetDeviceId).await.unwrap();
        assert_eq!(client.sessions_opened().await, round);
        server.forget_sessions();
    }
    client.execute(&GetDeviceId).await.unwrap();
    client.close().await;
    assert_eq!(server.sessions_opened(), 4);
}

#[tokio::test]
async fn q133_every_code_of_the_key_exchange_is_checked() {
    let (_host, server) = start(Options::default()).await;
    server.faults().wrong_rakp2 = true;
    let error = client(&server).execute(&GetDeviceId).await.unwrap_err();
    assert!(matches!(error, IpmiError::AuthenticationRejected { .. }), "{error}");
    {
        let mut faults = server.faults();
        faults.wrong_rakp2 = false;
        faults.wrong_rakp4 = true;
    }
    let error = client(&server).execute(&GetDeviceId).await.unwrap_err();
    assert!(matches!(error, IpmiError::AuthenticationRejected { .. }), "{error}");
}

#[tokio::test]
async fn a_full_controller_says_so() {
    let (_host, server) = start(Options::default()).await;
    server.faults().sessions_max = Some(1);
    let first = client(&server);
    first.execute(&GetDeviceId).await.unwrap();
    let error = client(&server).execute(&GetDeviceId).await.unwrap_err();
    assert!(matches!(error, IpmiError::SessionRefused { status, .. } if status.is_transient()), "{error}");
}

#[tokio::test]
async fn records_are_read_through_small_buffers_and_lost_reservations() {
    let (host, server) = start(Options::default()).await;
    for _ in 0..5 {
        host.log().add("OK", "something");
    }
    let client = client(&server);
    let whole = (client.read_sdr().await.unwrap(), client.read_fru(0).await.unwrap());
    for max in [20, 10, 7] {
        server.faults().answer_max = Some(max);
        server.faults().lose_reservations = 3;
        assert_eq!(client.read_sdr().await.unwrap(), whole.0, "{max}");
        assert_eq!(client.read_fru(0).await.unwrap(), whole.1, "{max}");
        server.faults().lose_reservations = 3;
        assert_eq!(client.read_sel(None, 9).await.unwrap().entries.len(), 5);
    }
    // Somebody who takes it away for ever wins.
    server.faults().lose_reservations = 1000;
    let error = client.read_sdr().await.unwrap_err();
    assert!(matches!(error, IpmiError::Completion { code: CompletionCode::RESERVATION_LOST, .. }), "{error}");
}

#[tokio::test]
async fn a_sensor_that_is_refused_hides_no_other() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    let sensors = client.read_sdr().await.unwrap().sensors;
    let refused = Verdict { function: 0x04, command: 0x2d, first: Some(0x01), code: 0xcb, times: 1 };
    server.faults().verdicts = vec![refused];
    let mut readings = Vec::new();
    for sensor in &sensors {
        readings.push(client.read_sensor(sensor).await.unwrap().reading);
    }
    assert_eq!(readings[0], Reading::Refused(CompletionCode::NOT_PRESENT));
    assert_eq!(readings.iter().filter(|reading| matches!(reading, Reading::Refused(_))).count(), 1);
}

#[tokio::test]
async fn silence_ends_at_the_deadline() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    client.execute(&GetDeviceId).await.unwrap();
    server.faults().lose_requests = u32::MAX;
    let begun = Instant::now();
    let error = client.execute(&GetDeviceId).await.unwrap_err();
    assert!(matches!(error, IpmiError::Timeout { .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(8));
}

/// A busy BMC answers a message 1 of the handshake that came twice with two nonces, and holds the console to the second.
#[tokio::test]
async fn a_challenge_that_came_twice_is_no_wrong_password() {
    let (_host, server) = start(Options::default()).await;
    let relay = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = relay.local_addr().unwrap().port();
    let onward = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    onward.connect(server.address()).await.unwrap();
    let relaying = tokio::spawn(async move {
        let (mut out, mut back) = ([0; 1024], [0; 1024]);
        let (mut doubled, mut console) = (false, None);
        loop {
            tokio::select! {
                Ok((length, from)) = relay.recv_from(&mut out) => {
                    console = Some(from);
                    onward.send(&out[..length]).await.unwrap();
                    // RAKP message 1, once
                    if out[5] & 0x3f == 0x12 && !std::mem::replace(&mut doubled, true) {
                        onward.send(&out[..length]).await.unwrap();
                    }
                }
                Ok(length) = onward.recv(&mut back) => {
                    relay.send_to(&back[..length], console.unwrap()).await.unwrap();
                }
            }
        }
    });
    let login = Login::new(USER, PASSWORD).unwrap();
    let client = Client::new("127.0.0.1", port, login, quick());
    assert!(!client.execute(&GetChassisStatus).await.unwrap().power_is_on);
    relaying.abort();
}
