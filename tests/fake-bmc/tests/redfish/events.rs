use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::client::Bmc;

const SUBSCRIPTIONS: &str = "/redfish/v1/EventService/Subscriptions";

/// Takes one POST, refuses or accepts it, and gives its body.
async fn taken(listener: &TcpListener, status: &str) -> Value {
    let wait = tokio::time::timeout(Duration::from_secs(10), listener.accept());
    let (mut stream, _) = wait.await.expect("nothing came").unwrap();
    let mut text = String::new();
    loop {
        let mut chunk = [0; 4096];
        let length = stream.read(&mut chunk).await.unwrap();
        text += std::str::from_utf8(&chunk[..length]).unwrap();
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            return body;
        }
    }
}

#[tokio::test]
async fn events_come_to_the_destination_in_order_and_again_when_refused() {
    let bmc = Bmc::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let destination = format!("http://{}/events", listener.local_addr().unwrap());
    let asked = json!({ "Destination": destination, "Protocol": "Redfish", "Context": "rack 7" });
    let made = bmc.post(SUBSCRIPTIONS, asked).await;
    assert_eq!((made.status, made.header("location")), (201, "/redfish/v1/EventService/Subscriptions/1"));
    bmc.reset("On").await;
    let first = taken(&listener, "503 Service Unavailable").await;
    assert_eq!(first["Context"], "rack 7");
    assert_eq!(first["Events"][0]["Message"], "power action On");
    let again = taken(&listener, "204 No Content").await;
    assert_eq!(again, first);
    let mut messages = Vec::new();
    for _ in 0..2 {
        messages.push(taken(&listener, "204 No Content").await["Events"][0]["Message"].clone());
    }
    assert_eq!(messages, ["power state PoweringOn", "power state On"]);
    let test = "/redfish/v1/EventService/Actions/EventService.SubmitTestEvent";
    bmc.post(test, json!({ "Message": "hello" })).await;
    assert_eq!(taken(&listener, "204 No Content").await["Events"][0]["Message"], "hello");
    let location = made.header("location");
    assert_eq!(bmc.get(SUBSCRIPTIONS).await["Members"], json!([{ "@odata.id": location }]));
    assert_eq!(bmc.send(Method::DELETE, location, None).await.status, 204);
    assert_eq!(bmc.send(Method::GET, location, None).await.status, 404);
    bmc.reset("ForceOff").await;
    let nothing = tokio::time::timeout(Duration::from_millis(300), listener.accept()).await;
    assert!(nothing.is_err(), "nobody is subscribed any more");
}

#[tokio::test]
async fn subscriptions_are_checked_and_bounded() {
    let bmc = Bmc::start().await;
    assert_eq!(bmc.post(SUBSCRIPTIONS, json!({ "Protocol": "Redfish" })).await.message(), "PropertyMissing");
    let body = json!({ "Destination": "http://127.0.0.1:1/", "Protocol": "Redfish" });
    for _ in 0..20 {
        assert_eq!(bmc.post(SUBSCRIPTIONS, body.clone()).await.status, 201);
    }
    let refused = bmc.post(SUBSCRIPTIONS, body).await;
    assert_eq!((refused.status, refused.message()), (503, "EventSubscriptionLimitExceeded"));
}

#[tokio::test]
async fn the_log_shows_what_happened_and_is_cleared() {
    let bmc = Bmc::start().await;
    bmc.reset("On").await;
    let log = "/redfish/v1/Systems/1/LogServices/Log";
    let entries = bmc.get(&format!("{log}/Entries")).await;
    let first = entries["Members"][0]["@odata.id"].as_str().unwrap();
    assert_eq!(bmc.get(first).await["Message"], "power action On");
    assert_eq!(bmc.post(&format!("{log}/Actions/LogService.ClearLog"), json!({})).await.status, 204);
    assert_eq!(bmc.get(&format!("{log}/Entries")).await["Members@odata.count"], 0);
}
