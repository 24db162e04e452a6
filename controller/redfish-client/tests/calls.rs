//! Reads and writes against a service that behaves as services do.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails should panic")]

mod common;

use std::time::Duration;

use common::{Seen, Service, answer, ok, status};
use redfish_client::{RedfishError, Reference};
use serde_json::json;

fn at(path: &str) -> Reference {
    Reference::parse(path).unwrap()
}

#[tokio::test]
async fn a_collection_is_read_through_its_pages_and_gaps() {
    let service = Service::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1/Systems" => ok(&json!({
            "Members": [{"@odata.id": "/redfish/v1/Systems/1/"}, {"@odata.id": "/redfish/v1/Systems/gone"}],
            "Members@odata.count": 9,
            "Members@odata.nextLink": "/redfish/v1/Systems?$skip=2",
        })),
        // The second page leads back to the first.
        "/redfish/v1/Systems?$skip=2" => ok(&json!({
            "Members": [{"@odata.id": "/redfish/v1/Systems/2"}],
            "Members@odata.nextLink": "/redfish/v1/Systems",
        })),
        "/redfish/v1/Systems/1" | "/redfish/v1/Systems/2" => ok(&json!({"Id": "x"})),
        "/redfish/v1/Null" => ok(&json!({"Members": null})),
        _ => status(404),
    });
    let service = service.await;
    let client = service.simple();
    let found = client.members("/redfish/v1/Systems/").await.unwrap();
    assert_eq!(found.iter().map(|member| member.uri().id()).collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(client.members("/redfish/v1/Null").await.unwrap(), []);
    assert_eq!(client.members("/redfish/v1/Nothing").await.unwrap(), []);
}

#[tokio::test]
async fn q20_q77_a_service_that_is_starting_is_waited_for() {
    let service = Service::start(|_, before| match before {
        0 => answer(503, &[("Retry-After", "0")], "<html>starting</html>"),
        1 => answer(200, &[("Content-Type", "text/html")], "<html>starting</html>"),
        2 => answer(200, &[], ""),
        _ => ok(&json!({"RedfishVersion": "1.6.0"})),
    });
    let service = service.await;
    let root = service.simple().root().await.unwrap();
    assert_eq!(root.text("RedfishVersion"), Some("1.6.0"));
    assert_eq!(service.seen().len(), 4);
}

#[tokio::test]
async fn attempts_end() {
    let service = Service::start(|_, _| status(503)).await;
    let error = service.client(|options| {
        options.sessions = false;
        options.attempts = 3;
    });
    let error = error.root().await.unwrap_err();
    assert_eq!(service.seen().len(), 3);
    assert!(error.is_transient() && error.to_string().contains("503"), "{error}");
}

#[tokio::test]
async fn a_write_that_may_have_arrived_is_not_repeated() {
    let service = Service::start(|_, _| status(500)).await;
    let error = service.simple().post(&at("/redfish/v1/reset"), &json!({})).await.unwrap_err();
    assert_eq!(service.seen().len(), 1, "{error}");
}

#[tokio::test]
async fn q2_q14_q17_an_action_has_a_body_and_no_if_match() {
    let service = Service::start(|seen, _| match seen.header("if-match") {
        Some(_) => status(412),
        None => status(204),
    });
    let service = service.await;
    service.simple().post(&at("/redfish/v1/eject"), &serde_json::Value::Null).await.unwrap();
    let seen = service.seen().remove(0);
    assert_eq!(seen.body, json!({}));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("odata-version"), Some("4.0"));
    assert_eq!(seen.header("accept-encoding"), None);
}

/// The `If-Match` of each write that a service of this taste saw until it took one.
async fn climbed(etag: &'static str, takes: fn(&Seen) -> bool) -> Vec<String> {
    let service = Service::start(move |seen, _| match seen.method.as_str() {
        "GET" => answer(200, &[("ETag", etag)], r#"{"Id":"1"}"#),
        _ if takes(seen) => status(204),
        _ => status(412),
    });
    let service = service.await;
    let client = service.simple();
    let system = client.get("/redfish/v1/Systems/1").await.unwrap();
    client.patch(&system, &json!({"AssetTag": "x"})).await.unwrap();
    let writes = service.seen().into_iter().filter(|seen| seen.method == "PATCH");
    writes.map(|seen| seen.header("if-match").unwrap_or("-").to_owned()).collect()
}

#[tokio::test]
async fn q4_q6_q8_the_etag_is_spelt_as_the_service_likes_it() {
    let strong = climbed("W/\"7\"", |seen| seen.header("if-match") == Some("\"7\"")).await;
    assert_eq!(strong, ["W/\"7\"", "W/\"7\"", "\"7\""]);
    let plain = climbed("\"7-gzip\"", |seen| seen.header("if-match") == Some("\"7\"")).await;
    assert_eq!(plain, ["\"7-gzip\"", "\"7-gzip\"", "\"7\""]);
    let none = climbed("\"7\"", |seen| seen.header("if-match").is_none()).await;
    assert_eq!(none, ["\"7\"", "\"7\"", "-"]);
    // Two pairs of quotes become one.
    let twice = climbed("\"\"7\"\"", |seen| seen.header("if-match") == Some("\"7\"")).await;
    assert_eq!(twice, ["\"7\""]);
    let good = climbed("\"7\"", |seen| seen.header("if-match") == Some("\"7\"")).await;
    assert_eq!(good, ["\"7\""]);
}

#[tokio::test]
async fn q1_a_service_without_etags_that_wants_one_gets_the_star() {
    let service = Service::start(|seen, _| match (seen.method.as_str(), seen.header("if-match")) {
        ("GET", _) => ok(&json!({"Id": "1"})),
        (_, Some("*")) => status(204),
        _ => answer(
            400,
            &[],
            r#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"Ami.1.0.PreconditionHeaderMissing"}]}}"#,
        ),
    });
    let service = service.await;
    let client = service.simple();
    let system = client.get("/redfish/v1/Systems/1").await.unwrap();
    client.patch(&system, &json!({})).await.unwrap();
}

#[tokio::test]
async fn redirects_stay_within_the_service_and_carry_no_write() {
    let service = Service::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1/old" => answer(301, &[("Location", "/redfish/v1/new")], ""),
        "/redfish/v1/new" => ok(&json!({"Id": "new"})),
        "/redfish/v1/loop" => answer(308, &[("Location", "/redfish/v1/loop/")], ""),
        _ => answer(302, &[("Location", "http://192.0.2.1/redfish/v1/new")], ""),
    });
    let service = service.await;
    let client = service.simple();
    assert_eq!(client.get("/redfish/v1/old").await.unwrap().text("Id"), Some("new"));
    for path in ["/redfish/v1/loop", "/redfish/v1/elsewhere"] {
        assert!(matches!(client.get(path).await.unwrap_err(), RedfishError::Redirect { .. }), "{path}");
    }
    let error = client.post(&at("/redfish/v1/old"), &json!({})).await.unwrap_err();
    assert!(matches!(error, RedfishError::Redirect { .. }), "{error}");
}

#[tokio::test]
async fn a_body_without_end_is_cut_off() {
    let service = Service::start(|_, _| answer(200, &[], &format!("{{\"x\":\"{}\"}}", "y".repeat(1 << 20)))).await;
    let client = service.client(|options| {
        options.sessions = false;
        options.attempts = 1;
        options.body_limit = 1 << 16;
    });
    let error = client.root().await.unwrap_err().to_string();
    assert!(error.ends_with("the answer is larger than 65536 bytes"), "{error}");
}

#[tokio::test]
async fn a_silent_service_is_given_up_with_its_name() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut options = redfish_client::Options::default();
    options.read_timeout = Duration::from_millis(50);
    options.attempts = 1;
    let service = format!("http://{}", listener.local_addr().unwrap());
    let error = redfish_client::Client::new(&service, None, options).unwrap().root().await.unwrap_err();
    assert_eq!(error.to_string(), format!("GET {service}/redfish/v1: no answer within 50ms"));
}
