//! Nothing that lets anyone in is ever written down: not by us, and not by what we stand on, at the most talkative.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails should panic")]

mod common;

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use common::{Service, answer, ok, root, status};
use redfish_client::Reference;
use serde_json::json;

/// All that is logged, by whichever of the two ways.
#[derive(Clone, Default)]
struct Book(Arc<Mutex<Vec<u8>>>);

impl Write for Book {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

static LOGGED: OnceLock<Book> = OnceLock::new();

struct Log;

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let mut book = LOGGED.get().unwrap().clone();
        writeln!(book, "{} {} {}", record.level(), record.target(), record.args()).unwrap();
    }

    fn flush(&self) {}
}

#[tokio::test]
async fn no_password_and_no_token_is_logged_or_told() {
    let book = Book::default();
    LOGGED.set(book.clone()).ok().unwrap();
    log::set_logger(&Log).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let writer = book.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let service = Service::start(|seen, before| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/redfish/v1") => root(),
        ("POST", "/redfish/v1/Sessions") => {
            let place = format!("/redfish/v1/Sessions/{before}");
            answer(201, &[("X-Auth-Token", "t0ken-of-the-session"), ("Location", &place)], "{}")
        }
        ("GET", "/redfish/v1/expired") if before == 0 => status(401),
        ("GET", "/redfish/v1/broken") => answer(200, &[], "<html>"),
        ("POST", _) => answer(400, &[], r#"{"error":{"message":"no"}}"#),
        _ => ok(&json!({"Id": "1"})),
    });
    let service = service.await;
    let mut told = String::new();
    for sessions in [true, false] {
        let client = service.client(|options| options.sessions = sessions);
        for path in ["/redfish/v1/Systems", "/redfish/v1/expired", "/redfish/v1/broken"] {
            match client.get(path).await {
                Ok(resource) => told += &format!("{resource:?}"),
                Err(error) => told += &format!("{error} {error:?}"),
            }
        }
        let act = Reference::parse("/redfish/v1/act").unwrap();
        let error = client.post(&act, &json!({"Password": "n3w-passw0rd"})).await.unwrap_err();
        told += &format!("{error} {error:?}");
        client.close().await;
    }
    let logged = String::from_utf8(book.0.lock().unwrap().clone()).unwrap();
    // It did listen: to ourselves, and to what we stand on.
    assert!(logged.contains("redfish call is made again") && logged.contains("reqwest"), "{logged}");
    for secret in ["s3cr3t", "t0ken-of-the-session", "n3w-passw0rd", "YWRtaW46czNjcjN0"] {
        assert!(!logged.contains(secret), "{secret} in {logged}");
        assert!(!told.contains(secret), "{secret} in {told}");
    }
}
