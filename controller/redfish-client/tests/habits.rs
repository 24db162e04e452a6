//! What services were seen to do with HTTP itself.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails should panic")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{Service, answer, ok, status};
use redfish_client::{Client, Options, Reference, Resource};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

fn at(path: &str) -> Reference {
    Reference::parse(path).unwrap()
}

#[tokio::test]
async fn q1_a_change_carries_the_etag_that_was_read() {
    let service = Service::start(|seen, _| match (seen.method.as_str(), seen.header("if-match")) {
        ("GET", _) => answer(200, &[("ETag", "W/\"16A8\"")], r#"{"Id":"1"}"#),
        (_, Some("W/\"16A8\"")) => status(200),
        _ => status(428),
    });
    let service = service.await;
    let client = service.simple();
    let system = client.get("/redfish/v1/Systems/Self").await.unwrap();
    client.patch(&system, &json!({"AssetTag": "x"})).await.unwrap();
    // Whoever has the resource from elsewhere, without an ETag, has it read anew.
    let bare = Resource::new(system.uri().clone(), None, json!({}));
    client.patch(&bare, &json!({"AssetTag": "y"})).await.unwrap();
}

#[tokio::test]
async fn q5_no_word_is_said_of_encodings() {
    let service = Service::start(|seen, _| match seen.header("accept-encoding") {
        Some(_) => status(406),
        None => ok(&json!({"Id": "1"})),
    });
    let client = service.await.simple();
    client.get("/redfish/v1").await.unwrap();
    client.post(&at("/redfish/v1/act"), &json!({})).await.unwrap();
}

/// Reads one request, head and body.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    loop {
        let mut byte = [0];
        if stream.read(&mut byte).await.ok()? == 0 {
            return None;
        }
        text.push(byte[0]);
        let so_far = String::from_utf8_lossy(&text);
        if let Some((head, body)) = so_far.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(head.lines().next()?.to_owned());
            }
        }
    }
}

#[tokio::test]
async fn q13_a_kept_connection_that_breaks_costs_one_more_try_and_no_post_twice() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let service = format!("http://{}", listener.local_addr().unwrap());
    let posts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&posts);
    // Each connection is good for one answer; the next request on it is read and left without one.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let posts = Arc::clone(&counted);
            tokio::spawn(async move {
                let Some(line) = request(&mut stream).await else { return };
                posts.fetch_add(usize::from(line.starts_with("POST")), Ordering::SeqCst);
                let body = "{\"Id\":\"1\"}";
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                stream.write_all(head.as_bytes()).await.unwrap();
                if let Some(line) = request(&mut stream).await {
                    posts.fetch_add(usize::from(line.starts_with("POST")), Ordering::SeqCst);
                }
            });
        }
    });
    let mut options = Options::default();
    options.longest_pause = Duration::from_millis(20);
    let client = Client::new(&service, None, options).unwrap();
    for _ in 0..3 {
        let system = client.get("/redfish/v1/Systems/1").await.unwrap();
        client.patch(&system, &json!({"AssetTag": "x"})).await.unwrap();
        client.post(&at("/redfish/v1/reset"), &json!({})).await.unwrap();
    }
    assert_eq!(posts.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn q16_a_slash_at_the_end_makes_no_other_resource() {
    let service = Service::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1" => ok(&json!({"Systems": {"@odata.id": "/redfish/v1/Systems/"}})),
        // Known only with the slash, and said so.
        "/redfish/v1/Systems" => answer(308, &[("Location", "/redfish/v1/Systems/")], ""),
        "/redfish/v1/Systems/" => ok(&json!({"Members": [
            {"@odata.id": "/redfish/v1/Systems/1/"}, {"@odata.id": "/redfish/v1/Systems/1"},
        ]})),
        "/redfish/v1/Systems/1" => ok(&json!({"@odata.id": "/redfish/v1/Systems/1/"})),
        _ => status(404),
    });
    let client = service.await.simple();
    let systems = client.root().await.unwrap().link("Systems").unwrap();
    let members = client.members(systems.as_str()).await.unwrap();
    assert_eq!(members.iter().map(Resource::uri).collect::<Vec<_>>(), [&at("/redfish/v1/Systems/1")]);
}

#[tokio::test]
async fn q18_a_slow_answer_is_waited_for_longer_than_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let service = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            request(&mut stream).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
        }
    });
    let read = |read: u64| {
        let mut options = Options::default();
        options.connect_timeout = Duration::from_millis(100);
        options.read_timeout = Duration::from_millis(read);
        options.attempts = 1;
        Client::new(&service, None, options).unwrap()
    };
    read(5_000).root().await.unwrap();
    let error = read(50).root().await.unwrap_err().to_string();
    assert!(error.ends_with("no answer within 50ms"), "{error}");
    // And of itself a client waits for the minute and more that they take.
    let usual = Options::default();
    assert!(usual.read_timeout >= Duration::from_secs(90) && usual.deadline > usual.read_timeout, "{usual:?}");
    assert!(usual.connect_timeout < usual.read_timeout / 4, "{usual:?}");
}

#[tokio::test]
async fn q21_try_again_means_try_again() {
    let body = r#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"IDRAC.2.8.SYS518","Message":"Busy."}]}}"#;
    let service = Service::start(move |_, before| if before < 2 { answer(500, &[], body) } else { status(204) });
    let service = service.await;
    service.simple().post(&at("/redfish/v1/act"), &json!({})).await.unwrap();
    assert_eq!(service.seen().len(), 3);
}

#[tokio::test]
async fn q22_a_refusal_in_html_is_told_by_its_status_first() {
    let page = "<html><head><title>Forbidden</title></head><body><h1>Access denied</h1></body></html>";
    let service = Service::start(move |_, _| answer(403, &[("Content-Type", "text/html")], page)).await;
    let error = service.simple().get("/redfish/v1/Systems").await.unwrap_err().to_string();
    assert!(error.ends_with("/redfish/v1/Systems: 403 Forbidden: Forbidden Access denied"), "{error}");
}

#[tokio::test]
async fn q76_what_fails_during_a_power_change_is_read_again() {
    let service = Service::start(|_, before| {
        let body = json!({"Id": "Bios", "Attributes": {}}).to_string();
        answer(if before < 2 { 500 } else { 200 }, &[], &body)
    });
    let service = service.await;
    assert_eq!(service.simple().get("/redfish/v1/Systems/1/Bios").await.unwrap().text("Id"), Some("Bios"));
    assert_eq!(service.seen().len(), 3);
}

#[tokio::test]
async fn c171_an_ipv6_address_keeps_its_brackets() {
    let Ok(listener) = TcpListener::bind("[::1]:0").await else {
        println!("SKIP no ipv6 on this machine");
        return;
    };
    let service = format!("http://{}", listener.local_addr().unwrap());
    let host = service.strip_prefix("http://").unwrap().to_owned();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        let length = stream.read(&mut head).await.unwrap();
        let asked = String::from_utf8_lossy(&head[..length]).to_lowercase();
        let body =
            if asked.contains(&format!("\r\nhost: {host}\r\n")) { r#"{"Id":"right"}"# } else { r#"{"Id":"wrong"}"# };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
    });
    let client = Client::new(&service, None, Options::default()).unwrap();
    assert_eq!(client.root().await.unwrap().text("Id"), Some("right"));
}
