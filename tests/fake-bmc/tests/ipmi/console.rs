//! The serial console, through good and bad networks.

use std::time::Duration;

use bessemer_fake_bmc::ipmi::{Options, Server};
use ipmi_client::command::GetDeviceId;
use ipmi_client::sol::Console;
use ipmi_client::{CompletionCode, IpmiError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::{client, host, start};

const SOON: Duration = Duration::from_secs(20);

async fn read(console: &mut Console, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    timeout(SOON, console.read_exact(&mut bytes)).await.expect("in time").unwrap();
    bytes
}

#[tokio::test]
async fn characters_go_both_ways() {
    for suite in super::SUITES {
        let options = Options { suites: vec![suite.id], ..Options::default() };
        let (server, mut server_side) = Server::start_with_console(host(), options).await.unwrap();
        let client = client(&server);
        let mut console = client.console(false).await.unwrap();
        server_side.prints.send(b"Debian GNU/Linux\r\nlogin: ".to_vec()).await.unwrap();
        assert_eq!(read(&mut console, 25).await, b"Debian GNU/Linux\r\nlogin: ");
        console.write_all(b"root\r").await.unwrap();
        let mut typed = Vec::new();
        while typed.len() < 5 {
            typed.extend(timeout(SOON, server_side.typed.recv()).await.expect("in time").unwrap());
        }
        assert_eq!(typed, b"root\r");
        console.send_break().await.unwrap();
        let arrived = async {
            while server.breaks() == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SOON, arrived).await.expect("in time");
        // Commands have a session of their own meanwhile.
        client.execute(&GetDeviceId).await.unwrap();
        assert_eq!(server.open_sessions(), 2);
        console.close().await;
        client.execute(&GetDeviceId).await.unwrap();
        assert_eq!(server.open_sessions(), 1);
    }
}

#[tokio::test]
async fn nothing_is_lost_doubled_or_swapped_on_a_bad_network() {
    let (_host, server) = start(Options::default()).await;
    let mut console = client(&server).console(false).await.unwrap();
    let text: Vec<u8> = (0..6000u32).map(|number| b' ' + u8::try_from(number * 7 % 94).unwrap()).collect();
    let (mut from, mut to) = tokio::io::split(&mut console);
    let spoil = async {
        for round in 0..40u32 {
            {
                let mut faults = server.faults();
                match round % 3 {
                    0 => faults.lose_answers = 1,
                    1 => faults.lose_requests = 1,
                    _ => faults.hold_answers = 1,
                }
            }
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    };
    let write = async { to.write_all(&text).await.unwrap() };
    let mut echo = vec![0; text.len()];
    let read = async { timeout(Duration::from_secs(60), from.read_exact(&mut echo)).await.expect("in time").unwrap() };
    tokio::join!(spoil, write, read);
    assert!(echo == text, "what came back is not what was typed");
}

#[tokio::test]
async fn a_slow_reader_makes_the_controller_wait() {
    let (server, server_side) = Server::start_with_console(host(), Options::default()).await.unwrap();
    let mut console = client(&server).console(false).await.unwrap();
    let text: Vec<u8> = (0..40_000u32).map(|number| b' ' + u8::try_from(number % 94).unwrap()).collect();
    let printed = text.clone();
    let prints = tokio::spawn(async move {
        for line in printed.chunks(500) {
            server_side.prints.send(line.to_vec()).await.unwrap();
        }
        server_side
    });
    // Longer than it takes to fill every buffer on the way.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(read(&mut console, text.len()).await == text, "what came is not what was printed");
    drop(prints.await.unwrap());
}

#[tokio::test]
async fn only_one_has_the_console_and_who_loses_it_is_told() {
    let (_host, server) = start(Options::default()).await;
    let (one, other) = (client(&server), client(&server));
    let mut first = one.console(false).await.unwrap();
    let error = other.console(false).await.unwrap_err();
    assert!(matches!(error, IpmiError::Completion { code: CompletionCode(0x80), .. }), "{error}");
    let mut second = other.console(true).await.unwrap();
    let lost = timeout(SOON, first.read_u8()).await.expect("in time").unwrap_err();
    assert_eq!(lost.kind(), std::io::ErrorKind::ConnectionReset);
    second.write_all(b"mine").await.unwrap();
    assert_eq!(read(&mut second, 4).await, b"mine");
    // Dropped rather than closed: it ends all the same.
    drop(second);
    let third = async {
        loop {
            match one.console(false).await {
                Ok(console) => break console,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    timeout(SOON, third).await.expect("in time").close().await;
}

#[tokio::test]
async fn a_console_that_is_switched_off_is_refused() {
    let (_host, server) = start(Options { sol_enabled: false, ..Options::default() }).await;
    let error = client(&server).console(true).await.unwrap_err();
    assert!(matches!(error, IpmiError::Completion { code: CompletionCode(0x81), .. }), "{error}");
    let error = client(&server).console(true).await.unwrap_err();
    assert_eq!(error.to_string(), "activate payload (serial over lan): command specific error (0x81)");
}
