//! One session per service, ended when it is over, and the password where there can be none.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test that fails should panic")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Seen, Service, answer, ok, root, status};
use redfish_client::{Client, Login, Options, RedfishError, Reference};
use serde_json::json;

fn created(number: usize) -> axum::response::Response {
    let (token, place) = (format!("token-{number}"), format!("/redfish/v1/Sessions/{number}"));
    answer(201, &[("X-Auth-Token", &token), ("Location", &place)], "{}")
}

/// A service whose first token stops being good when `expired` says so.
async fn service(expired: fn(&Seen) -> bool) -> Service {
    Service::start(move |seen, before| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/redfish/v1") => root(),
        ("POST", "/redfish/v1/Sessions") => created(before),
        ("DELETE", _) => status(204),
        _ if seen.header("x-auth-token").is_none() || expired(seen) => status(401),
        _ => ok(&json!({"Id": "1"})),
    })
    .await
}

#[tokio::test]
async fn q24_q25_many_calls_share_one_session_that_is_ended() {
    let service = service(|_| false).await;
    let client = service.client(|_| ());
    let calls = (0..20).map(|_| client.get("/redfish/v1/Systems/1"));
    futures::future::try_join_all(calls).await.unwrap();
    client.close().await;
    let lines = service.lines();
    assert_eq!(lines.iter().filter(|line| *line == "POST /redfish/v1/Sessions").count(), 1);
    assert_eq!(lines.last().unwrap(), "DELETE /redfish/v1/Sessions/0");
    assert_eq!(service.seen()[1].body, json!({"UserName": "admin", "Password": "s3cr3t"}));
    assert!(service.seen().iter().all(|seen| seen.header("authorization").is_none()));
}

#[tokio::test]
async fn q28_a_session_that_ran_out_is_renewed_once_for_all() {
    let service = service(|seen| seen.header("x-auth-token") == Some("token-0")).await;
    let client = service.client(|_| ());
    let calls = (0..8).map(|_| client.get("/redfish/v1/Systems/1"));
    futures::future::try_join_all(calls).await.unwrap();
    let logins = service.lines().iter().filter(|line| *line == "POST /redfish/v1/Sessions").count();
    assert_eq!(logins, 2);
    client.close().await;
    // The one that ran out is ended too: to the service it may still be there.
    let mut ended: Vec<String> = service.lines().into_iter().filter(|line| line.starts_with("DELETE")).collect();
    ended.sort();
    assert_eq!(ended, ["DELETE /redfish/v1/Sessions/0", "DELETE /redfish/v1/Sessions/1"]);
}

#[tokio::test]
async fn there_is_never_more_than_one_session() {
    // A resource that refuses every session must not leave a trail of them.
    let service = service(|seen| seen.path == "/redfish/v1/Odd").await;
    let client = service.client(|_| ());
    for _ in 0..5 {
        client.get("/redfish/v1/Odd").await.unwrap_err();
        client.get("/redfish/v1/Systems/1").await.unwrap();
    }
    let (mut open, mut most) = (0_i32, 0);
    for line in service.lines() {
        match line.split_once(' ').unwrap().0 {
            "POST" => open += 1,
            "DELETE" => open -= 1,
            _ => most = most.max(open),
        }
    }
    assert_eq!((open, most), (1, 1), "{:?}", service.lines());
    // Whoever forgets to close it is cleaned up after.
    drop(client);
    for _ in 0..100 {
        if service.lines().last().unwrap().starts_with("DELETE") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("not ended: {:?}", service.lines().last());
}

#[tokio::test]
async fn a_wrong_password_is_tried_once_for_many_calls() {
    let service = Service::start(|seen, _| match seen.method.as_str() {
        "GET" => root(),
        _ => answer(401, &[], r#"{"error":{"@Message.ExtendedInfo":[{"Message":"Account locked."}]}}"#),
    });
    let service = service.await;
    for sessions in [true, false] {
        let client = service.client(|options| options.sessions = sessions);
        let before = service.seen().len();
        let (act, nothing) = (Reference::parse("/redfish/v1/act").unwrap(), json!({}));
        let calls = (0..10).map(|_| client.post(&act, &nothing));
        for outcome in futures::future::join_all(calls).await {
            let error = outcome.unwrap_err();
            assert!(matches!(&error, RedfishError::Unauthorized { .. }), "{error}");
            assert!(error.to_string().contains("Account locked"), "{error}");
        }
        let tries = service.seen()[before..].iter().filter(|seen| seen.method == "POST").count();
        assert_eq!(tries, 1, "with sessions: {sessions}");
    }
}

#[tokio::test]
async fn q29_a_password_that_must_be_changed_first_is_its_own_error() {
    let body = r#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"Base.1.16.PasswordChangeRequired"}]}}"#;
    let service = Service::start(move |seen, before| match seen.path.as_str() {
        "/redfish/v1" => root(),
        "/redfish/v1/Sessions" => created(before),
        _ => answer(403, &[], body),
    });
    let error = service.await.client(|_| ()).get("/redfish/v1/Systems").await.unwrap_err();
    assert!(matches!(&error, RedfishError::PasswordChangeRequired { .. }), "{error}");
    assert!(error.to_string().contains("password of user \"admin\" must be changed"), "{error}");
}

#[tokio::test]
async fn q26_a_vendor_gets_its_field_where_its_name_is_shown() {
    let service = Service::start(|seen, before| match (seen.path.as_str(), seen.body.get("Oem")) {
        ("/redfish/v1", _) => ok(&json!({
            "Oem": {"Huawei": {}}, "Links": {"Sessions": {"@odata.id": "/redfish/v1/Sessions"}},
        })),
        ("/redfish/v1/Sessions", Some(oem)) if oem["Huawei"]["Domain"] == "LocaliBMC" => created(before),
        ("/redfish/v1/Sessions", _) => status(400),
        _ if seen.header("x-auth-token").is_some() => ok(&json!({"Id": "1"})),
        _ => status(401),
    });
    let service = service.await;
    let login = Login::new("admin", "s3cr3t").with_oem("Huawei", json!({"Domain": "LocaliBMC"}));
    let client = Client::new(&format!("http://{}", service.address), Some(login), Options::default()).unwrap();
    client.get("/redfish/v1/Systems/1").await.unwrap();
}

#[tokio::test]
async fn a_refused_password_is_tried_no_further() {
    let service = Service::start(|seen, _| match seen.method.as_str() {
        "GET" => root(),
        _ => answer(401, &[], r#"{"error":{"@Message.ExtendedInfo":[{"Message":"Invalid user."}]}}"#),
    });
    let service = service.await;
    let error = service.client(|_| ()).get("/redfish/v1/Systems").await.unwrap_err();
    assert!(matches!(&error, RedfishError::Unauthorized { user, .. } if user == "admin"), "{error}");
    assert!(!error.to_string().contains("s3cr3t") && error.to_string().contains("Invalid user"), "{error}");
    assert_eq!(service.lines(), ["GET /redfish/v1", "POST /redfish/v1/Sessions"]);
}

#[tokio::test]
async fn q24_a_full_table_of_sessions_falls_back_to_the_password() {
    for (code, full) in [
        (503, r#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"IDRAC.2.8.RAC0218"}]}}"#),
        (503, r#"{"error":{"message":"The maximum number of user sessions has been reached."}}"#),
        (400, r#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"Base.1.8.SessionLimitExceeded"}]}}"#),
    ] {
        let service = Service::start(move |seen, _| match (seen.path.as_str(), seen.header("authorization")) {
            ("/redfish/v1", None) => root(),
            ("/redfish/v1/Sessions", _) => answer(code, &[], full),
            (_, Some("Basic YWRtaW46czNjcjN0")) => ok(&json!({"Id": "1"})),
            _ => status(401),
        });
        let service = service.await;
        assert_eq!(service.client(|_| ()).get("/redfish/v1/Systems/1").await.unwrap().text("Id"), Some("1"));
        let logins = service.lines().iter().filter(|line| *line == "POST /redfish/v1/Sessions").count();
        assert_eq!(logins, 1, "{code} {full}");
    }
}

#[tokio::test]
async fn a_service_that_starts_is_asked_again_for_a_session() {
    for (code, starting) in [(503, ""), (503, "<html>starting</html>"), (429, "")] {
        let service = Service::start(move |seen, before| match (seen.path.as_str(), before) {
            ("/redfish/v1", _) => root(),
            ("/redfish/v1/Sessions", 0 | 1) => answer(code, &[], starting),
            ("/redfish/v1/Sessions", _) => created(before),
            _ if seen.header("x-auth-token").is_some() => ok(&json!({"Id": "1"})),
            _ => status(401),
        });
        let service = service.await;
        service.client(|_| ()).get("/redfish/v1/Systems/1").await.unwrap();
        assert!(service.seen().iter().all(|seen| seen.header("authorization").is_none()), "{:?}", service.lines());
    }
}

#[tokio::test]
async fn where_the_password_does_not_do_for_a_session_another_is_asked_for() {
    let full = r#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"IDRAC.2.8.RAC0218"}]}}"#;
    let service = Service::start(move |seen, before| match (seen.path.as_str(), before) {
        ("/redfish/v1", _) => root(),
        ("/redfish/v1/Sessions", 0) => answer(503, &[], full),
        ("/redfish/v1/Sessions", _) => created(before),
        _ if seen.header("x-auth-token").is_some() => ok(&json!({"Id": "1"})),
        _ => status(401),
    });
    let service = service.await;
    let client = service.client(|_| ());
    client.get("/redfish/v1/Systems/1").await.unwrap();
    client.get("/redfish/v1/Systems/1").await.unwrap();
    let passwords = service.seen().iter().filter(|seen| seen.header("authorization").is_some()).count();
    assert_eq!(passwords, 1);
}

#[tokio::test]
async fn a_session_is_ended_also_when_nobody_waited_for_it() {
    let asked = Arc::new(tokio::sync::Notify::new());
    let tell = Arc::clone(&asked);
    let service = Service::start(move |seen, before| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/redfish/v1") => root(),
        ("POST", "/redfish/v1/Sessions") => {
            tell.notify_one();
            created(before)
        }
        ("DELETE", _) => status(204),
        _ => ok(&json!({"Id": "1"})),
    });
    let service = service.await;
    let client = service.client(|_| ());
    tokio::select! {
        biased;
        () = asked.notified() => {}
        _ = client.get("/redfish/v1/Systems/1") => panic!("it was to be given up before"),
    }
    client.close().await;
    assert_eq!(service.lines(), ["GET /redfish/v1", "POST /redfish/v1/Sessions", "DELETE /redfish/v1/Sessions/0"]);
}

#[tokio::test]
async fn what_anyone_may_see_proves_no_password() {
    let service = Service::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1" => root(),
        "/redfish/v1/starting" => status(503),
        _ => status(401),
    });
    let service = service.await;
    let client = service.client(|options| {
        options.sessions = false;
        options.attempts = 1;
    });
    client.root().await.unwrap();
    client.get("/redfish/v1/starting").await.unwrap_err();
    let act = Reference::parse("/redfish/v1/act").unwrap();
    let nothing = json!({});
    futures::future::join_all((0..10).map(|_| client.post(&act, &nothing))).await;
    let tries = service.lines().iter().filter(|line| *line == "POST /redfish/v1/act").count();
    assert_eq!(tries, 1);
}

/// A 401 of one resource, as for want of a licence, is not a wrong password where that was good just now.
#[tokio::test]
async fn q94_a_resource_that_refuses_locks_nobody_out() {
    let changed = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&changed);
    let service = Service::start(move |seen, _| match seen.path.as_str() {
        "/redfish/v1/Licensed" => status(401),
        _ if now.load(Ordering::SeqCst) => status(401),
        _ => ok(&json!({"Id": "1"})),
    });
    let service = service.await;
    let client = service.simple();
    for _ in 0..3 {
        client.get("/redfish/v1/Systems/1").await.unwrap();
        client.get("/redfish/v1/Licensed").await.unwrap_err();
    }
    // A password that was changed meanwhile is not tried for ever.
    changed.store(true, Ordering::SeqCst);
    let before = service.seen().len();
    for _ in 0..5 {
        client.get("/redfish/v1/Systems/1").await.unwrap_err();
    }
    assert_eq!(service.seen().len() - before, 1);
}

#[tokio::test]
async fn a_root_without_sessions_means_the_password() {
    let service = Service::start(|seen, _| match seen.header("authorization") {
        None if seen.path == "/redfish/v1" => ok(&json!({"Systems": {"@odata.id": "/redfish/v1/Systems"}})),
        Some(_) => ok(&json!({"Id": "1"})),
        None => status(401),
    });
    let service = service.await;
    service.client(|_| ()).get("/redfish/v1/Systems/1").await.unwrap();
    assert_eq!(service.lines(), ["GET /redfish/v1", "GET /redfish/v1/Systems/1"]);
}
