//! One request of a case: from its written form to the wire, and the answer back into an outcome.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::time::Instant;

use crate::corpus::{Expected, Step, Until};
use crate::outcome::{Body, Outcome};
use crate::protobuf;
use crate::variables::Variables;
use crate::watch::Stream;
use crate::wire::{Answer, Connection};

/// The headers of an answer that clients act on.
const HEADERS: &[&str] = &["content-type", "warning", "retry-after", "cache-control", "location", "allow", "vary"];
/// Longest wait for what happens in the background. A stock garbage collector learns of new kinds every 30 s.
const EVENTUALLY: Duration = Duration::from_secs(120);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(40);

/// The connections and variables of a running case.
pub(crate) struct Session {
    pub(crate) access: crate::kubeconfig::Access,
    pub(crate) admin: Connection,
    pub(crate) variables: Variables,
    pub(crate) hidden: Vec<(String, String)>,
    watches: BTreeMap<String, Stream>,
}

impl Session {
    pub(crate) fn new(access: &crate::kubeconfig::Access, variables: Variables) -> Self {
        let admin = Connection::new(access, false);
        Self { access: access.clone(), admin, variables, hidden: Vec::new(), watches: BTreeMap::new() }
    }

    /// Runs one spread step.
    pub(crate) async fn run(&mut self, id: String, step: &Step) -> Outcome {
        let (request, answered) = match (&step.collect, &step.watch) {
            (Some(name), _) => (format!("events of {name}"), Ok(self.collect(name, step).await)),
            (_, Some(target)) => {
                let until = step.until.clone().unwrap_or(Until::End);
                (format!("WATCH {target}"), self.watch(target, step, &until).await)
            }
            _ => {
                let written = step.request.as_ref().map(|request| format!("{request:?}")).unwrap_or_default();
                let shown = match &step.request {
                    Some(crate::corpus::Many::One(one)) => one.clone(),
                    _ => written,
                };
                let answered = self.ask(&shown, step).await;
                (shown, answered)
            }
        };
        let (status, headers, body) =
            answered.unwrap_or_else(|error| (0, BTreeMap::new(), Body::Failed(format!("{error:#}"))));
        let mut outcome = Outcome { id, request, status, headers, body };
        if let Err(why) = self.capture(step, &outcome) {
            outcome.body = Body::Failed(why);
        }
        outcome
    }

    /// Keeps what later steps need of an answer; the error says what it lacks.
    fn capture(&mut self, step: &Step, outcome: &Outcome) -> Result<(), String> {
        for (name, pointer) in &step.capture {
            let value = match &outcome.body {
                Body::Json(body) => find(body, pointer),
                Body::Events(events) => events.last().and_then(|event| find(event, pointer)),
                _ => None,
            };
            let text = match value {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => return Err(format!("nothing at {pointer} for {name} in {:?}", outcome.body)),
            };
            if step.hide.contains(name) {
                self.hidden.push((text.clone(), name.clone()));
            }
            self.variables.set(name, text);
        }
        Ok(())
    }

    async fn ask(&mut self, written: &str, step: &Step) -> anyhow::Result<(u16, BTreeMap<String, Vec<String>>, Body)> {
        let (method, target) = written.split_once(' ').context("a request is METHOD target")?;
        let deadline = Instant::now() + EVENTUALLY;
        loop {
            let request = self.request(method, target, step)?;
            let answer = if step.anonymous {
                Connection::new(&self.access, true).ask(request).await?
            } else {
                self.admin.ask(request).await?
            };
            let (status, headers, body) = read(&answer);
            match &step.eventually {
                Some(expected) if !fulfils(status, &body, expected) && Instant::now() < deadline => {
                    tokio::time::sleep(PAUSE).await;
                }
                Some(expected) if !fulfils(status, &body, expected) => {
                    return Ok((status, headers, Body::Failed("did not become as expected in time".to_owned())));
                }
                _ => return Ok((status, headers, body)),
            }
        }
    }

    async fn watch(
        &mut self,
        target: &str,
        step: &Step,
        until: &Until,
    ) -> anyhow::Result<(u16, BTreeMap<String, Vec<String>>, Body)> {
        let request = self.request("GET", target, step)?;
        // A watch occupies its connection.
        let response = Connection::new(&self.access, step.anonymous).open(request).await?;
        let (head, body) = response.into_parts();
        let (status, headers) = (head.status.as_u16(), relevant(&head.headers));
        if status != 200 {
            let body = tokio::time::timeout(EVENTUALLY, body.collect()).await??.to_bytes();
            return Ok((status, headers, parse(&head.headers, &body)));
        }
        let mut stream = Stream::new(body, step.bookmarks);
        let events = if let Some(name) = &step.start {
            self.watches.insert(name.clone(), stream);
            Vec::new()
        } else {
            stream.read(until).await
        };
        Ok((status, headers, Body::Events(events)))
    }

    async fn collect(&mut self, name: &str, step: &Step) -> (u16, BTreeMap<String, Vec<String>>, Body) {
        let body = match self.watches.get_mut(name) {
            Some(stream) => Body::Events(stream.read(&step.until.clone().unwrap_or(Until::End)).await),
            None => Body::Failed(format!("no watch {name} is open")),
        };
        (200, BTreeMap::new(), body)
    }

    fn request(&self, method: &str, target: &str, step: &Step) -> anyhow::Result<Request<Bytes>> {
        let target = self.variables.fill(target);
        let body = self.body(step)?;
        let mut headers = BTreeMap::from([
            ("user-agent".to_owned(), "conformance/1.0 (test)".to_owned()),
            ("accept".to_owned(), "application/json".to_owned()),
        ]);
        if body.is_some() {
            headers.insert("content-type".to_owned(), "application/json".to_owned());
        }
        headers.extend(step.content_type.iter().map(|value| ("content-type".to_owned(), value.clone())));
        headers.extend(step.accept.iter().map(|value| ("accept".to_owned(), value.clone())));
        headers.extend(step.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
        let mut request = Request::builder().method(method).uri(&target).body(body.unwrap_or_default())?;
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            let value = HeaderValue::from_str(&self.variables.fill(value))?;
            request.headers_mut().insert(HeaderName::from_bytes(name.as_bytes())?, value);
        }
        Ok(request)
    }

    fn body(&self, step: &Step) -> anyhow::Result<Option<Bytes>> {
        if let Some(encoded) = &step.base64 {
            return Ok(Some(STANDARD.decode(encoded.split_whitespace().collect::<String>())?.into()));
        }
        if let Some(raw) = step.raw_body() {
            return Ok(Some(self.variables.fill(raw).into()));
        }
        let Some(body) = &step.body else { return Ok(None) };
        let mut body = self.variables.fill_value(body);
        if let Some(pad) = &step.pad {
            let place = body.pointer_mut(&pad.at).with_context(|| format!("the body has no {}", pad.at))?;
            *place = Value::String("x".repeat(pad.bytes));
        }
        Ok(Some(serde_json::to_vec(&body)?.into()))
    }
}

fn fulfils(status: u16, body: &Body, expected: &Expected) -> bool {
    if expected.status.is_some_and(|wanted| wanted != status) {
        return false;
    }
    let Some(at) = &expected.at else { return true };
    let found = match body {
        Body::Json(body) => find(body, at),
        _ => None,
    };
    match expected.present {
        Some(present) => found.is_some() == present,
        None => found == expected.is.as_ref(),
    }
}

fn read(answer: &Answer) -> (u16, BTreeMap<String, Vec<String>>, Body) {
    (answer.status, relevant(&answer.headers), parse(&answer.headers, &answer.body))
}

fn relevant(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let of = |name: &&str| {
        let values = headers.get_all(*name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        values.collect::<Vec<_>>()
    };
    HEADERS.iter().map(|name| ((*name).to_owned(), of(name))).filter(|(_, values)| !values.is_empty()).collect()
}

fn parse(headers: &HeaderMap, bytes: &[u8]) -> Body {
    if bytes.is_empty() {
        return Body::Empty;
    }
    let media = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes).into_owned();
    let decoded = |decoded: Option<Value>| decoded.map_or_else(|| Body::Text(STANDARD.encode(bytes)), Body::Json);
    let value = match media.split(';').next().unwrap_or_default() {
        "application/json" => serde_json::from_str(&text).ok(),
        // upstream's index of OpenAPI says that it is text
        "text/plain" if text.starts_with('{') => serde_json::from_str(&text).ok(),
        "application/yaml" => crate::yaml::parse(&text).ok(),
        media if media.contains("protobuf") => {
            return decoded(protobuf::decode(bytes));
        }
        _ => None,
    };
    value.map_or(Body::Text(text), Body::Json)
}

/// Follows a JSON pointer in which a part `key=value` stands for the list's element with that field.
pub(crate) fn find<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    let mut here = value;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        here = match (here, part.split_once('=')) {
            (Value::Array(items), Some((key, wanted))) => items.iter().find(|item| {
                item.pointer(&format!("/{}", key.replace('.', "/"))).and_then(Value::as_str) == Some(wanted)
            })?,
            (Value::Array(items), None) => items.get(part.parse::<usize>().ok()?)?,
            (other, _) => other.get(&part)?,
        };
    }
    Some(here)
}
