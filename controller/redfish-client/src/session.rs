//! How requests prove who makes them: one session per service, or the password with each request where there can be
//! none.

use std::time::Duration;

use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::resource::{link, look};
use crate::wire::{Request, Wire};
use crate::{Login, RedfishError, Reference};

/// DSP0266 13.3.4.
const TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// How long the end of a session may take; nothing depends on it.
const GOODBYE: Duration = Duration::from_secs(5);

/// What goes with each request, and which login it came from.
#[derive(Clone)]
pub(crate) struct Pass {
    pub(crate) headers: HeaderMap,
    /// Counts logins, so that of many requests refused at once only the first logs in anew.
    pub(crate) age: u64,
    session: Option<Reference>,
}

impl Pass {
    /// Whether it may have run out, as a session does and a password does not.
    pub(crate) fn can_expire(&self) -> bool {
        self.session.is_some()
    }
}

pub(crate) struct Door {
    login: Option<Login>,
    sessions: bool,
    pass: Mutex<Option<Pass>>,
}

impl Door {
    pub(crate) fn new(login: Option<Login>, sessions: bool) -> Self {
        Self { login, sessions, pass: Mutex::new(None) }
    }

    pub(crate) fn user(&self) -> &str {
        self.login.as_ref().map_or("", Login::user)
    }

    /// What to send along. Logs in if that was not done yet, or if the pass of `refused` (an age) is still the current
    /// one.
    pub(crate) async fn pass(&self, wire: &Wire, refused: Option<u64>, until: Instant) -> Result<Pass, RedfishError> {
        let mut held = self.pass.lock().await;
        let age = match held.as_ref() {
            Some(pass) if refused != Some(pass.age) => return Ok(pass.clone()),
            Some(stale) => stale.age + 1,
            None => 0,
        };
        let pass = self.enter(wire, age, until).await?;
        *held = Some(pass.clone());
        Ok(pass)
    }

    async fn enter(&self, wire: &Wire, age: u64, until: Instant) -> Result<Pass, RedfishError> {
        let Some(login) = &self.login else { return Ok(Pass { headers: HeaderMap::new(), age, session: None }) };
        if self.sessions
            && let Some(pass) = create(wire, login, age, until).await?
        {
            return Ok(pass);
        }
        Ok(Pass { headers: basic(login), age, session: None })
    }

    /// Ends the session, if there is one.
    pub(crate) async fn leave(&self, wire: &Wire) {
        let Some(pass) = self.pass.lock().await.take() else { return };
        end(wire, &pass).await;
    }

    /// The session that is left behind when nobody has ended it.
    pub(crate) fn abandoned(&mut self) -> Option<Pass> {
        self.pass.get_mut().take().filter(Pass::can_expire)
    }
}

/// Tells the service that the session is over; its table of sessions is short, and a full one locks people out.
pub(crate) async fn end(wire: &Wire, pass: &Pass) {
    let Some(session) = &pass.session else { return };
    let request = Request { method: &Method::DELETE, to: session, body: None, if_match: None };
    if let Err(error) = wire.exchange(request, &pass.headers, Instant::now() + GOODBYE).await {
        tracing::debug!(%error, "session not ended");
    }
}

/// A new session; none where the service does not make one and the password must go with each request: it has no
/// session service, or its table of sessions is full.
async fn create(wire: &Wire, login: &Login, age: u64, until: Instant) -> Result<Option<Pass>, RedfishError> {
    let Some(place) = find(wire, until).await? else { return Ok(None) };
    let body = login.session_request();
    let request = Request { method: &Method::POST, to: &place, body: Some(&body), if_match: None };
    let answer = wire.exchange(request, &HeaderMap::new(), until).await?;
    if let Some(refusal) = answer.refusal(&Method::POST, &wire.url(&place), login.user()) {
        return match refusal {
            RedfishError::Refused { status, fault, .. } if status != StatusCode::FORBIDDEN => {
                tracing::info!(service = wire.url(&place), %status, %fault, "no session to be had, using basic authentication");
                Ok(None)
            }
            refusal => Err(refusal),
        };
    }
    let Some(mut token) = answer.headers.get(&TOKEN).cloned() else { return Ok(None) };
    token.set_sensitive(true);
    let created = answer.json(&Method::POST, &wire.url(&place)).ok().flatten();
    let session = answer.location().or_else(|| created.as_ref().and_then(link));
    // Without its place a session cannot be ended, and the table would fill up.
    let Some(session) = session else { return Ok(None) };
    let headers = HeaderMap::from_iter([(TOKEN, token)]);
    Ok(Some(Pass { headers, age, session: Some(session) }))
}

/// The place where sessions are made. The root's `Links` come first: the session service itself may want a login.
async fn find(wire: &Wire, until: Instant) -> Result<Option<Reference>, RedfishError> {
    let root = Reference::root();
    let fallback = root.child("SessionService").child("Sessions");
    let request = Request { method: &Method::GET, to: &root, body: None, if_match: None };
    let answer = wire.exchange(request, &HeaderMap::new(), until).await?;
    if answer.status.is_server_error() || answer.status == StatusCode::TOO_MANY_REQUESTS {
        return answer.refusal(&Method::GET, &wire.url(&root), "").map_or(Ok(None), Err);
    }
    let root: Value = match answer.json(&Method::GET, &wire.url(&root)) {
        Ok(Some(root)) if answer.status.is_success() => root,
        // A root behind a login tells nothing; the usual place may still be there.
        _ => return Ok(Some(fallback)),
    };
    if let Some(sessions) = look(&root, "Links/Sessions").and_then(link) {
        return Ok(Some(sessions));
    }
    Ok(look(&root, "SessionService").map(|_| fallback))
}

fn basic(login: &Login) -> HeaderMap {
    use base64::Engine as _;
    let pair = zeroize::Zeroizing::new(format!("{}:{}", login.user(), login.password()));
    let encoded = base64::engine::general_purpose::STANDARD.encode(pair.as_bytes());
    let mut headers = HeaderMap::new();
    if let Ok(mut value) = HeaderValue::try_from(format!("Basic {encoded}")) {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    headers
}
