//! A BMC replayed from a dump, which writes change until it is put back; it notes each write with its `If-Match`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};
use redfish_client::{Options, Reference};
use serde_json::{Value, json};

use super::super::RedfishBmc;
use super::dump::merge;
use crate::Credentials;
use crate::power::Patience;

/// The folder of the captured trees; none, said aloud, when there is no test data.
pub(super) fn data() -> Option<PathBuf> {
    let data = std::env::var_os("BESSEMER_TEST_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let folder = data.join("redfish");
    if !folder.is_dir() {
        println!("SKIP no test data: set BESSEMER_TEST_DATA");
        return None;
    }
    Some(folder)
}

/// The bodies of set `name`, by path or by source file.
pub(super) fn bodies(name: &str) -> Option<HashMap<String, Value>> {
    let text = std::fs::read_to_string(data()?.join(name).join("map.json")).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

#[derive(Clone)]
pub(super) struct Replay {
    original: Arc<HashMap<Reference, Value>>,
    state: Arc<Mutex<Changes>>,
    address: String,
}

#[derive(Default)]
struct Changes {
    bodies: HashMap<Reference, Value>,
    writes: Vec<String>,
    reads: usize,
}

impl Replay {
    pub(super) async fn start(name: &str) -> Option<Self> {
        let bodies = bodies(name)?;
        let original = bodies.into_iter().filter_map(|(path, body)| Some((Reference::parse(&path)?, body))).collect();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let replay = Self { original: Arc::new(original), state: Arc::default(), address };
        let router = Router::new().fallback(handle).with_state(replay.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Some(replay)
    }

    /// Our side of it, for the server at `system` (none: it is to be found).
    pub(super) fn bmc(&self, system: &str) -> RedfishBmc {
        let address = format!("redfish+http://{}{system}", self.address).parse().unwrap();
        let mut options = Options::default();
        options.longest_pause = Duration::from_millis(20);
        options.sessions = false;
        let patience = Patience { settles_within: Duration::from_millis(300) };
        RedfishBmc::with(&address, &Credentials::new("admin", "secret"), options, patience).unwrap()
    }

    /// Puts everything back as it was captured, and lays `change` over the resource at `path`.
    pub(super) fn reset(&self, path: &str, change: Value) {
        let mut state = self.state.lock().unwrap();
        *state = Changes::default();
        let at = Reference::parse(path).unwrap();
        let mut body = self.original.get(&at).cloned().unwrap_or_default();
        merge(&mut body, change);
        state.bodies.insert(at, body);
    }

    /// The writes since: method, path, `If-Match` and body.
    pub(super) fn writes(&self) -> Vec<String> {
        self.state.lock().unwrap().writes.clone()
    }

    /// How many resources were read since.
    pub(super) fn reads(&self) -> usize {
        self.state.lock().unwrap().reads
    }
}

async fn handle(State(replay): State<Replay>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let target = parts.uri.path_and_query().unwrap().to_string();
    let at = Reference::parse(&target).unwrap();
    let sent: Value = serde_json::from_slice(&to_bytes(body, 1 << 20).await.unwrap()).unwrap_or_default();
    let mut state = replay.state.lock().unwrap();
    let mut current = state.bodies.get(&at).or_else(|| replay.original.get(&at)).cloned();
    if parts.method == Method::GET {
        state.reads += 1;
        return match current {
            // What was captured as a refusal was one.
            Some(body) if body.get("error").is_some() => (StatusCode::NOT_FOUND, axum::Json(body)).into_response(),
            Some(body) => axum::Json(body).into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        };
    }
    let if_match = parts.headers.get("if-match").map(|etag| format!(" [If-Match {}]", etag.to_str().unwrap()));
    state.writes.push(format!("{} {at}{} {sent}", parts.method, if_match.unwrap_or_default()));
    let (changed, change) = if parts.method == Method::PATCH {
        let connected =
            sent.get("Inserted").map(|inserted| if *inserted == json!(true) { "URI" } else { "NotConnected" });
        let mut change = sent;
        if let Some(via) = connected {
            merge(&mut change, json!({"ConnectedVia": via}));
        }
        (at, change)
    } else {
        let owner = at.parent().and_then(|actions| actions.parent()).unwrap();
        current = state.bodies.get(&owner).or_else(|| replay.original.get(&owner)).cloned();
        (owner, effect(&at, &sent))
    };
    let Some(mut body) = current else { return StatusCode::NOT_FOUND.into_response() };
    merge(&mut body, change);
    state.bodies.insert(changed, body);
    StatusCode::NO_CONTENT.into_response()
}

/// What an action changes.
fn effect(action: &Reference, sent: &Value) -> Value {
    match (action.id(), sent.get("ResetType").and_then(Value::as_str)) {
        (_, Some("ForceOff" | "GracefulShutdown" | "PushPowerButton")) => json!({"PowerState": "Off"}),
        (_, Some(_)) => json!({"PowerState": "On"}),
        ("VirtualMedia.InsertMedia" | "InsertMedia", _) => {
            json!({"Inserted": true, "Image": sent["Image"], "ConnectedVia": "URI"})
        }
        ("VirtualMedia.EjectMedia" | "EjectMedia", _) => {
            json!({"Inserted": false, "Image": null, "ConnectedVia": "NotConnected"})
        }
        _ => json!({}),
    }
}
