//! A BMC that answers as a script says: each request is recorded, and a function of it is the answer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use redfish_client::Options;
use serde_json::{Value, json};

use super::super::RedfishBmc;
use crate::Credentials;
use crate::power::Patience;

/// The server's place in all scripts.
pub(in crate::redfish) const SYSTEM: &str = "/redfish/v1/Systems/1";

/// One request as the BMC saw it.
#[derive(Clone, Debug)]
pub(in crate::redfish) struct Seen {
    pub(in crate::redfish) method: String,
    pub(in crate::redfish) path: String,
    pub(in crate::redfish) query: Option<String>,
    pub(in crate::redfish) headers: http::HeaderMap,
    pub(in crate::redfish) body: Value,
}

impl Seen {
    /// `METHOD path`.
    pub(in crate::redfish) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub(in crate::redfish) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The reset type that is asked for.
    pub(in crate::redfish) fn reset(&self) -> Option<&str> {
        self.body.get("ResetType").and_then(Value::as_str).filter(|_| self.method == "POST")
    }
}

type Script = dyn Fn(&Seen, &[Seen]) -> Response + Send + Sync;

/// The BMC: what it saw, and what it says.
#[derive(Clone)]
pub(in crate::redfish) struct Scripted {
    seen: Arc<Mutex<Vec<Seen>>>,
    script: Arc<Script>,
    address: std::net::SocketAddr,
}

impl Scripted {
    /// Starts a BMC. `script` gets each request and those before it.
    pub(in crate::redfish) async fn start(script: impl Fn(&Seen, &[Seen]) -> Response + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let scripted = Self { seen: Arc::default(), script: Arc::new(script), address };
        let router = Router::new().fallback(handle).with_state(scripted.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        scripted
    }

    /// `host:port`.
    pub(in crate::redfish) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Our side of it, for the server at [`SYSTEM`]; an act has half a second.
    pub(in crate::redfish) fn bmc(&self) -> RedfishBmc {
        self.patient(Duration::from_millis(500))
    }

    /// As [`Scripted::bmc`], for a server that is to be found.
    pub(in crate::redfish) fn bmc_without_path(&self) -> RedfishBmc {
        self.client("", Duration::from_millis(500))
    }

    /// As [`Scripted::bmc`], with another time for an act.
    pub(in crate::redfish) fn patient(&self, settles_within: Duration) -> RedfishBmc {
        self.client(SYSTEM, settles_within)
    }

    fn client(&self, path: &str, settles_within: Duration) -> RedfishBmc {
        let address = format!("redfish+http://{}{path}", self.address).parse().unwrap();
        let mut options = Options::default();
        options.longest_pause = Duration::from_millis(20);
        options.sessions = false;
        let credentials = Credentials::new("admin", "secret");
        RedfishBmc::with(&address, &credentials, options, Patience { settles_within }).unwrap()
    }

    pub(in crate::redfish) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The writes so far.
    pub(in crate::redfish) fn writes(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.method != "GET").collect()
    }

    /// The reset types that were asked for.
    pub(in crate::redfish) fn resets(&self) -> Vec<String> {
        self.seen().iter().filter_map(|seen| seen.reset().map(str::to_owned)).collect()
    }
}

async fn handle(State(scripted): State<Scripted>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.unwrap();
    let seen = Seen {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    };
    let before = scripted.seen();
    scripted.seen.lock().unwrap().push(seen.clone());
    (scripted.script)(&seen, &before)
}

/// An answer with headers.
pub(in crate::redfish) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Body::from(body.to_owned())).unwrap()
}

/// A resource.
pub(in crate::redfish) fn ok(body: &Value) -> Response {
    answer(200, &[("Content-Type", "application/json")], &body.to_string())
}

/// An answer without a body.
pub(in crate::redfish) fn status(status: u16) -> Response {
    answer(status, &[], "")
}

/// A refusal with one message.
pub(in crate::redfish) fn refusal(status: u16, id: &str) -> Response {
    let body = json!({"error": {"@Message.ExtendedInfo": [{"MessageId": id, "Message": "Refused."}]}});
    answer(status, &[], &body.to_string())
}

/// A system in state `power`, whose reset takes `words`; `more` is laid over it.
pub(in crate::redfish) fn system(power: &str, words: &[&str], more: Value) -> Value {
    let mut system = json!({
        "@odata.id": SYSTEM,
        "PowerState": power,
        "Actions": {"#ComputerSystem.Reset": {
            "target": format!("{SYSTEM}/Actions/ComputerSystem.Reset"),
            "ResetType@Redfish.AllowableValues": words,
        }},
    });
    super::dump::merge(&mut system, more);
    system
}
