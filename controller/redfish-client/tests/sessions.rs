//! One session per service, ended when it is over, and the password where there can be none.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails should panic")]

mod common;

use common::{Seen, Service, answer, ok, root, status};
use redfish_client::RedfishError;
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
async fn many_calls_share_one_session_that_is_ended() {
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
async fn a_session_that_ran_out_is_renewed_once_for_all() {
    let service = service(|seen| seen.header("x-auth-token") == Some("token-0")).await;
    let client = service.client(|_| ());
    let calls = (0..8).map(|_| client.get("/redfish/v1/Systems/1"));
    futures::future::try_join_all(calls).await.unwrap();
    let logins = service.lines().iter().filter(|line| *line == "POST /redfish/v1/Sessions").count();
    assert_eq!(logins, 2);
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
async fn a_full_table_of_sessions_falls_back_to_the_password() {
    let full = r#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"IDRAC.2.8.RAC0218"}]}}"#;
    let service = Service::start(move |seen, _| match (seen.path.as_str(), seen.header("authorization")) {
        ("/redfish/v1", None) => root(),
        ("/redfish/v1/Sessions", _) => answer(503, &[], full),
        (_, Some("Basic YWRtaW46czNjcjN0")) => ok(&json!({"Id": "1"})),
        _ => status(401),
    });
    let service = service.await;
    assert_eq!(service.client(|_| ()).get("/redfish/v1/Systems/1").await.unwrap().text("Id"), Some("1"));
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
