//! What may come back instead of an answer, and what becomes of it: an error that names the place, in bounded time,
//! memory and number of tries.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails should panic")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{Service, answer, ok, status};
use redfish_client::{Client, Login, Options, RedfishError, Trust};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

fn options() -> Options {
    let mut options = Options::default();
    options.attempts = 2;
    options.longest_pause = Duration::from_millis(10);
    options.read_timeout = Duration::from_secs(5);
    options
}

/// A listener that reads something of what comes and answers `bytes`, again and again while `repeat`.
async fn raw(bytes: &'static [u8], repeat: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).await;
                while stream.write_all(bytes).await.is_ok() && repeat {}
            });
        }
    });
    address
}

/// The error of reading the root of a service at `address` that is spoken to by `scheme`.
async fn error(scheme: &str, address: &str) -> RedfishError {
    let mut options = options();
    options.trust = Trust::Anyone;
    options.body_limit = 1 << 20;
    let login = Login::new("admin", "s3cr3t");
    let client = Client::new(&format!("{scheme}://{address}"), Some(login), options).unwrap();
    let error = client.get("/redfish/v1/Systems").await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(address) && !text.contains("s3cr3t") && text.len() < 700, "{text}");
    error
}

#[tokio::test]
async fn nobody_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = error("http", &address).await;
    assert!(matches!(&error, RedfishError::Connection { sent: false, .. }) && error.is_transient(), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn another_protocol_than_meant() {
    let plain = Service::start(|_, _| ok(&json!({}))).await.address.to_string();
    let error_tls = error("https", &plain).await;
    assert!(matches!(&error_tls, RedfishError::Handshake { .. }), "{error_tls:?}");
    assert!(error_tls.to_string().contains("use http:// if that is meant"), "{error_tls}");
    // A server of TLS that is spoken to in plain text sends an alert.
    let tls = raw(b"\x15\x03\x01\x00\x02\x02\x16", false).await;
    let error_plain = error("http", &tls).await.to_string();
    assert!(error_plain.contains("does it want https there?"), "{error_plain}");
}

#[tokio::test]
async fn a_service_that_speaks_old_tls_only_is_named_with_the_remedy() {
    // Alert: protocol version, as a server says that knows nothing above TLS 1.1.
    let old = raw(b"\x15\x03\x01\x00\x02\x02\x46", false).await;
    let error = error("https", &old).await;
    assert!(matches!(&error, RedfishError::Handshake { .. }) && !error.is_transient(), "{error}");
    assert!(
        error.to_string().contains("update its firmware; where there is none, a client with legacy tls"),
        "{error}"
    );
}

#[tokio::test]
async fn bodies_that_are_cut_off_endless_huge_or_deep() {
    let cut = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"Id\":", false).await;
    let error_cut = error("http", &cut).await;
    assert!(matches!(&error_cut, RedfishError::Connection { sent: true, .. }), "{error_cut:?}");
    let announced = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n{\"Id\":", false).await;
    let error_announced = error("http", &announced).await.to_string();
    assert!(error_announced.ends_with("the answer is larger than 1048576 bytes"), "{error_announced}");
    let endless = raw(
        b"HTTP/1.1 200 OK\r\n\r\n{\"x\":\"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        true,
    )
    .await;
    let error_endless = error("http", &endless).await.to_string();
    assert!(error_endless.ends_with("the answer is larger than 1048576 bytes"), "{error_endless}");
    let deep =
        Service::start(|_, _| answer(200, &[], &format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000))));
    let error_deep = error("http", &deep.await.address.to_string()).await.to_string();
    assert!(error_deep.contains("recursion limit"), "{error_deep}");
    let head =
        raw(b"HTTP/1.1 200 OK\r\nX-Endless: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\nX", true).await;
    error("http", &head).await;
    let text = raw(b"SSH-2.0-OpenSSH_9.2p1\r\n", false).await;
    error("http", &text).await;
}

#[tokio::test]
async fn a_body_that_drips_ends_with_the_call() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{").await;
                while stream.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            });
        }
    });
    let mut options = options();
    options.deadline = Duration::from_millis(300);
    let client = Client::new(&format!("http://{address}"), None, options).unwrap();
    let start = std::time::Instant::now();
    let error = client.root().await.unwrap_err();
    assert!(matches!(&error, RedfishError::Timeout { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

#[tokio::test]
async fn lists_that_lead_on_for_ever() {
    let service = Service::start(|seen, _| {
        let page: usize = seen.path.rsplit('=').next().unwrap().parse().unwrap_or(0);
        let members: Vec<_> = (0..200).map(|at| json!({"@odata.id": format!("/redfish/v1/L/{page}-{at}")})).collect();
        ok(&json!({"Members": members, "Members@odata.nextLink": format!("/redfish/v1/L?$skip={}", page + 1)}))
    });
    let service = service.await;
    let list = redfish_client::Reference::parse("/redfish/v1/L").unwrap();
    assert_eq!(service.simple().list(&list).await.unwrap().len(), 10_000);
    assert_eq!(service.seen().len(), 100);
    let itself = Service::start(|_, _| {
        ok(&json!({"Members": [{"@odata.id": "/redfish/v1/L/1"}], "Members@odata.nextLink": "/redfish/v1/L"}))
    });
    let itself = itself.await;
    assert_eq!(itself.simple().list(&list).await.unwrap().len(), 1);
    assert_eq!(itself.seen().len(), 1);
}

#[tokio::test]
async fn no_password_goes_where_a_redirect_leads() {
    let elsewhere = Service::start(|_, _| ok(&json!({}))).await;
    let there = format!("http://{}/redfish/v1/Systems", elsewhere.address);
    let service = Service::start(move |_, _| answer(302, &[("Location", &there)], "")).await;
    let client = service.simple();
    let error = client.get("/redfish/v1/Systems").await.unwrap_err();
    assert!(matches!(&error, RedfishError::Redirect { .. }), "{error}");
    let scheme = Service::start(|seen, _| {
        answer(301, &[("Location", &format!("https://{}/x", seen.header("host").unwrap()))], "")
    });
    let error = scheme.await.simple().get("/redfish/v1/Systems").await.unwrap_err();
    assert!(error.to_string().contains("use that address for it"), "{error}");
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn at_most_two_requests_are_under_way() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (counting, highest) = (Arc::clone(&now), Arc::clone(&most));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (now, most) = (Arc::clone(&counting), Arc::clone(&highest));
            tokio::spawn(async move {
                let mut head = [0; 4096];
                while stream.read(&mut head).await.is_ok_and(|length| length > 0) {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await;
                }
            });
        }
    });
    let client = Client::new(&format!("http://{address}"), None, options()).unwrap();
    let calls = (0..24).map(|number| {
        let client = client.clone();
        async move {
            let at = redfish_client::Reference::parse(&format!("/redfish/v1/{number}")).unwrap();
            match number % 3 {
                0 => client.get(at.as_str()).await.map(|_| ()),
                1 => client.post(&at, &json!({})).await.map(|_| ()),
                _ => client.delete(&at).await,
            }
        }
    });
    futures::future::try_join_all(calls).await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn q32_a_root_that_answers_proves_no_login() {
    let service = Service::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1" => ok(&json!({"RedfishVersion": "1.6.0"})),
        _ => status(401),
    });
    let client = service.await.client(|_| ());
    client.root().await.unwrap();
    assert!(matches!(client.get("/redfish/v1/Systems").await, Err(RedfishError::Unauthorized { .. })));
}
