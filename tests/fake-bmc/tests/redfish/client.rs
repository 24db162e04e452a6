//! One host and a plain HTTP client for it.

use std::time::Duration;

use bessemer_fake_bmc::redfish::tls::Tls;
use bessemer_fake_bmc::redfish::{Behaviour, Tree};
use bessemer_fake_bmc::{FakeBmc, HostOptions, fleet, seed};
use reqwest::{Method, Response};
use serde_json::Value;
use std::sync::Arc;

pub(crate) const SYSTEM: &str = "/redfish/v1/Systems/1";
pub(crate) const RESET: &str = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
pub(crate) const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

/// A client without opinions: no redirects, no retries.
pub(crate) fn http(trusted: Option<&str>) -> reqwest::Client {
    // whoever is first
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(20));
    match trusted {
        None => builder.build().unwrap(),
        Some(pem) => {
            let root = reqwest::Certificate::from_pem(pem.as_bytes()).unwrap();
            builder.tls_certs_only([root]).build().unwrap()
        }
    }
}

pub(crate) struct Bmc {
    pub(crate) fake: FakeBmc,
    pub(crate) http: reqwest::Client,
}

/// An answer, read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
}

impl Read {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// `MessageId` without the registry.
    pub(crate) fn message(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default().rsplit('.').next().unwrap_or_default()
    }
}

impl Bmc {
    pub(crate) async fn start() -> Self {
        Self::with(HostOptions::numbered(0), &seed::minimal().unwrap()).await
    }

    pub(crate) async fn with(host: HostOptions, tree: &Arc<Tree>) -> Self {
        let fake = fleet::start_one(tree, host, Tls::Off).await.unwrap();
        Self { fake, http: http(None) }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        self.fake.redfish().change(change);
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.fake.url()))
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Read {
        let request = self.request(method, path).basic_auth("admin", Some("password"));
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        read(request.send().await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let read = self.send(Method::GET, path, None).await;
        assert_eq!(read.status, 200, "{path}: {:?}", read.body);
        read.body
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Read {
        self.send(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Read {
        self.send(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn reset(&self, how: &str) -> Read {
        self.post(RESET, serde_json::json!({ "ResetType": how })).await
    }
}

pub(crate) async fn read(response: Response) -> Read {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    Read { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
}
