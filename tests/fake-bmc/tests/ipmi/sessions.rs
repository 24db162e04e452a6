//! Sessions that must not stay behind, and which cipher suite they are opened with.

use std::future::Future;
use std::time::Duration;

use bessemer_fake_bmc::ipmi::{Options, Server};
use ipmi_client::command::GetDeviceId;
use ipmi_client::{IpmiError, SUITE_17};
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

use super::{PASSWORD, USER, client, client_with, quick, start};

const SOON: Duration = Duration::from_secs(20);

async fn until(what: impl Fn() -> bool) {
    let watch = async {
        while !what() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, watch).await.expect("in time");
}

/// Drops `act` once the controller has got the `requests`th request in a session, which it answers late.
async fn cancelled_at(server: &Server, requests: u64, act: impl Future) {
    server.faults().latency = Duration::from_millis(50);
    tokio::select! {
        _ = act => panic!("it was not to end"),
        () = until(|| {
            let due = server.requests() == requests;
            if due {
                server.faults().lose_answers = 1;
            }
            due
        }) => {}
    }
}

#[tokio::test]
async fn whoever_is_cancelled_leaves_no_session_behind() {
    let (_host, server) = start(Options::default()).await;
    let client = client(&server);
    // While the privilege is asked for, and while the console is.
    cancelled_at(&server, 1, client.execute(&GetDeviceId)).await;
    until(|| server.open_sessions() == 0).await;
    let before = server.requests();
    cancelled_at(&server, before + 2, client.console(false)).await;
    until(|| server.open_sessions() == 0).await;
    assert_eq!(server.sessions_opened(), 2);
}

#[tokio::test]
async fn a_console_that_was_shut_down_is_free_at_once() {
    let (_host, server) = start(Options::default()).await;
    let (one, other) = (client(&server), client(&server));
    for _ in 0..3 {
        let mut console = one.console(false).await.unwrap();
        server.faults().latency = Duration::from_millis(20);
        console.shutdown().await.unwrap();
        console.shutdown().await.unwrap();
        other.console(false).await.expect("nobody has it").close().await;
        server.faults().latency = Duration::ZERO;
    }
    until(|| server.open_sessions() == 0).await;
}

#[tokio::test]
async fn a_controller_that_drops_what_it_does_not_know_is_asked_for_less() {
    let (_host, server) = start(Options { suites: vec![3], ..Options::default() }).await;
    server.faults().drops_unknown_suites = true;
    let first = client(&server);
    first.execute(&GetDeviceId).await.unwrap();
    assert_eq!((first.suite().await.unwrap().id, first.downgrade().await), (3, None));
    // One that has used a better suite before is not talked down by silence.
    let knowing = ipmi_client::Options { known_suite: Some(&SUITE_17), deadline: Duration::from_secs(4), ..quick() };
    let error = client_with(&server, USER, PASSWORD, knowing).execute(&GetDeviceId).await.unwrap_err();
    assert!(matches!(error, IpmiError::Timeout { .. }), "{error}");
    // And one that is silent for a while, as after a restart, gets the best it does in the end.
    let (_host, server) = start(Options { suites: vec![17], ..Options::default() }).await;
    server.faults().lose_requests = u32::MAX;
    let patient = client_with(&server, USER, PASSWORD, ipmi_client::Options { deadline: SOON, ..quick() });
    let restart = async {
        sleep(Duration::from_millis(1500)).await;
        server.faults().lose_requests = 0;
    };
    let (answer, ()) = tokio::join!(patient.execute(&GetDeviceId), restart);
    answer.unwrap();
    assert_eq!(patient.suite().await, Some(&SUITE_17));
}
