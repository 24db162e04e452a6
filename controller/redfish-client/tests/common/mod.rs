//! A Redfish service that does as it is told: each request is recorded, each answer is scripted by a function.

#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test binary uses its part")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use redfish_client::{Client, Login, Options};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// One request as the service saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub headers: http::HeaderMap,
    pub body: Value,
    pub bytes: bytes::Bytes,
}

impl Seen {
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

type Answer = Arc<dyn Fn(&Seen, usize) -> Response + Send + Sync>;

/// The service: what it saw, and where it is.
#[derive(Clone)]
pub struct Service {
    seen: Arc<Mutex<Vec<Seen>>>,
    answer: Answer,
    pub address: SocketAddr,
}

impl Service {
    /// Starts a service. `answer` gets each request and how many requests of the same method and path came before it.
    pub async fn start(answer: impl Fn(&Seen, usize) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = Self { seen: Arc::default(), answer: Arc::new(answer), address };
        let router = service.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        service
    }

    pub fn router(&self) -> Router {
        Router::new().fallback(handle).with_state(self.clone())
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn lines(&self) -> Vec<String> {
        self.seen().iter().map(Seen::line).collect()
    }

    /// A client that does not wait long.
    pub fn client(&self, options: impl FnOnce(&mut Options)) -> Client {
        let mut quick = Options::default();
        quick.longest_pause = Duration::from_millis(20);
        options(&mut quick);
        Client::new(&format!("http://{}", self.address), Some(Login::new("admin", "s3cr3t")), quick).unwrap()
    }

    /// A client without a session, for tests of something else.
    pub fn simple(&self) -> Client {
        self.client(|options| options.sessions = false)
    }
}

async fn handle(State(service): State<Service>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.unwrap();
    let path = parts.uri.path_and_query().unwrap().to_string();
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    let seen = Seen { method: parts.method.to_string(), path, headers: parts.headers, body, bytes };
    let before = {
        let mut all = service.seen.lock().unwrap();
        let before = all.iter().filter(|other| other.line() == seen.line()).count();
        all.push(seen.clone());
        before
    };
    (service.answer)(&seen, before)
}

pub fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Body::from(body.to_owned())).unwrap()
}

pub fn ok(body: &Value) -> Response {
    answer(200, &[("Content-Type", "application/json")], &body.to_string())
}

pub fn status(status: u16) -> Response {
    answer(status, &[], "")
}

/// A service root with sessions.
pub fn root() -> Response {
    ok(&json!({"@odata.id": "/redfish/v1/", "Links": {"Sessions": {"@odata.id": "/redfish/v1/Sessions/"}}}))
}
