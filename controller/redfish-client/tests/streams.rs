//! What is long by nature: a file that is sent, events that come, a body that is packed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails should panic")]

mod common;

use std::io::Write as _;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use common::{Service, answer, ok, root, status};
use futures::StreamExt as _;
use futures::stream;
use redfish_client::{RedfishError, Reference, Upload};
use serde_json::json;
use tokio::time::{Instant, timeout};

fn at(path: &str) -> Reference {
    Reference::parse(path).unwrap()
}

#[tokio::test]
async fn events_come_as_they_are_sent() {
    let service = Service::start(|seen, _| match seen.path.as_str() {
        "/redfish/v1/SSE" if seen.header("Accept") == Some("text/event-stream") => {
            let parts = ["id: 1\ndata: {\"Events\"", ":[]}\n\n: still here\n", "\ndata: two\n\n"];
            let now = stream::iter(parts.map(|part| Ok::<_, std::io::Error>(Bytes::from(part))));
            Response::new(Body::from_stream(now.chain(stream::pending())))
        }
        "/redfish/v1/ended" => answer(200, &[("Content-Type", "text/event-stream")], "data: cut"),
        _ => status(404),
    });
    let service = service.await;
    let client = service.client(|options| {
        options.sessions = false;
        options.read_timeout = Duration::from_millis(200);
        options.concurrency = 1;
    });
    let mut events = client.listen(&at("/redfish/v1/SSE")).await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert_eq!((first.id.as_deref(), first.json()), (Some("1"), Some(json!({"Events": []}))));
    assert_eq!(events.next().await.unwrap().unwrap().data, "two");
    // Silence is no error, and an open stream keeps nobody else out.
    assert!(timeout(Duration::from_millis(400), events.next()).await.is_err());
    assert!(client.get("/redfish/v1/other").await.unwrap_err().is_not_found());
    // An event that was not whole when the stream ended is none.
    let mut ended = client.listen(&at("/redfish/v1/ended")).await.unwrap();
    assert_eq!(ended.next().await.unwrap(), None);
    let error = client.listen(&at("/redfish/v1/nothing")).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

#[tokio::test]
async fn a_file_is_pushed_in_pieces_with_its_length() {
    let service = Service::start(|seen, _| match seen.line().as_str() {
        "GET /redfish/v1" => root(),
        "POST /redfish/v1/Sessions" => answer(201, &[("X-Auth-Token", "t"), ("Location", "/redfish/v1/S/1")], ""),
        "POST /redfish/v1/UpdateService/upload" => answer(202, &[("Location", "/redfish/v1/TaskService/Tasks/9")], ""),
        "POST /redfish/v1/raw" => answer(400, &[], r#"{"error":{"message":"Not an image."}}"#),
        _ => status(404),
    });
    let service = service.await;
    let client = service.client(|_| ());
    let file = || {
        let pieces = stream::iter((0..300_u32).map(|_| Ok(Bytes::from(vec![b'x'; 1000]))));
        Upload { name: "bios \"7\"\r\n.bin".to_owned(), length: 300_000, bytes: pieces.boxed() }
    };
    let until = Instant::now() + Duration::from_secs(10);
    let to = at("/redfish/v1/UpdateService/upload");
    let targets = json!({"Targets": ["/redfish/v1/Systems/1"]});
    let reply = client.push_form(&to, &targets, file(), until).await.unwrap();
    assert_eq!(reply.task.unwrap().id(), "9");
    let seen = service.seen();
    let sent = seen.iter().find(|seen| seen.path.ends_with("/upload")).unwrap();
    assert!(sent.header("Content-Length").unwrap().parse::<u64>().unwrap() > 300_000);
    assert_eq!((sent.header("Transfer-Encoding"), sent.header("X-Auth-Token")), (None, Some("t")));
    assert!(sent.header("Content-Type").unwrap().starts_with("multipart/form-data; boundary="));
    let text = String::from_utf8(sent.bytes.to_vec()).unwrap();
    assert!(
        text.contains("name=\"UpdateParameters\"\r\nContent-Type: application/json\r\n\r\n{\"Targets\":"),
        "{text:.300}"
    );
    assert!(text.contains("name=\"UpdateFile\"; filename=\"bios7.bin\"\r\n"), "{text:.500}");
    assert!(text.contains(&"x".repeat(300_000)));
    let error = client.push_raw(&at("/redfish/v1/raw"), file(), until).await.unwrap_err();
    assert!(matches!(&error, RedfishError::Refused { .. }) && error.to_string().contains("Not an image"), "{error}");
}

#[tokio::test]
async fn a_body_that_comes_packed_unasked_is_unpacked() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(json!({"Id": "BiosAttributeRegistry"}).to_string().as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    let service = Service::start(move |seen, _| match seen.path.as_str() {
        "/redfish/v1/packed" => {
            assert_eq!(seen.header("Accept-Encoding"), None);
            let response = Response::builder().header("Content-Encoding", "gzip");
            response.body(Body::from(packed.clone())).unwrap()
        }
        _ => ok(&json!({})),
    });
    let client = service.await.simple();
    assert_eq!(client.get("/redfish/v1/packed").await.unwrap().text("Id"), Some("BiosAttributeRegistry"));
}

/// A stream cannot be sent again: a session that ran out is found out before it is used up.
#[tokio::test]
async fn a_session_that_ran_out_is_renewed_before_a_file_is_pushed() {
    let service = Service::start(|seen, before| match seen.line().as_str() {
        "GET /redfish/v1" => root(),
        "POST /redfish/v1/Sessions" => {
            let (token, place) = (format!("t{before}"), format!("/redfish/v1/Sessions/{before}"));
            answer(201, &[("X-Auth-Token", &token), ("Location", &place)], "")
        }
        "GET /redfish/v1/Managers/1" if seen.header("x-auth-token") == Some("t0") => ok(&json!({"Id": "1"})),
        _ if seen.header("x-auth-token") != Some("t1") => status(401),
        "POST /redfish/v1/upload" => status(202),
        _ => status(404),
    });
    let service = service.await;
    let client = service.client(|_| ());
    client.get("/redfish/v1/Managers/1").await.unwrap();
    let bytes = stream::iter([Ok(Bytes::from_static(b"image"))]).boxed();
    let file = Upload { name: "x.bin".to_owned(), length: 5, bytes };
    client.push_raw(&at("/redfish/v1/upload"), file, Instant::now() + Duration::from_secs(10)).await.unwrap();
    let uploads: Vec<_> = service.seen().into_iter().filter(|seen| seen.path == "/redfish/v1/upload").collect();
    assert_eq!((uploads.len(), &uploads[0].bytes[..]), (1, &b"image"[..]));
}
