//! How requests prove who makes them: one session per service, or the password with each request where there can be
//! none.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::resource::{link, look};
use crate::wire::{Request, Wire};
use crate::{Fault, Login, Options, RedfishError, Reference};

/// DSP0266 13.3.4.
const TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// After this long without a session, because the service had none left, another is asked for.
const BASIC_FOR: Duration = Duration::from_secs(600);

/// How long the end of a session may take; nothing depends on it.
const GOODBYE: Duration = Duration::from_secs(5);

/// What goes with each request, and which login it came from.
#[derive(Clone)]
pub(crate) struct Pass {
    pub(crate) headers: HeaderMap,
    /// Counts logins, so that of many requests refused at once only the first logs in anew.
    pub(crate) age: u64,
    session: Option<Reference>,
    /// When something better may be had.
    until: Option<Instant>,
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
    pause: Duration,
    held: Mutex<Held>,
    /// Held by the first request that carries the password, until it is known to be good.
    trial: Mutex<()>,
    proven: AtomicBool,
}

#[derive(Default)]
struct Held {
    pass: Option<Pass>,
    refused: Option<Refused>,
}

/// A login that was refused, and when.
struct Refused {
    at: Instant,
    url: String,
    fault: Fault,
}

impl Door {
    pub(crate) fn new(login: Option<Login>, options: &Options) -> Self {
        Self {
            login,
            sessions: options.sessions,
            pause: options.login_pause,
            held: Mutex::default(),
            trial: Mutex::default(),
            proven: AtomicBool::new(false),
        }
    }

    pub(crate) fn user(&self) -> &str {
        self.login.as_ref().map_or("", Login::user)
    }

    /// What to send along. Logs in if that was not done yet, or if the pass of `refused` (an age) is still the current
    /// one; that one's session is ended, so that there is never more than one.
    ///
    /// # Errors
    /// [`RedfishError::Unauthorized`] also without asking, soon after the service said so: of many calls at once only
    /// one tries a wrong password.
    pub(crate) async fn pass(&self, wire: &Wire, refused: Option<u64>, until: Instant) -> Result<Pass, RedfishError> {
        let mut held = self.held.lock().await;
        self.still_refused(&held)?;
        let now = Instant::now();
        let age = match held.pass.as_ref() {
            Some(pass) if refused != Some(pass.age) && pass.until.is_none_or(|until| now < until) => {
                return Ok(pass.clone());
            }
            Some(stale) => stale.age + 1,
            None => 0,
        };
        let stale = held.pass.take();
        match self.enter(wire, age, until).await {
            Ok(pass) => {
                held.pass = Some(pass.clone());
                if let Some(session) = stale.and_then(|stale| stale.session) {
                    end(wire, &Pass { session: Some(session), ..pass.clone() }).await;
                }
                Ok(pass)
            }
            Err(error) => {
                match &error {
                    RedfishError::Unauthorized { url, fault, .. } => {
                        let (url, fault) = (url.clone(), fault.clone());
                        held.refused = Some(Refused { at: Instant::now(), url, fault });
                    }
                    // The old session is still to be ended.
                    _ => held.pass = stale,
                }
                Err(error)
            }
        }
    }

    /// Before a request that carries the password itself: of many at once the first goes alone, until it is known that
    /// the password is good. Nothing to wait for with a session.
    ///
    /// # Errors
    /// [`RedfishError::Unauthorized`] when the first was refused meanwhile.
    pub(crate) async fn trial(&self, pass: &Pass) -> Result<Option<MutexGuard<'_, ()>>, RedfishError> {
        if self.login.is_none() || pass.can_expire() || self.proven.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let alone = self.trial.lock().await;
        self.still_refused(&*self.held.lock().await)?;
        Ok(Some(alone))
    }

    /// Notes what became of a request that carried the password itself.
    pub(crate) async fn tried(&self, pass: &Pass, refusal: Option<&RedfishError>) {
        if self.login.is_none() || pass.can_expire() {
            return;
        }
        if let Some(RedfishError::Unauthorized { url, fault, .. }) = refusal {
            let (url, fault) = (url.clone(), fault.clone());
            self.held.lock().await.refused = Some(Refused { at: Instant::now(), url, fault });
        } else {
            self.proven.store(true, Ordering::Relaxed);
        }
    }

    fn still_refused(&self, held: &Held) -> Result<(), RedfishError> {
        let Some(last) = held.refused.as_ref().filter(|last| last.at.elapsed() < self.pause) else { return Ok(()) };
        let (url, user, fault) = (last.url.clone(), self.user().to_owned(), last.fault.clone());
        Err(RedfishError::Unauthorized { url, user, fault })
    }

    async fn enter(&self, wire: &Wire, age: u64, until: Instant) -> Result<Pass, RedfishError> {
        let Some(login) = &self.login else {
            return Ok(Pass { headers: HeaderMap::new(), age, session: None, until: None });
        };
        if !self.sessions {
            return Ok(Pass { headers: basic(login), age, session: None, until: None });
        }
        Ok(match create(wire, login, age, until).await? {
            Some(pass) => pass,
            None => Pass { headers: basic(login), age, session: None, until: Some(Instant::now() + BASIC_FOR) },
        })
    }

    /// Ends the session, if there is one.
    pub(crate) async fn leave(&self, wire: &Wire) {
        let Some(pass) = self.held.lock().await.pass.take() else { return };
        end(wire, &pass).await;
    }

    /// The session that is left behind when nobody has ended it.
    pub(crate) fn abandoned(&mut self) -> Option<Pass> {
        self.held.get_mut().pass.take().filter(Pass::can_expire)
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
    let (root, Some(place)) = find(wire, until).await? else { return Ok(None) };
    let body = login.session_request(&root);
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
    Ok(Some(Pass { headers, age, session: Some(session), until: None }))
}

/// The root, as far as it is shown to anyone, and the place where sessions are made. The root's `Links` come first: the
/// session service itself may want a login.
async fn find(wire: &Wire, until: Instant) -> Result<(Value, Option<Reference>), RedfishError> {
    let at = Reference::root();
    let fallback = at.child("SessionService").child("Sessions");
    let request = Request { method: &Method::GET, to: &at, body: None, if_match: None };
    let answer = wire.exchange(request, &HeaderMap::new(), until).await?;
    if answer.status.is_server_error() || answer.status == StatusCode::TOO_MANY_REQUESTS {
        return answer.refusal(&Method::GET, &wire.url(&at), "").map_or(Ok((Value::Null, None)), Err);
    }
    let root: Value = match answer.json(&Method::GET, &wire.url(&at)) {
        Ok(Some(root)) if answer.status.is_success() => root,
        // A root behind a login tells nothing; the usual place may still be there.
        _ => return Ok((Value::Null, Some(fallback))),
    };
    let sessions = look(&root, "Links/Sessions").and_then(link);
    let place = sessions.or_else(|| look(&root, "SessionService").map(|_| fallback));
    Ok((root, place))
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
