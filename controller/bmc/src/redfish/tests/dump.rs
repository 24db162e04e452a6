//! A BMC made of a real one's answers: it serves a dump, and writes change what it serves.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};
use redfish_client::Reference;
use serde_json::{Value, json};

/// What the BMC is, and how it lies.
#[derive(Clone)]
pub(super) struct Dump {
    bodies: Arc<Mutex<HashMap<Reference, Value>>>,
    writes: Arc<Mutex<Vec<(String, Value)>>>,
    /// Takes every write and changes nothing.
    deaf: bool,
}

impl Dump {
    /// The dump in folder `name` of the test data; none when there is no test data.
    pub(super) fn load(name: &str) -> Option<Self> {
        let data = std::env::var_os("BESSEMER_TEST_DATA")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
        let Ok(text) = std::fs::read_to_string(data.join("redfish").join(name).join("map.json")) else {
            println!("SKIP no test data: set BESSEMER_TEST_DATA");
            return None;
        };
        let map: HashMap<String, Value> = serde_json::from_str(&text).unwrap();
        let bodies = map.into_iter().filter_map(|(path, body)| Some((Reference::parse(&path)?, body)));
        Some(Self { bodies: Arc::new(Mutex::new(bodies.collect())), writes: Arc::default(), deaf: false })
    }

    pub(super) fn deaf(mut self) -> Self {
        self.deaf = true;
        self
    }

    /// Serves it; the answer is `host:port`.
    pub(super) async fn serve(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = Router::new().fallback(handle).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    /// Changes one body, as the server itself would.
    pub(super) fn set(&self, path: &str, change: Value) {
        let mut bodies = self.bodies.lock().unwrap();
        merge(bodies.get_mut(&Reference::parse(path).unwrap()).unwrap(), change);
    }

    /// Puts a body where there may be none.
    pub(super) fn put(&self, path: &str, body: Value) {
        self.bodies.lock().unwrap().insert(Reference::parse(path).unwrap(), body);
    }

    /// Serves the registry of settings in `file` of the test data, under the name `id`.
    pub(super) fn describe_settings(&self, id: &str, file: &str) {
        let folder = super::replay::data().unwrap().join("../bios-attribute-registries");
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        self.put("/redfish/v1/registry.json", serde_json::from_str(&text).unwrap());
        let file = json!({"Id": id, "Location": [
            {"Language": "ja", "Uri": "/redfish/v1/not-there.json"}, {"Language": "en", "Uri": "/redfish/v1/registry.json"},
        ]});
        self.put(&format!("/redfish/v1/Registries/{id}"), file);
        let member = json!({"@odata.id": format!("/redfish/v1/Registries/{id}/")});
        self.put("/redfish/v1/Registries", json!({"Members": [{"@odata.id": "/redfish/v1/Registries/Base"}, member]}));
    }

    /// The writes so far: `METHOD path` and body; sessions are not told.
    pub(super) fn writes(&self) -> Vec<(String, Value)> {
        self.writes.lock().unwrap().clone()
    }
}

async fn handle(State(dump): State<Dump>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let at = Reference::parse(parts.uri.path()).unwrap();
    let sent: Value = serde_json::from_slice(&to_bytes(body, 1 << 20).await.unwrap()).unwrap_or_default();
    let mut bodies = dump.bodies.lock().unwrap();
    if parts.method == Method::GET {
        return match bodies.get(&at) {
            Some(body) => axum::Json(body.clone()).into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        };
    }
    if at.id() == "Sessions" {
        return StatusCode::NOT_IMPLEMENTED.into_response();
    }
    dump.writes.lock().unwrap().push((format!("{} {at}", parts.method), sent.clone()));
    if dump.deaf {
        return StatusCode::NO_CONTENT.into_response();
    }
    if parts.method == Method::PATCH {
        merge(bodies.get_mut(&at).unwrap(), sent);
    } else if let Some(kind) = sent.get("ResetType").and_then(Value::as_str) {
        let power = if kind == "ForceOff" || kind == "GracefulShutdown" { "Off" } else { "On" };
        let system = at.parent().and_then(|actions| actions.parent()).unwrap();
        merge(bodies.get_mut(&system).unwrap(), json!({"PowerState": power}));
    }
    StatusCode::NO_CONTENT.into_response()
}

pub(super) fn merge(into: &mut Value, change: Value) {
    match (into, change) {
        (Value::Object(fields), Value::Object(change)) => {
            for (name, value) in change {
                merge(fields.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change,
    }
}
